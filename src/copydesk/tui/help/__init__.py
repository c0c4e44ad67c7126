"""Help and message log."""
