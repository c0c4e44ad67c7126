"""The dialog for new drafts."""
