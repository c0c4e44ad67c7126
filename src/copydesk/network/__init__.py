"""Guarded access to the network. Only public addresses are connected to, and response bodies are limited in size."""

RETRY_HINT = "Copydesk retries automatically."
"""Hint for sources that are fetched regularly; not true for a source that is only being tested."""
