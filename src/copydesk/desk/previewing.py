"""Preview a text on each platform while it is being written. Nothing is stored or sent over the network."""

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
"""Platforms whose limits are previewed while no account is connected."""
CARDS = frozenset({"x", "mastodon", "threads"})
"""Platforms that create a link card from the first link themselves. On Bluesky and LinkedIn the client must send it."""


async def preview(ground: Ground, post: Post, platforms: Sequence[str] = ()) -> tuple[Preview, ...]:
    """Return a preview of `post` for each matching account, and for each named platform without a connected account."""
    connected = await ground.read(accounts.every)
    targets = [(match.label, match.details, match.trouble) for match in named(connected, platforms)]
    unconnected = unknown(connected, platforms) if platforms else () if connected else USUAL
    previews = [await _preview_account(ground, post, label, account, error) for label, account, error in targets]
    for name in unconnected:
        account = Account(platform=name.strip().lower(), server="", id="", name="")
        previews.append(await _preview_account(ground, post, name, account, None, connected=False))
    return tuple(previews)


async def _preview_account(
    ctx: Ground, post: Post, label: str, account: Account, error: str | None, *, connected: bool = True
) -> Preview:
    if not connected and account.platform not in PLATFORMS:
        return Preview(
            account=label, platform=account.platform, connected=False, stops=("There is none of that name.",)
        )
    platform = await ctx.platforms.ready(account.platform)
    problems, parts = await apart(post, _validate_parts, platform, post, account)
    messages = [error, *broken_rules(post, ctx.settings.posting)]
    return Preview(
        account=label,
        platform=account.platform,
        connected=connected,
        parts=parts,
        stops=(*problems, *(message for message in messages if message)),
        card=account.platform in CARDS,
    )


def _validate_parts(
    platform: Platform, post: Post, account: Account
) -> tuple[tuple[str, ...], tuple[PreviewPart, ...]]:
    """Return the problems of the whole post, and its parts with the problems of each."""
    # An empty text is no problem while the user is typing.
    problems = platform.problems(post, account) if post.parts else ()
    is_thread = len(post.parts) > 1
    post_problems = tuple(problem.message for problem in problems if not is_thread or problem.part is None)
    limit = account.longest or LIMITS.get(account.platform) if post.format is not Format.BLOG else None
    parts = tuple(
        PreviewPart(
            text=text,
            length=length(text, account.platform),
            limit=limit,
            stops=tuple(problem.message for problem in problems if is_thread and problem.part == index),
        )
        for index, text in enumerate(post.parts)
    )
    return post_problems, parts


def post_of(ground: Ground, text: str, format: Format, tags: Sequence[str], alts: Sequence[str]) -> Post:
    """Return the text being written as a `Post` dated now."""
    parts = parts_of(format, text) if text.strip() else ()
    return Post(format=format, parts=parts, at=ground.clock(), tags=tuple(tags), alts=tuple(alts))
