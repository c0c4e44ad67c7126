"""When drafts go out: slots, plans, and times on the user's own clock. Values in, values out; reads no clock."""
