"""Mastodon and servers that speak its API: GoToSocial, Pleroma, Akkoma, Pixelfed.

Only Mastodon itself recognizes a repeated post by its Idempotency-Key; on the others a sent post is looked up on the
account.
"""

from copydesk.posting.mastodon.platform import Mastodon

__all__ = ["Mastodon"]
