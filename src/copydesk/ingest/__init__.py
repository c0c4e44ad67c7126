"""Fetch sources and parse what they serve into entries. Independent of the store."""
