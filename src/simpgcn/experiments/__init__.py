"""Many runs at once: comparisons between models, and searches for settings."""
