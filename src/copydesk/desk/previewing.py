"""How a text would stand where it is meant to go, while it is still being written. Nothing is kept, nothing is asked of
the network."""

from collections.abc import Sequence

from copydesk.desk.ground import Ground
from copydesk.desk.material import apart, parts_of
from copydesk.desk.stopping import broken_rules
from copydesk.model.account import named, unknown
from copydesk.model.delivery import Account
from copydesk.model.draft import Format
from copydesk.model.posting import Preview, PreviewPart
from copydesk.posting.platform import Platform, Post
from copydesk.posting.platforms import PLATFORMS
from copydesk.store import accounts
from copydesk.text.length import LIMITS, length

USUAL = ("x", "bluesky")
"""Whose limits a writer keeps where nothing is said; where no account is connected they are shown."""
CARDS = frozenset({"x", "mastodon", "threads"})
"""Platforms whose servers make a card of the first link by themselves. Bluesky and LinkedIn want it sent along."""


async def preview(ground: Ground, post: Post, platforms: Sequence[str] = ()) -> tuple[Preview, ...]:
    """`post` as it would stand on each account that is meant, and on what is named and not connected."""
    every = await ground.read(accounts.every)
    to = [(each.label, each.details, each.trouble) for each in named(every, platforms)]
    missing = unknown(every, platforms) if platforms else () if every else USUAL
    found = [await _preview(ground, post, label, account, trouble) for label, account, trouble in to]
    for name in missing:
        account = Account(platform=name.strip().lower(), server="", id="", name="")
        found.append(await _preview(ground, post, name, account, None, connected=False))
    return tuple(found)


async def _preview(
    ground: Ground, post: Post, label: str, account: Account, trouble: str | None, *, connected: bool = True
) -> Preview:
    if not connected and account.platform not in PLATFORMS:
        return Preview(
            account=label, platform=account.platform, connected=False, stops=("There is none of that name.",)
        )
    platform = await ground.platforms.ready(account.platform)
    problems, parts = await apart(post, _judged, platform, post, account)
    others = [trouble, *broken_rules(post, ground.settings.posting)]
    return Preview(
        account=label,
        platform=account.platform,
        connected=connected,
        parts=parts,
        stops=(*problems, *(says for says in others if says)),
        card=account.platform in CARDS,
    )


def _judged(platform: Platform, post: Post, account: Account) -> tuple[tuple[str, ...], tuple[PreviewPart, ...]]:
    """What the platform says of the whole post, and each of its parts with what it says of that one."""
    problems = platform.problems(post, account) if post.parts else ()
    threaded = len(post.parts) > 1
    whole = tuple(each.message for each in problems if not threaded or each.part is None)
    limit = account.longest or LIMITS.get(account.platform) if post.format is not Format.BLOG else None
    parts = tuple(
        PreviewPart(
            text=text,
            length=length(text, account.platform),
            limit=limit,
            stops=tuple(each.message for each in problems if threaded and each.part == place),
        )
        for place, text in enumerate(post.parts)
    )
    return whole, parts


def post_of(ground: Ground, text: str, format: Format, tags: Sequence[str], alts: Sequence[str]) -> Post:
    """A text that is being written, as a post of this moment."""
    parts = parts_of(format, text) if text.strip() else ()
    return Post(format=format, parts=parts, at=ground.clock(), tags=tuple(tags), alts=tuple(alts))
