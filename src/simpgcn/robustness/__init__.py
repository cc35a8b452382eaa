"""Attacks: what changes a graph so that models learn the wrong thing from it."""
