"""Generation of requested drafts."""
