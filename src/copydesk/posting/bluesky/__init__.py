"""Bluesky and other PDS servers."""

from copydesk.posting.bluesky.platform import Bluesky

__all__ = ["Bluesky"]
