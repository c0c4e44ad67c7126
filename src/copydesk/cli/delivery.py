"""`copydesk delivery`: list, show, check, posted, resend, discard; and `copydesk needs-you`."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command, group
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.ids import DELIVERY, DRAFT, shorten_draft
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, format_time, print_table
from copydesk.model.delivery import AccountQuestion, ApprovalQuestion, DeliveryAnswer, DeliveryReport, NeedsYou
from copydesk.model.ids import IdKind
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

EXCERPT_LENGTH = 30
"""Characters of a draft's text that identify it in the list."""
ANSWER_LABELS = {
    DeliveryAnswer.POSTED: "It is there",
    DeliveryAnswer.AGAIN: "Send again",
    DeliveryAnswer.DROP: "Discard",
    DeliveryAnswer.SIGN_IN: "Sign in",
}
ANSWER_COMMANDS = {
    DeliveryAnswer.POSTED: "posted",
    DeliveryAnswer.AGAIN: "resend",
    DeliveryAnswer.DROP: "discard",
}
DELIVERY_ID = click.argument("delivery_id", type=DELIVERY, metavar="DELIVERY")


@group(aliases={"look": "check", "again": "resend", "drop": "discard"})
def delivery() -> None:
    """Show deliveries to accounts and resolve uncertain ones."""


@delivery.command(name="list", examples=("copydesk delivery list", "copydesk delivery list 1f9c2a"))
@click.argument("draft_id", required=False, type=DRAFT, metavar="[DRAFT]")
@json_options(DeliveryReport)
@pass_context
def list_(context: Context, *, draft_id: str | None, as_json: bool) -> None:
    """List the deliveries of a draft, or the unfinished ones.

    Without DRAFT: all that are pending, uncertain or failed recently.
    """

    async def work(desk: "Desk") -> tuple[tuple[DeliveryReport, ...], dict[str, str], dict[str, str]]:
        if draft_id is not None:
            reports, draft_ids = await desk.posting.list_deliveries(draft_id), []
        else:
            reports = await desk.posting.list_unsettled()
            # Several deliveries may belong to one draft: load each draft once.
            draft_ids = list(dict.fromkeys(report.draft_id for report in reports))
        drafts = [await desk.drafts.get(unique_id) for unique_id in draft_ids]
        texts = {draft.id: first_line(draft.text, EXCERPT_LENGTH) for draft in drafts}
        return reports, texts, await desk.ids.shorten(IdKind.DELIVERY, [report.id for report in reports])

    reports, texts, short_ids = context.run(work)
    if as_json:
        print_json(reports)
        return
    rows = [
        (
            short_ids[report.id],
            report.account,
            report.state.replace("_", " "),
            texts.get(report.draft_id, ""),
            context.with_desk_options(report.says),
        )
        for report in reports
    ]
    print_table(rows, empty="No pending or recently failed deliveries." if draft_id is None else "No deliveries.")


@delivery.command(examples=("copydesk delivery show 5b03d8",))
@DELIVERY_ID
@json_options("delivery", "events")
@pass_context
def show(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Show a delivery and its history."""
    report, events = context.run(lambda desk: desk.posting.get_delivery(delivery_id))
    if as_json:
        print_json({"delivery": report, "events": events})
        return
    click.echo(f"{report.account}: {clean(context.with_desk_options(report.says))}")
    short_id = context.run(lambda desk: shorten_draft(desk, report.draft_id))
    click.echo(context.with_desk_options(f"  copydesk draft show {short_id}"))
    for post in report.posts:
        click.echo(f"  {clean(post.url or post.id or '')}")
    print_table([(format_time(event.at), event.what, event.says) for event in events], empty="")


@delivery.command(examples=("copydesk delivery check 5b03d8",))
@DELIVERY_ID
@json_options(DeliveryReport)
@pass_context
def check(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Check the account for a delivery with an unknown outcome."""
    _print_report(context, context.run(lambda desk: desk.posting.check_delivery(delivery_id)), as_json=as_json)


@delivery.command(examples=("copydesk delivery posted 5b03d8 --url https://mastodon.example/@anna/1",))
@DELIVERY_ID
@click.option("--url", default="", metavar="URL", help="The URL of the post.")
@json_options(DeliveryReport)
@pass_context
def posted(context: Context, *, delivery_id: str, url: str, as_json: bool) -> None:
    """Mark a delivery as posted, after checking your profile."""
    _print_report(context, context.run(lambda desk: desk.posting.mark_posted(delivery_id, url)), as_json=as_json)


@delivery.command(examples=("copydesk delivery resend 5b03d8",))
@DELIVERY_ID
@click.option("--yes", is_flag=True, help="Do not ask, even if it may be posted already.")
@json_options(DeliveryReport)
@pass_context
def resend(context: Context, *, delivery_id: str, yes: bool, as_json: bool) -> None:
    """Resend the missing posts, after checking your profile.

    Also allows a repeated text. If it is unknown whether it was posted, you are asked first.
    """
    if not yes:
        report, _ = context.run(lambda desk: desk.posting.get_delivery(delivery_id))
        if report.in_doubt:
            question = f"It may be on {clean(report.account)} already, and would be posted twice. Send it again?"
            confirm(question, declined="Nothing was sent.")
    _print_report(context, context.run(lambda desk: desk.posting.resend(delivery_id)), as_json=as_json)


@delivery.command(examples=("copydesk delivery discard 5b03d8",))
@DELIVERY_ID
@json_options(DeliveryReport)
@pass_context
def discard(context: Context, *, delivery_id: str, as_json: bool) -> None:
    """Give up a delivery: it is not sent again, and no longer needs you."""
    _print_report(context, context.run(lambda desk: desk.posting.give_up(delivery_id)), as_json=as_json)


@command(name="needs-you", examples=("copydesk needs-you",))
@json_options(NeedsYou)
@pass_context
def needs_you(context: Context, *, as_json: bool) -> None:
    """List what needs your answer, with what is known and the commands to answer.

    Deliveries whose outcome is unknown, that wait for a login, or that failed or were given up; approved or due drafts
    that no connected account posts; and scheduled drafts that lack an approval.
    """

    async def work(desk: "Desk") -> tuple[NeedsYou, dict[str, str]]:
        found = await desk.posting.needs_you()
        return found, await desk.ids.shorten(IdKind.DELIVERY, [question.delivery.id for question in found.deliveries])

    found, short_ids = context.run(work)
    if as_json:
        print_json(found)
        return
    waiting: list[AccountQuestion | ApprovalQuestion] = [*found.accounts, *found.approvals]
    for missing in waiting:
        click.echo(f"{clean(missing.known)} {first_line(missing.text, EXCERPT_LENGTH)}")
        click.echo(f"  {clean(context.with_desk_options(missing.advice))}")
    questions = found.deliveries
    for question in questions:
        report = question.delivery
        click.echo(f"{clean(report.account)}: {first_line(question.text, EXCERPT_LENGTH)}")
        click.echo(f"  {clean(context.with_desk_options(question.known))}")
        rows = [
            (ANSWER_LABELS[answer], _answer_command(answer, report, short_ids[report.id]))
            for answer in question.answers
        ]
        if question.profile_url:
            rows.insert(0, ("Profile", question.profile_url))
        print_table([("", label, context.with_desk_options(text)) for label, text in rows], empty="")
    if not questions and not found.accounts and not found.approvals:
        click.echo("Nothing needs you.", err=True)


def _answer_command(answer: DeliveryAnswer, report: DeliveryReport, short_id: str) -> str:
    if answer is DeliveryAnswer.SIGN_IN:
        return f"copydesk account connect {report.account.partition(':')[0]}"
    url = " --url URL" if answer is DeliveryAnswer.POSTED else ""
    return f"copydesk delivery {ANSWER_COMMANDS[answer]} {short_id}{url}"


def _print_report(context: Context, report: DeliveryReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
    else:
        click.echo(f"{report.account}: {clean(context.with_desk_options(report.says))}")
