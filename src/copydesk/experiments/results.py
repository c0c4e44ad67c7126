"""The results of an experiment: counts and raw rates at any time, the rest only at the planned comparisons.

The rest are estimates and a verdict. Reasons to doubt the comparison are warnings.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from random import Random
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from copydesk.experiments import posterior
from copydesk.experiments.observations import Observation, between_post_cv, have_impressions, observe, score, to_rate
from copydesk.experiments.planning import measure, plan_comparisons, smallest_lift
from copydesk.experiments.posterior import MeanEstimate
from copydesk.experiments.sentences import describe_verdict
from copydesk.model.experiment import (
    METRICS_AGE_HOURS,
    MIN_POSTS,
    Comparison,
    Estimate,
    ExperimentPlan,
    ExperimentResults,
    LastComparison,
    Metric,
    MetricDefinition,
    Participant,
    ResultWarning,
    Variant,
    VariantResults,
    Verdict,
    VerdictKind,
)
from copydesk.statistics.permutation import assignment_p, permutation_p

MIN_P_BEST = 0.8
"""A difference alone does not say which variant is the best of several. In the simulations hardly any variant that is
named from there on is a wrong one, and 0.9 leaves the right one of five unnamed in a tenth of the experiments."""
MIN_INTERACTIONS = 30
"""Of all posts of a comparison; fewer say nothing about engagement."""
MAX_P = 0.05
MAX_EDIT_RATIO = 0.3
MAX_POST_SHARE = 0.5
_FINAL = (VerdictKind.BETTER, VerdictKind.NO_DIFFERENCE_SEEN)

Arms = tuple[tuple[Observation, ...], ...]
"""The observations of each variant, in the order in which they became known."""


class ComparisonAnalysis(NamedTuple):
    """The statistics of one comparison."""

    comparison: Comparison
    p: float
    is_different: bool
    """True if this comparison or an earlier one has shown that the variants differ."""
    estimates: tuple[MeanEstimate, ...] = ()

    @property
    def best(self) -> int | None:
        """The index of the variant that is clearly the best, or None."""
        chances = [estimate.p_best for estimate in self.estimates]
        return chances.index(max(chances)) if self.is_different and max(chances) >= MIN_P_BEST else None


def run_comparisons(
    metric: Metric, arms: Arms, comparisons: Sequence[Comparison], seed: str
) -> ComparisonAnalysis | None:
    """Return the last comparison that was due: the first one that names the best variant, or else the latest.

    Each uses as many observations of each variant as were planned for it, the first ones. What comes later cannot
    change it. A difference that one comparison has shown remains shown: later ones are made only to tell which variant
    is the best, so they add nothing to the chance of a false difference.
    """
    taken = find_comparison(metric, arms, comparisons, seed)
    if taken is None:
        return None
    taken = _estimate(taken, metric, arms, seed)
    for comparison in comparisons:
        if not taken.is_different or taken.best is not None or min(map(len, arms)) < comparison.posts:
            break
        if comparison.posts > taken.comparison.posts:
            taken = _estimate(_compare(comparison, metric, arms, seed)._replace(is_different=True), metric, arms, seed)
    return taken


def find_comparison(
    metric: Metric, arms: Arms, comparisons: Sequence[Comparison], seed: str
) -> ComparisonAnalysis | None:
    """Return the first comparison that shows a difference, or else the latest that was due, without the estimates."""
    taken = None
    for comparison in comparisons:
        if min(map(len, arms)) < comparison.posts:
            break
        if metric is Metric.ENGAGEMENT and _count_interactions(arms, comparison) < MIN_INTERACTIONS:
            continue
        taken = _compare(comparison, metric, arms, seed)
        if taken.is_different:
            break
    return taken


def _compare(comparison: Comparison, metric: Metric, arms: Arms, seed: str) -> ComparisonAnalysis:
    p = difference_p(metric, _first(arms, comparison), f"{seed}:{comparison.number}")
    return ComparisonAnalysis(comparison, p, is_different=p < comparison.threshold)


def _estimate(taken: ComparisonAnalysis, metric: Metric, arms: Arms, seed: str) -> ComparisonAnalysis:
    estimates = estimate_means(metric, _first(arms, taken.comparison), f"{seed}:{taken.comparison.number}")
    return taken._replace(estimates=estimates)


def _first(arms: Arms, comparison: Comparison) -> Arms:
    return tuple(arm[: comparison.posts] for arm in arms)


def _count_interactions(arms: Arms, comparison: Comparison) -> float:
    return sum(post.value for arm in _first(arms, comparison) for post in arm)


# Cached because the console shows the same results again with each refresh.
@lru_cache(maxsize=256)
def difference_p(metric: Metric, arms: Arms, seed: str) -> float:
    """Return the p-value of the hypothesis that the variants are alike, shuffling within each stratum."""
    scores = score(metric, [post for arm in arms for post in arm])
    strata: dict[str, list[list[float]]] = {}
    position = 0
    for index, arm in enumerate(arms):
        for post in arm:
            strata.setdefault(post.stratum, [[] for _ in arms])[index].append(scores[position])
            position += 1
    return permutation_p(list(strata.values()), Random(seed))  # noqa: S311 - nothing secret


@lru_cache(maxsize=256)
def estimate_means(metric: Metric, arms: Arms, seed: str) -> tuple[MeanEstimate, ...]:
    """Return the estimate of each variant's mean; the first variant is the control."""
    return tuple(posterior.compare(draw_means(metric, arms, seed), lower_is_better=metric is Metric.EDITS))


def draw_means(metric: Metric, arms: Arms, seed: str) -> list[list[float]]:
    """Return draws from the posterior of each variant's mean."""
    random = Random(seed)  # noqa: S311 - nothing secret
    if metric is Metric.ACCEPTANCE:
        return [posterior.sample_proportion(round(sum(post.value for post in arm)), len(arm), random) for arm in arms]
    if metric is Metric.EDITS:
        return [posterior.sample_share([post.value for post in arm], random) for arm in arms]
    if have_impressions([post for arm in arms for post in arm]):
        return posterior.sample_rates([[to_rate(post) for post in arm] for arm in arms], random)
    return [posterior.sample_count([int(post.value) for post in arm], random) for arm in arms]


def build_results(
    experiment_id: str,
    parameter: str,
    variants: Sequence[Variant],
    plan: ExperimentPlan,
    participants: Sequence[Participant],
    assigned: Mapping[str, int],
    now: datetime,
) -> ExperimentResults:
    """Return the results, variants in their given order.

    `assigned` counts the assignments by variant id, including those without a draft. The id seeds what is random.
    """
    drafts = [[draft for draft in participants if draft.variant_id == variant.id] for variant in variants]
    observations, posts = observe(plan.metric, participants), observe(Metric.ENGAGEMENT, participants)
    arms = tuple(tuple(post for post in observations if post.variant_id == variant.id) for variant in variants)
    comparisons = plan_comparisons(plan.posts_per_variant)
    analysis = run_comparisons(plan.metric, arms, comparisons, experiment_id)
    estimates = _list_estimates(analysis) if analysis is not None else [None] * len(variants)
    verdict, largest_share = _conclude(plan, comparisons, arms, analysis, variants), _largest_share(posts)
    # What is measured after the comparison does not change its unit.
    compared = [post for arm in _first(arms, analysis.comparison) for post in arm] if analysis else posts
    random = Random(experiment_id)  # noqa: S311 - nothing secret
    results = ExperimentResults(
        parameter=parameter,
        metric=_define_metric(plan.metric, compared),
        strata=tuple(sorted({draft.stratum for draft in participants})),
        data_as_of=now,
        plan=plan,
        comparisons=comparisons,
        comparison=_describe_comparison(analysis, comparisons) if analysis else None,
        arms=tuple(
            _arm_results(variant, drafts[index], assigned.get(variant.id, 0), estimates[index], is_control=not index)
            for index, variant in enumerate(variants)
        ),
        between_post_cv=between_post_cv(posts),
        largest_post_share=largest_share,
        warnings=tuple(_find_warnings(plan.metric, verdict, largest_share, drafts, compared, random)),
        verdict=verdict,
        sentence="",
    )
    # It is about the results.
    return msgspec.structs.replace(results, sentence=describe_verdict(results, min(map(len, arms))))


def is_decided(results: ExperimentResults) -> bool:
    """Return True if the experiment has run as planned: its last comparison was made, or one named the best."""
    verdict = results.verdict
    return verdict.kind in _FINAL or (verdict.kind is VerdictKind.BEST_UNCLEAR and verdict.next_comparison is None)


def _define_metric(metric: Metric, posts: Sequence[Observation]) -> MetricDefinition:
    if metric is Metric.ACCEPTANCE:
        return MetricDefinition(metric, "accepted without edits", "accepted or rejected", higher_is_better=True)
    if metric is Metric.EDITS:
        return MetricDefinition(metric, "changed words", "words", higher_is_better=False)
    denominator = "impressions" if have_impressions(posts) else "none"
    return MetricDefinition(metric, "interactions", denominator, higher_is_better=True, age_hours=METRICS_AGE_HOURS)


def _describe_comparison(analysis: ComparisonAnalysis, comparisons: Sequence[Comparison]) -> LastComparison:
    comparison = analysis.comparison
    return LastComparison(
        number=comparisons.index(comparison) + 1,
        of=len(comparisons),
        posts=comparison.posts,
        threshold=comparison.threshold,
        p=analysis.p,
    )


def _conclude(
    plan: ExperimentPlan,
    comparisons: Sequence[Comparison],
    arms: Arms,
    analysis: ComparisonAnalysis | None,
    variants: Sequence[Variant],
) -> Verdict:
    post_count = min(map(len, arms))
    due = [comparison.posts for comparison in comparisons if comparison.posts > post_count]
    if analysis is not None and analysis.is_different:
        best = analysis.best
        if best is None:
            return Verdict(kind=VerdictKind.BEST_UNCLEAR, next_comparison=due[0] if due else None)
        return Verdict(kind=VerdictKind.BETTER, variant=variants[best].id)
    if analysis is not None and analysis.comparison == comparisons[-1]:
        first = [post for arm in arms for post in arm[: analysis.comparison.posts]]
        lift = smallest_lift(plan.metric, analysis.comparison.posts, measure(plan.metric, first))
        return Verdict(kind=VerdictKind.NO_DIFFERENCE_SEEN, smallest_lift=lift)
    kind = VerdictKind.NOT_ENOUGH_DATA if post_count < MIN_POSTS or not due else VerdictKind.TOO_EARLY
    return Verdict(kind=kind, next_comparison=due[0] if due else None)


def _list_estimates(analysis: ComparisonAnalysis) -> list[Estimate]:
    control = analysis.estimates[0].mean
    return [
        Estimate(
            value=estimate.mean,
            low=estimate.low,
            high=estimate.high,
            lift=estimate.mean / control - 1 if estimate.lift_low is not None else None,
            lift_low=estimate.lift_low,
            lift_high=estimate.lift_high,
            p_best=estimate.p_best,
            expected_loss=estimate.expected_loss,
        )
        for estimate in analysis.estimates
    ]


def _arm_results(
    variant: Variant, drafts: Sequence[Participant], assigned: int, estimate: Estimate | None, *, is_control: bool
) -> VariantResults:
    decided = [draft for draft in drafts if draft.decided_at is not None]
    accepted = [draft for draft in decided if draft.is_accepted]
    edits = observe(Metric.EDITS, drafts)
    posts = observe(Metric.ENGAGEMENT, drafts)
    published = [draft for draft in drafts if draft.is_published]
    rates = [to_rate(post) for post in posts] if have_impressions(posts) else []
    interactions = sum(int(post.value) for post in posts)
    impressions = sum(rate.impressions for rate in rates)
    too_young = sum(draft.is_too_young for draft in published)
    return VariantResults(
        id=variant.id,
        name=variant.label,
        is_control=is_control,
        assigned=assigned,
        drafted=sum(draft.has_text for draft in drafts),
        accepted=len(accepted),
        unedited=sum(not draft.edit_ratio for draft in accepted),
        rejected=len(decided) - len(accepted),
        acceptance_rate=_mean([float(not post.value) for post in edits]),
        edit_distance=_mean([post.value for post in edits]),
        mean_edit_ratio=_mean([draft.edit_ratio for draft in accepted]),
        published=len(published),
        measured=len(posts),
        too_young=too_young,
        no_metrics=len(published) - len(posts) - too_young,
        impressions=impressions if rates else None,
        interactions=interactions,
        rate_pooled=sum(rate.interactions for rate in rates) / impressions if len(rates) >= MIN_POSTS else None,
        rate_median_post=(
            median(rate.interactions / rate.impressions for rate in rates) if len(rates) >= MIN_POSTS else None
        ),
        interactions_per_post=_mean([post.value for post in posts]),
        estimate=estimate,
    )


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean, None below MIN_POSTS: a rate of a few posts would be taken for more than it is."""
    return fmean(values) if len(values) >= MIN_POSTS else None


def _largest_share(posts: Sequence[Observation]) -> float | None:
    total = sum(post.value for post in posts)
    return max(post.value for post in posts) / total if total else None


def _find_warnings(
    metric: Metric,
    verdict: Verdict,
    largest_share: float | None,
    arms: Sequence[Sequence[Participant]],
    posts: Sequence[Observation],
    random: Random,
) -> Iterator[ResultWarning]:
    """Yield the warnings; `arms` are the drafts of each variant, `posts` those that are compared."""
    yield from _assignment_warnings(arms, random)
    if metric is Metric.ENGAGEMENT:
        yield from _review_warnings(arms, random)
        yield from _post_warnings(verdict, largest_share, arms, posts)
    writers = sorted({draft.writer for arm in arms for draft in arm if draft.writer})
    if len(writers) > 1:
        yield ResultWarning("model_changed", f"The writer changed during the experiment: {', '.join(writers)}.")


def _assignment_warnings(arms: Sequence[Sequence[Participant]], random: Random) -> Iterator[ResultWarning]:
    counts = [len(arm) for arm in arms]
    p = assignment_p(counts, random)
    if p < MAX_P:
        split = " : ".join(f"{count:,}" for count in counts)
        yield ResultWarning(
            "assignment_ratio",
            f"The drafts are split {split}, which is unlikely by chance (p = {p:.2g}): the comparison may not be fair.",
        )


def _review_warnings(arms: Sequence[Sequence[Participant]], random: Random) -> Iterator[ResultWarning]:
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


def _post_warnings(
    verdict: Verdict,
    largest_share: float | None,
    arms: Sequence[Sequence[Participant]],
    posts: Sequence[Observation],
) -> Iterator[ResultWarning]:
    if largest_share is not None and largest_share > MAX_POST_SHARE and len(posts) > 2:
        yield ResultWarning("one_post_dominates", f"One post has {largest_share:.0%} of all interactions.")
    missing = sorted({post.stratum.partition(":")[2] for post in posts if not post.impressions})
    if missing:
        yield ResultWarning(
            "missing_impressions",
            f"No impressions from {', '.join(missing)}: interactions per post are compared instead of rates.",
        )
    mixes = [{draft.published_on for draft in arm if draft.metrics} for arm in arms]
    if len(set().union(*mixes)) > 1 and verdict.kind is not VerdictKind.NOT_ENOUGH_DATA:
        yield ResultWarning(
            "mixed_platforms",
            "The posts went to different platforms: they are compared within each, the rates mix them.",
        )
