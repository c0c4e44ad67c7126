"""Pipeline runs: fetch, filter, rank, draft."""
