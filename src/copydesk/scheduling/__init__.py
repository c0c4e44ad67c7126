"""Decide when drafts go out: slots, plans, and times in the user's time zone. Pure; reads no clock."""
