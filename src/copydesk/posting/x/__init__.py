"""X, over its API v2."""

from copydesk.posting.x.platform import X

__all__ = ["X"]
