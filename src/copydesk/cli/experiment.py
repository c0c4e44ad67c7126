"""`copydesk experiment`: plan, new, list, show, conclude, archive."""

from typing import TYPE_CHECKING

import click
import msgspec

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context, rename_fields
from copydesk.cli.ids import EXPERIMENT, shorten_id
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_time, print_table
from copydesk.errors import InvalidError
from copydesk.model.experiment import (
    MAX_PLANNED_POSTS,
    MAX_VARIANTS,
    MIN_POSTS,
    MIN_VARIANTS,
    WRITER_PARAMETERS,
    Experiment,
    ExperimentPlan,
    ExperimentResults,
    ExperimentStatus,
    Metric,
    VariantResults,
    format_variant_value,
    parse_variants,
)
from copydesk.model.ids import IdKind
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


_METRIC = click.option(
    "--metric",
    type=click.Choice([metric.value for metric in Metric]),
    default=Metric.ACCEPTANCE.value,
    show_default=True,
    help="What decides it: drafts accepted without edits, words changed, or engagement.",
)
_POSTS = click.option(
    "--posts",
    type=click.IntRange(MIN_POSTS, MAX_PLANNED_POSTS),
    help="Posts per variant; by default the number that the plan recommends.",
)


@group()
def experiment() -> None:
    """Run experiments: drafts are generated in two to five variants, in turn."""


@experiment.command(examples=("copydesk experiment plan --metric engagement --variants 3",))
@_METRIC
@click.option(
    "--variants",
    type=click.IntRange(MIN_VARIANTS, MAX_VARIANTS),
    default=MIN_VARIANTS,
    show_default=True,
    help="Number of variants.",
)
@_POSTS
@json_options(ExperimentPlan)
@pass_context
def plan(context: Context, *, metric: str, variants: int, posts: int | None, as_json: bool) -> None:
    """Show how many posts an experiment needs, and how long that takes at your rate."""
    planned = context.run(lambda desk: desk.experiments.plan(Metric(metric), variants, posts))
    if as_json:
        print_json(planned)
    else:
        click.echo(planned.sentence)


@experiment.command(
    examples=("copydesk experiment new Hashtags hashtags --variant none=0 --variant two=2",), creates_desk=True
)
@click.argument("name")
@click.argument("parameter")
@click.option(
    "--variant",
    "given",
    multiple=True,
    metavar="LABEL=VALUE",
    help="A variant; pass two to five. The first is the baseline.",
)
@click.option(
    "--variants", metavar="JSON", help='All variants as JSON: \'[{"id": "a", "label": "none", "config": {...}}]\'.'
)
@_METRIC
@_POSTS
@click.option("--aa", "aa_test", is_flag=True, help="An A/A test: all variants have the same value on purpose.")
@json_options(Experiment)
@pass_context
def new(  # noqa: PLR0913 - one for each option
    context: Context,
    *,
    name: str,
    parameter: str,
    given: tuple[str, ...],
    variants: str | None,
    metric: str,
    posts: int | None,
    aa_test: bool,
    as_json: bool,
) -> None:
    """Start an experiment.

    PARAMETER is hook, tone, length, hashtags, emoji, cta, link, writer, temperature, instructions, or another name
    that the writer supports. VALUE is a number, true, false, null for the default, or text.
    """
    if bool(given) is (variants is not None):
        raise click.UsageError("Pass the variants with --variant LABEL=VALUE, or all of them with --variants.")
    variant_list = _parse_variants_json(variants) if variants is not None else _parse_variants(given, parameter)
    request = {
        "name": name,
        "parameter": parameter,
        "variants": variant_list,
        "metric": metric,
        "postsPerVariant": posts,
        "aaTest": aa_test,
    }

    async def work(desk: "Desk") -> tuple[Experiment, str]:
        try:
            created = await desk.experiments.create(request)
        except InvalidError as error:
            raise (rename_fields(error, {"variants": "--variant"}) if given else error) from None
        return created, await shorten_id(desk, IdKind.EXPERIMENT, created.id)

    created, short_id = context.run(work)
    if as_json:
        print_json(created)
        return
    click.echo(f"Started {clean(created.name)} ({short_id}).")
    click.echo(f"Decided by {created.plan.metric}: {created.plan.sentence}")
    _warn_unsupported(created)


@experiment.command(name="list", examples=("copydesk experiment list --status active",))
@click.option(
    "--status",
    type=click.Choice([status.value for status in ExperimentStatus]),
    help="Only with this status.",
)
@json_options(Experiment)
@pass_context
def list_(context: Context, *, status: str | None, as_json: bool) -> None:
    """List experiments, newest first."""

    async def work(desk: "Desk") -> tuple[tuple[Experiment, ...], dict[str, str]]:
        found = await desk.experiments.list(status)
        return found, await desk.ids.shorten(IdKind.EXPERIMENT, [entry.id for entry in found])

    found, short_ids = context.run(work)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            short_ids[entry.id],
            entry.status,
            format_time(entry.started_at),
            plural(sum(arm.drafted for arm in _decode_results(entry).arms), "draft"),
            entry.parameter,
            entry.name,
        )
        for entry in found
    ]
    print_table(
        rows,
        empty=context.with_desk_options(
            "No experiments yet. Start one: copydesk experiment new NAME PARAMETER --variant LABEL=VALUE ..."
        ),
    )


@experiment.command(examples=("copydesk experiment show c4d17e",))
@click.argument("id", type=EXPERIMENT)
@json_options(Experiment)
@pass_context
def show(context: Context, *, id: str, as_json: bool) -> None:
    """Show an experiment's results per variant.

    Counts and raw rates at any time; estimates and a verdict at the planned comparisons only.
    """
    found = context.run(lambda desk: desk.experiments.get(id))
    if as_json:
        print_json(found)
    else:
        _print_experiment(found)


@experiment.command(examples=("copydesk experiment conclude c4d17e --winner two",))
@click.argument("id", type=EXPERIMENT)
@click.option("--winner", metavar="VARIANT", help="The id or label of the winning variant, if any.")
@click.option("--reason", help="Why it ends early; required before its plan is complete.")
@click.option("--apply", "apply_to_voice", is_flag=True, help="Make the winner's value the setting of the voice.")
@json_options(Experiment)
@pass_context
def conclude(
    context: Context, *, id: str, winner: str | None, reason: str | None, apply_to_voice: bool, as_json: bool
) -> None:
    """Conclude an experiment: new drafts no longer take part.

    With --apply the winner's value becomes the setting of the voice, and what it was before is shown.
    """

    async def work(desk: "Desk") -> Experiment:
        variant_id = None if winner is None else _resolve_variant(await desk.experiments.get(id), winner)
        return await desk.experiments.conclude(id, variant_id, reason, apply_to_voice=apply_to_voice)

    concluded = context.run(work)
    if as_json:
        print_json(concluded)
    else:
        _print_experiment(concluded)


@experiment.command(examples=("copydesk experiment archive c4d17e",))
@click.argument("id", type=EXPERIMENT)
@json_options(Experiment)
@pass_context
def archive(context: Context, *, id: str, as_json: bool) -> None:
    """Archive a concluded experiment."""
    archived = context.run(lambda desk: desk.experiments.archive(id))
    if as_json:
        print_json(archived)
    else:
        click.echo(f"Archived {clean(archived.name)}.")


def _resolve_variant(found: Experiment, name: str) -> str:
    """Return the id of the variant with this id or label; any other name as it is, for the desk to refuse."""
    by_label = {variant.label: variant.id for variant in found.variants}
    return name if any(variant.id == name for variant in found.variants) else by_label.get(name, name)


def _parse_variants(arguments: tuple[str, ...], parameter: str) -> list[object]:
    """Parse `none=0` arguments into variants."""
    try:
        return [msgspec.to_builtins(variant) for variant in parse_variants(arguments, parameter)]
    except InvalidError as error:
        raise click.BadParameter(error.errors[0].message, param_hint="--variant") from None


def _parse_variants_json(text: str) -> list[object]:
    try:
        return msgspec.json.decode(text, type=list[object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise click.BadParameter(f"not a JSON list: {error}", param_hint="--variants") from None


def _decode_results(found: Experiment) -> ExperimentResults:
    return msgspec.convert(found.results, ExperimentResults, strict=False)


def _print_experiment(found: Experiment) -> None:
    results, counted = _decode_results(found), found.plan.metric.counted
    rows = [
        ("id", found.id),
        ("name", found.name),
        ("parameter", found.parameter),
        ("status", found.status),
        ("started", format_time(found.started_at)),
        ("ended", format_time(found.ended_at)),
        ("decided by", found.plan.metric),
        ("compared at", f"{', '.join(str(made.posts) for made in results.comparisons)} {counted}s per variant"),
        ("winner", results.winner or "none"),
    ]
    if results.concluded_early:
        rows.append(("ended early", results.reason or ""))
    rows += [
        (change.setting, f"{format_variant_value(change.before)} -> {format_variant_value(change.after)}")
        for change in results.voice_changes
    ]
    print_table(rows, empty="")
    click.echo()
    head = (
        "",
        "id",
        "variant",
        "assigned",
        "drafted",
        "accepted",
        "unedited",
        "rejected",
        "edited",
        "published",
        "rate",
    )
    print_table([head, *(_arm_row(arm) for arm in results.arms)], empty="")
    click.echo()
    if results.comparison is not None:
        columns = ("", "id", "variant", "estimate", "95% interval", "best")
        print_table([columns, *(_estimate_row(arm, results) for arm in results.arms)], empty="")
        click.echo()
    click.echo(clean(results.sentence))
    for warning in results.warnings:
        click.echo(f"Warning: {clean(warning.message)}")
    _warn_unsupported(found)


def _arm_row(results: VariantResults) -> tuple[object, ...]:
    counts = (results.assigned, results.drafted, results.accepted, results.unedited, results.rejected)
    edited, rate = _format_share(results.mean_edit_ratio), _format_share(results.rate_pooled)
    return ("", results.id, results.name, *counts, edited, results.published, rate)


def _estimate_row(arm: VariantResults, results: ExperimentResults) -> tuple[object, ...]:
    if arm.estimate is None:
        return ("", arm.id, arm.name, "unknown", "unknown", "unknown")
    number = "{:.1f}" if results.metric.denominator == "none" else "{:.1%}"
    value, low, high = (number.format(bound) for bound in (arm.estimate.value, arm.estimate.low, arm.estimate.high))
    return ("", arm.id, arm.name, value, f"{low} to {high}", f"{arm.estimate.p_best:.0%}")


def _format_share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _warn_unsupported(found: Experiment) -> None:
    from copydesk.desk.experiments import has_unsupported_variants  # noqa: PLC0415 - brings in the store

    if has_unsupported_variants(found):
        name = clean(found.parameter)
        message = f"Some variants will be alike: the offline writer does not support these values of {name!r}."
        if found.parameter not in WRITER_PARAMETERS:
            message += f" Parameters that writers know: {', '.join(WRITER_PARAMETERS)}."
        click.echo(message, err=True)
