"""Copydesk: from your sources to reviewed drafts, at one keyboard."""

__version__ = "0.1.0"
