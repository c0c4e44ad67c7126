"""Mastodon, and the servers that speak its API: GoToSocial, Pleroma, Akkoma, Pixelfed.

Only Mastodon itself knows a repeated post by its Idempotency-Key; elsewhere what was sent is looked for on the account.
"""

from copydesk.posting.mastodon.platform import Mastodon

__all__ = ["Mastodon"]
