"""Reasons to doubt the comparison of an experiment."""

from collections.abc import Iterator, Sequence
from random import Random
from statistics import fmean

from copydesk.experiments.observations import Observation
from copydesk.model.experiment import ExperimentResults, Metric, Participant, ResultWarning, VerdictKind
from copydesk.statistics.permutation import assignment_p, permutation_p

MAX_P = 0.05
MAX_EDIT_RATIO = 0.3
MAX_POST_SHARE = 0.5


def find_warnings(
    results: ExperimentResults,
    arms: Sequence[Sequence[Participant]],
    posts: Sequence[Observation],
    random: Random,
) -> Iterator[ResultWarning]:
    """Yield the warnings; `arms` are the drafts of each variant, `posts` those with metrics."""
    yield from _assignment(arms, random)
    if results.plan.metric is Metric.ENGAGEMENT:
        yield from _review(arms, random)
        yield from _posts(results, arms, posts)
    writers = sorted({draft.writer for arm in arms for draft in arm if draft.writer})
    if len(writers) > 1:
        yield ResultWarning("model_changed", f"The writer changed during the experiment: {', '.join(writers)}.")


def _assignment(arms: Sequence[Sequence[Participant]], random: Random) -> Iterator[ResultWarning]:
    counts = [len(arm) for arm in arms]
    p = assignment_p(counts, random)
    if p < MAX_P:
        split = " : ".join(f"{count:,}" for count in counts)
        yield ResultWarning(
            "assignment_ratio",
            f"The drafts are split {split}, which does not happen by chance (p = {p:.2g}): the comparison is not fair.",
        )


def _review(arms: Sequence[Sequence[Participant]], random: Random) -> Iterator[ResultWarning]:
    decided = [[float(draft.is_accepted) for draft in arm if draft.decided_at] for arm in arms]
    if all(decided):
        p = permutation_p([decided], random)
        if p < MAX_P:
            shares = ", ".join(f"{sum(arm) / len(arm):.0%}" for arm in decided)
            yield ResultWarning(
                "acceptance_differs",
                f"You accept the variants differently often ({shares}; p = {p:.2g}): the posts of the one accepted"
                " less are a stricter selection, and look better for that alone.",
            )
    ratios = [[draft.edit_ratio for draft in arm if draft.is_accepted] for arm in arms]
    if any(fmean(arm) > MAX_EDIT_RATIO for arm in ratios if arm):
        yield ResultWarning("heavy_edits", "Drafts are edited heavily: what was posted is not what was tested.")


def _posts(
    results: ExperimentResults, arms: Sequence[Sequence[Participant]], posts: Sequence[Observation]
) -> Iterator[ResultWarning]:
    if results.largest_post_share is not None and results.largest_post_share > MAX_POST_SHARE and len(posts) > 2:
        yield ResultWarning("one_post_dominates", f"One post has {results.largest_post_share:.0%} of all interactions.")
    missing = sorted({post.stratum.partition(":")[2] for post in posts if not post.impressions})
    if missing:
        yield ResultWarning(
            "missing_impressions",
            f"No impressions from {', '.join(missing)}: interactions per post are compared instead of rates.",
        )
    mixes = [{draft.published_on for draft in arm if draft.metrics} for arm in arms]
    if len(set().union(*mixes)) > 1 and results.verdict.kind is not VerdictKind.NOT_ENOUGH_DATA:
        yield ResultWarning(
            "mixed_platforms",
            "The posts went to different platforms: they are compared within each, the rates mix them.",
        )
