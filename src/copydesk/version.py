"""The version of Copydesk."""

__version__ = "0.1.0"
