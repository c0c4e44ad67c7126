"""The type of an open transaction, as the desk sees it."""

from sqlalchemy import Connection

Transaction = Connection
"""Passed to the store's functions and never used directly: only the store builds and runs SQL."""
