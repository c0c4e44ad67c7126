"""Webhooks: create and remove them, sign and send events to them."""
