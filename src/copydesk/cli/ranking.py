"""`copydesk why`: why an item has no draft. `copydesk ranking`: show, preview and save a change, reset."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
import msgspec

from copydesk.cli.command import command, group
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.ids import ITEM
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import print_table
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.model.ranking_preview import (
    Explanation,
    Hits,
    PreviewedStory,
    RankingPreview,
    RankingPreviewRequest,
    describe_drafted,
    describe_reason,
)
from copydesk.text import clean
from copydesk.text.formatting import plural


@command(examples=("copydesk why https://example.org/2026/ferries",))
@click.argument("url", type=ITEM)
@json_options(Explanation)
@pass_context
def why(context: Context, url: str, *, as_json: bool) -> None:
    """Explain why an item is not among the drafts.

    It was filtered by a rule, merged into a story, declined by the writer, ranked too low, not fetched yet, or no
    source brought it. URL is the address of its page, or the id of an item.
    """
    found = context.run(lambda desk: desk.ranking.why(url))
    if as_json:
        print_json(found)
        return
    if found.title:
        click.echo(f"{clean(found.title)} ({clean(found.source)})")
    click.echo(clean(found.why))
    if found.lead_title:
        click.echo(f"Its story is told by “{clean(found.lead_title)}”.")
    for other in found.without_interest:
        rank = f"rank {other.rank}" if other.rank else "no rank"
        click.echo(f"Without the interest “{clean(other.interest)}”: {rank}.")
    if found.parts:
        click.echo()
        print_table([(part.name, f"{part.points:+.3f}", part.why) for part in found.parts], empty="")


@group()
def ranking() -> None:
    """Show, preview, change or reset interests, filters and weights."""


@ranking.command(examples=("copydesk ranking show",))
@json_options(RankingProfile)
@pass_context
def show(context: Context, *, as_json: bool) -> None:
    """Show the interests, filters and weights that runs use."""
    _print_ranking(context.run(lambda desk: desk.ranking.get()), as_json=as_json)


@ranking.command(
    examples=(
        'copydesk ranking preview --interest "electric ferries" --no-interest sqlite',
        "copydesk ranking preview --exclude giveaway --weight recency=0.1 --save",
    )
)
@click.option("--interest", "interests", multiple=True, metavar="TEXT", help="Add an interest; may be repeated.")
@click.option("--no-interest", "no_interests", multiple=True, metavar="TEXT", help="Leave an interest out.")
@click.option("--include", multiple=True, metavar="TERM", help="Add a word or /regular expression/ that must occur.")
@click.option("--no-include", multiple=True, metavar="TERM", help="Leave such a word out.")
@click.option(
    "--exclude", multiple=True, metavar="TERM", help="Add a word or /regular expression/ that must not occur."
)
@click.option("--no-exclude", multiple=True, metavar="TERM", help="Leave such a word out.")
@click.option(
    "--weight", "weights", multiple=True, metavar="PART=WEIGHT", help="Change the weight of a part of the score."
)
@click.option("--min-score", type=click.FloatRange(0, 1), help="Draft no story with a lower score.")
@click.option("--max-drafts", type=click.IntRange(1, 1000), help="Drafts a day.")
@click.option("--save", is_flag=True, help="Save the change after the preview was shown.")
@click.option("--yes", is_flag=True, help="Skip the confirmation before saving.")
@json_options(RankingPreview)
@pass_context
def preview(context: Context, /, *, save: bool, yes: bool, as_json: bool, **changes: Any) -> None:
    """Replay 30 days with other interests, filters or weights.

    Nothing is fetched or drafted. The options change the ranking as it is: that of the settings file, or what was saved
    in its place. With --save the next run uses the change.
    """
    change = _to_change(context.run(lambda desk: desk.ranking.get()), changes)
    if change == ChangeRanking():
        raise click.UsageError("Pass a change to preview, such as --interest TEXT.")
    request = RankingPreviewRequest(**msgspec.structs.asdict(change))
    found = context.run(lambda desk: desk.ranking.preview(request))
    if as_json:
        print_json(found)
    else:
        _print_preview(found)
    if not save:
        return
    if not yes:
        confirm("Save the change?", declined="Nothing changed.")
    context.run(lambda desk: desk.ranking.change(change))
    if not as_json:
        click.echo("Saved. The next run uses it.")


@ranking.command(examples=("copydesk ranking reset",))
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(RankingProfile)
@pass_context
def reset(context: Context, *, yes: bool, as_json: bool) -> None:
    """Use the interests, filters and weights of the settings file again."""
    if not yes:
        confirm("Forget the saved interests, filters and weights?", declined="Nothing changed.")
    _print_ranking(context.run(lambda desk: desk.ranking.reset()), as_json=as_json)


def _print_ranking(found: RankingProfile, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    rows = [
        ("interests", ", ".join(found.interests) or "none"),
        ("must have one of", ", ".join(found.include) or "anything"),
        ("must not have", ", ".join(found.exclude) or "nothing"),
        ("lowest score", f"{found.min_score:g}"),
        ("drafts a run", f"{found.max_drafts}"),
        ("weights", ", ".join(f"{name} {weight:g}" for name, weight in found.weights.items())),
        ("saved", ", ".join(found.saved) or "nothing; defaults and the settings file apply"),
    ]
    print_table(rows, empty="")


def _to_change(current: RankingProfile, changes: Mapping[str, Any]) -> ChangeRanking:
    return ChangeRanking(
        interests=_change(current.interests, changes["interests"], changes["no_interests"], "--no-interest"),
        include=_change(current.include, changes["include"], changes["no_include"], "--no-include"),
        exclude=_change(current.exclude, changes["exclude"], changes["no_exclude"], "--no-exclude"),
        weights=_parse_weights(changes["weights"]),
        min_score=changes["min_score"],
        max_drafts=changes["max_drafts"],
    )


def _change(
    current: Sequence[str], added: Sequence[str], removed: Sequence[str], option: str
) -> tuple[str, ...] | None:
    """Return the changed list, or None if nothing changes."""
    if missing := [term for term in removed if term not in current]:
        raise click.BadParameter(f"{missing[0]!r} is not set", param_hint=option)
    if not added and not removed:
        return None
    return tuple(dict.fromkeys([*(term for term in current if term not in removed), *added]))


def _parse_weights(given: Iterable[str]) -> dict[str, float] | None:
    weights = {}
    for setting in given:
        name, _, value = setting.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            raise click.BadParameter(f"{setting!r} is not PART=WEIGHT", param_hint="--weight") from None
    return weights or None


def _print_preview(found: RankingPreview) -> None:
    click.echo(f"{found.days} days, {plural(found.items, 'item')}.")
    click.echo(describe_drafted(found))
    if found.hits.of:
        click.echo(f"Of your last {plural(found.hits.of, 'approval')} among the top {found.top} of their day:")
        rows = [
            ("with the change", _format_hits(found.hits)),
            ("as it is", _format_hits(found.hits_now)),
            ("by recency alone", _format_hits(found.hits_by_recency)),
        ]
        print_table(rows, empty="")
    else:
        click.echo("No approvals in these days to compare with.")
    _print_stories("Gained", found.gained, found.gained_count)
    _print_stories("Lost", found.lost, found.lost_count)


def _format_hits(hits: Hits) -> str:
    return f"{hits.hits} ({hits.hits / hits.of:.0%}, interval {hits.low:.0%} to {hits.high:.0%})"


def _print_stories(heading: str, stories: Sequence[PreviewedStory], count: int) -> None:
    if not stories:
        return
    click.echo(f"\n{heading}:")
    rows = [
        (f"{story.day:%d %b}", _format_ranks(story), story.source, story.title, describe_reason(story))
        for story in stories
    ]
    print_table(rows, empty="", cut=True)
    if count > len(stories):
        click.echo(f"and {count - len(stories):,} more")


def _format_ranks(story: PreviewedStory) -> str:
    return f"rank {story.rank_now or 'none'} → {story.rank or 'none'}"
