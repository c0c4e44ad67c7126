"""One module per source type."""
