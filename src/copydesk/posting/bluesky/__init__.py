"""Bluesky, and whoever runs a PDS of their own."""

from copydesk.posting.bluesky.platform import Bluesky

__all__ = ["Bluesky"]
