"""Models that were made to withstand a poisoned graph, beside SimP-GCN."""
