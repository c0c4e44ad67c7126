"""The price of a post on platforms that charge per post, to show before it is scheduled."""

from decimal import Decimal
from typing import Protocol, runtime_checkable

from copydesk.model.wire import Struct
from copydesk.posting.platform import Account, Platform, Post


class Cost(Struct, frozen=True):
    """The price of a whole post: all parts of a thread and the alt texts of its images."""

    amount: Decimal
    currency: str = "USD"


@runtime_checkable
class PaidPlatform(Protocol):
    """A platform that charges per post."""

    def cost(self, post: Post, account: Account) -> Cost | None:
        """Return the price of the post; None if unknown."""
        ...


def post_cost(platform: Platform, post: Post, account: Account) -> Cost | None:
    """Return the price of `post` on `platform`; None if it is free or unknown."""
    return platform.cost(post, account) if isinstance(platform, PaidPlatform) else None
