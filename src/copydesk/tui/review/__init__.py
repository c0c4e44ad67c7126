"""Actions on drafts in the review, imported when the first one is used."""
