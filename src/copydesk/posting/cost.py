"""What a post costs where a platform is paid by the post, so that it can be said before one is scheduled."""

from decimal import Decimal
from typing import Protocol, runtime_checkable

from copydesk.model.wire import Struct
from copydesk.posting.platform import Account, Platform, Post


class Cost(Struct, frozen=True):
    """What the platform asks for the whole of a post: every part of a thread, and the descriptions of its pictures."""

    amount: Decimal
    currency: str = "USD"


@runtime_checkable
class Priced(Protocol):
    """A platform that is paid by the post."""

    def cost(self, post: Post, account: Account) -> Cost | None:
        """What the post costs; None where that is not known."""
        ...


def cost(platform: Platform, post: Post, account: Account) -> Cost | None:
    """What `post` costs on `platform`; None where nothing is asked for it, or it is not known."""
    return platform.cost(post, account) if isinstance(platform, Priced) else None
