"""Images of drafts and their thumbnails."""
