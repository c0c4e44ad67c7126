"""Preview a text on each platform before there is a delivery."""

from collections.abc import Sequence

from copydesk.desk.context import DeskContext
from copydesk.desk.publishing.payload import rule_violations, run_in_article_thread
from copydesk.model.delivery import Account, Preview, PreviewPart
from copydesk.model.draft import Format
from copydesk.model.targets import SkipReason
from copydesk.posting.platform import Platform, Post
from copydesk.posting.registry import DEFAULT_PLATFORMS, PLATFORMS
from copydesk.store import accounts


async def preview_post(ctx: DeskContext, post: Post, platforms: Sequence[str] = ()) -> tuple[Preview, ...]:
    """Return a preview of `post` for each account that it goes to, and for each named platform without an account.

    Where it goes to none, all accounts say why. Nothing is stored or sent over the network.
    """
    connected = await ctx.read(accounts.list_all)
    selected = ctx.platforms.select_targets(connected, platforms, post.format)
    shown = selected.accounts or selected.skipped_for(SkipReason.FORMAT)
    targets = [(selected.names[match.id], match.details, match.login_error) for match in shown]
    # A desk without accounts still shows how the text would look, on the platforms that most users connect first.
    unconnected = selected.disconnected or (() if connected else DEFAULT_PLATFORMS)
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
            account=label, platform=account.platform, connected=False, stops=("No platform with this name.",)
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
        card=platform.info.makes_link_cards,
    )


def _validate_parts(
    platform: Platform, post: Post, account: Account
) -> tuple[tuple[str, ...], tuple[PreviewPart, ...]]:
    """Return the problems of the whole post, and its parts with the problems of each."""
    # An empty text is no problem while the user is typing.
    problems = platform.validate(post, account) if post.parts else ()
    is_thread = len(post.parts) > 1
    post_problems = tuple(problem.message for problem in problems if not is_thread or problem.part is None)
    limit = account.max_length or platform.info.limits.max_length if post.format is not Format.BLOG else None
    parts = tuple(
        PreviewPart(
            text=text,
            length=platform.info.count(text),
            limit=limit,
            stops=tuple(problem.message for problem in problems if is_thread and problem.part == index),
        )
        for index, text in enumerate(post.parts)
    )
    return post_problems, parts
