"""Threads, over Meta's API."""

from copydesk.posting.threads.platform import Threads

__all__ = ["Threads"]
