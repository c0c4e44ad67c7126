"""Preview a text on each platform while it is being written. Nothing is stored or sent over the network."""

from collections.abc import Sequence

from copydesk.desk.ground import DeskContext
from copydesk.desk.material import run_in_article_thread, split_text
from copydesk.desk.stopping import rule_violations
from copydesk.model.account import find_unknown_names, select_accounts
from copydesk.model.delivery import Account
from copydesk.model.draft import Format
from copydesk.model.posting import Preview, PreviewPart
from copydesk.posting.platform import Platform, Post
from copydesk.posting.platforms import PLATFORMS
from copydesk.store import accounts
from copydesk.text.length import LIMITS, length

DEFAULT_PLATFORMS = ("x", "bluesky")
"""Platforms whose limits are previewed while no account is connected."""
LINK_CARD_PLATFORMS = frozenset({"x", "mastodon", "threads"})
"""Platforms that create a link card from the first link themselves. On Bluesky and LinkedIn the client must send it."""


async def preview(ctx: DeskContext, post: Post, platforms: Sequence[str] = ()) -> tuple[Preview, ...]:
    """Return a preview of `post` for each matching account, and for each named platform without a connected account."""
    connected = await ctx.read(accounts.list_all)
    targets = [(match.label, match.details, match.trouble) for match in select_accounts(connected, platforms)]
    unconnected = find_unknown_names(connected, platforms) if platforms else () if connected else DEFAULT_PLATFORMS
    previews = [await _preview_account(ctx, post, label, account, error) for label, account, error in targets]
    for name in unconnected:
        account = Account(platform=name.strip().lower(), server="", id="", name="")
        previews.append(await _preview_account(ctx, post, name, account, None, connected=False))
    return tuple(previews)


async def _preview_account(
    ctx: DeskContext, post: Post, label: str, account: Account, error: str | None, *, connected: bool = True
) -> Preview:
    if not connected and account.platform not in PLATFORMS:
        return Preview(
            account=label, platform=account.platform, connected=False, stops=("There is none of that name.",)
        )
    platform = await ctx.platforms.load(account.platform)
    problems, parts = await run_in_article_thread(post, _validate_parts, platform, post, account)
    messages = [error, *rule_violations(post, ctx.settings.posting)]
    return Preview(
        account=label,
        platform=account.platform,
        connected=connected,
        parts=parts,
        stops=(*problems, *(message for message in messages if message)),
        card=account.platform in LINK_CARD_PLATFORMS,
    )


def _validate_parts(
    platform: Platform, post: Post, account: Account
) -> tuple[tuple[str, ...], tuple[PreviewPart, ...]]:
    """Return the problems of the whole post, and its parts with the problems of each."""
    # An empty text is no problem while the user is typing.
    problems = platform.validate(post, account) if post.parts else ()
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


def build_preview_post(ctx: DeskContext, text: str, format: Format, tags: Sequence[str], alts: Sequence[str]) -> Post:
    """Return the text being written as a `Post` dated now."""
    parts = split_text(format, text) if text.strip() else ()
    return Post(format=format, parts=parts, at=ctx.clock(), tags=tuple(tags), alts=tuple(alts))
