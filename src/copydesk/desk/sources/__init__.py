"""Sources: configuration, test fetches, overviews, import."""
