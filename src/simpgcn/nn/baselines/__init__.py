"""The methods SimP-GCN is compared with, one file a family."""
