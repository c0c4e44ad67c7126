"""Simulated experiments: how often chance alone gives a winner, and how often the intervals contain the truth.

    python tests/support/simulated_experiments.py [--workers N]

simulates all settings, half an hour of processor time, and writes the tables in docs/ranking-and-drafting.md. Each
setting is stored as soon as it is done; a later run goes on with those that are missing, and starts over if the
statistics have changed. The posts are not distributed as the estimates assume: impressions are lognormal (median 400,
σ 1), the rates of posts lognormal around 3 % with a coefficient of variation of 0.7. The acceptance of drafts is 30 to
90 %, another one in each experiment: of few drafts an interval contains any one share in 91 or in 99 %, never in 95 %.
"""

import argparse
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from math import exp, expm1, fsum, log1p, sqrt
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

import copydesk
from copydesk.experiments.observations import Observation
from copydesk.experiments.planning import plan_comparisons
from copydesk.experiments.posterior import credible_interval, sample_proportion
from copydesk.experiments.results import (
    MAX_P,
    Arms,
    difference_p,
    draw_means,
    estimate_means,
    find_comparison,
    run_comparisons,
)
from copydesk.model.experiment import MIN_POSTS, Metric
from copydesk.statistics.permutation import assignment_p

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "ranking-and-drafting.md"
RESULTS = ROOT / "build" / "simulated_experiments.jsonl"
"""The settings that are done."""
RUNS = 1_000
VARIANTS = (2, 3, 4, 5)
POSTS = (5, 10, 20, 40)
START = datetime(2026, 1, 1, tzinfo=UTC)
MEAN_RATE, POST_CV, MEDIAN_IMPRESSIONS = 0.03, 0.7, 400
ACCEPTANCES = (0.3, 0.9)
UNCHANGED, REJECTED = 0.55, 0.2


class Setting(NamedTuple):
    """A kind of experiment; the last variant is better by `lift`."""

    metric: Metric
    impressions: bool
    variants: int
    posts: int
    lift: float = 1.0

    @property
    def label(self) -> str:
        """The metric in words."""
        if self.metric is not Metric.ENGAGEMENT:
            return self.metric.value
        return "engagement" if self.impressions else "engagement without impressions"


class Tally(NamedTuple):
    """Shares of the simulated experiments, and of their intervals."""

    different: float
    winner: float
    """Of experiments with a lift only those that name the right variant."""
    wrong: float
    """Those that name another one; 0 without a lift, where each winner is wrong."""
    covered: float


KINDS = ((Metric.ACCEPTANCE, False), (Metric.EDITS, False), (Metric.ENGAGEMENT, True), (Metric.ENGAGEMENT, False))
AA_SETTINGS = tuple(
    Setting(metric, impressions, variants, posts)
    for metric, impressions in KINDS
    for variants in VARIANTS
    for posts in POSTS
)
POWER_SETTINGS = tuple(Setting(Metric.ENGAGEMENT, True, variants, 20, 2.0) for variants in VARIANTS)


def simulate(setting: Setting, runs: int = RUNS) -> Tally:
    """Simulate so many experiments with all their comparisons."""
    different = winners = wrong = covered = 0
    for run in range(runs):
        random = Random(f"{setting}:{run}")
        acceptance = random.uniform(*ACCEPTANCES) if setting.metric is Metric.ACCEPTANCE else 0.0
        arms = tuple(
            tuple(_simulate_post(setting, acceptance, random, variant) for _ in range(setting.posts))
            for variant in range(setting.variants)
        )
        found_difference, best, intervals = _evaluate(setting, arms, str(run))
        is_right = setting.lift == 1 or best == setting.variants - 1
        different += found_difference
        winners += best is not None and is_right
        wrong += best is not None and not is_right
        truths = [_truth(setting, acceptance, variant) for variant in range(setting.variants)]
        covered += sum(low <= truth <= high for (low, high), truth in zip(intervals, truths, strict=True))
    difference_p.cache_clear()
    estimate_means.cache_clear()
    return Tally(different / runs, winners / runs, wrong / runs, covered / runs / setting.variants)


def _evaluate(setting: Setting, arms: Arms, seed: str) -> tuple[bool, int | None, list[tuple[float, float]]]:
    """Return if a difference was found, the variant that was named, and the intervals."""
    if setting.posts < MIN_POSTS:
        # Nothing is said about so few posts; the intervals are those that would be shown.
        return False, None, _intervals(setting, arms, seed)
    comparison = find_comparison(setting.metric, arms, plan_comparisons(setting.posts), seed)
    assert comparison is not None
    if not comparison.is_different:
        # Without comparing the variants, which takes a third of the time and says nothing more here.
        first = tuple(arm[: comparison.comparison.posts] for arm in arms)
        return False, None, _intervals(setting, first, f"{seed}:{comparison.comparison.number}")
    analysis = run_comparisons(setting.metric, arms, plan_comparisons(setting.posts), seed)
    assert analysis is not None
    intervals = [(found.low, found.high) for found in analysis.estimates]
    return True, analysis.best, intervals


def _intervals(setting: Setting, arms: Arms, seed: str) -> list[tuple[float, float]]:
    if setting.metric is Metric.ACCEPTANCE:
        return [_proportion_interval(round(sum(post.value for post in arm)), len(arm)) for arm in arms]
    return [credible_interval(draws) for draws in draw_means(setting.metric, arms, seed)]


@cache
def _proportion_interval(successes: int, count: int) -> tuple[float, float]:
    """Return the interval of a proportion; cached, because only the numbers decide it."""
    return credible_interval(sample_proportion(successes, count, Random(f"{successes}:{count}")))


def _simulate_post(setting: Setting, acceptance: float, random: Random, variant: int) -> Observation:
    at = START + timedelta(seconds=random.random())
    lift = setting.lift if variant == setting.variants - 1 else 1.0
    if setting.metric is Metric.ACCEPTANCE:
        return Observation(at, "", "", float(random.random() < acceptance))
    if setting.metric is Metric.EDITS:
        kind = random.random()
        edited = 0.0 if kind < UNCHANGED else 1.0 if kind < UNCHANGED + REJECTED else random.betavariate(2, 5)
        return Observation(at, "", "", edited)
    impressions = max(round(MEDIAN_IMPRESSIONS * exp(random.gauss(0, 1))), 1)
    sigma = sqrt(log1p(POST_CV**2))
    rate = min(MEAN_RATE * lift * exp(random.gauss(-(sigma**2) / 2, sigma)), 0.9)
    interactions = min(_draw_poisson(impressions * rate, random), impressions)
    return Observation(at, "", "", interactions, impressions if setting.impressions else None)


def _draw_poisson(mean: float, random: Random) -> int:
    if mean > 50:
        return max(round(random.gauss(mean, sqrt(mean))), 0)
    count, product, limit = 0, random.random(), exp(-mean)
    while product > limit:
        count += 1
        product *= random.random()
    return count


def _truth(setting: Setting, acceptance: float, variant: int) -> float:
    if setting.metric is Metric.ACCEPTANCE:
        return acceptance
    if setting.metric is Metric.EDITS:
        return REJECTED + (1 - UNCHANGED - REJECTED) * 2 / 7
    if setting.impressions:
        return MEAN_RATE * (setting.lift if variant == setting.variants - 1 else 1.0)
    return _typical_count()


def _typical_count() -> float:
    """Return the mean of log(1 + interactions), as a count, from many simulated posts."""
    global _typical  # noqa: PLW0603 - computed once
    if _typical is None:
        random, setting = Random(0), Setting(Metric.ENGAGEMENT, False, 2, 1)
        posts = [_simulate_post(setting, 0, random, 0).value for _ in range(200_000)]
        _typical = expm1(fsum(map(log1p, posts)) / len(posts))
    return _typical


_typical: float | None = None


def flagged_splits(drafts: int, share: float, runs: int = RUNS) -> float:
    """Return the share of experiments with two variants whose split is warned of."""
    flagged = 0
    for run in range(runs):
        random = Random(f"{drafts}:{share}:{run}")
        first = sum(random.random() < share for _ in range(drafts))
        flagged += assignment_p([first, drafts - first], random) < MAX_P
    return flagged / runs


class Result(msgspec.Struct, frozen=True):
    """What was simulated, by which code."""

    code: str
    runs: int
    setting: Setting
    tally: Tally


def code_version() -> str:
    """Return a hash of the code whose errors are counted, and of this module."""
    package = Path(copydesk.__file__).parent
    # Without the texts and the checks of requests, which decide nothing.
    modules = ("observations", "planning", "posterior", "results")
    files = [*(package / "experiments" / f"{module}.py" for module in modules), Path(__file__)]
    files.append(package / "statistics" / "permutation.py")
    return sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()[:12]


def read_results(path: Path, code: str) -> dict[Setting, Tally]:
    """Return the settings that this version of the code has simulated."""
    if not path.exists():
        return {}
    # A run that was killed may have left the beginning of a line.
    complete = path.read_bytes().rpartition(b"\n")[0]
    results = msgspec.json.Decoder(Result).decode_lines(complete)
    return {result.setting: result.tally for result in results if (result.code, result.runs) == (code, RUNS)}


def _to_line(result: Result) -> bytes:
    return msgspec.json.encode(result) + b"\n"


def simulate_missing(path: Path, workers: int | None) -> Iterator[dict[Setting, Tally]]:
    """Simulate the settings that `path` does not have and store them there; yield all that are done after each."""
    code = code_version()
    tallies = read_results(path, code)
    yield tallies
    path.parent.mkdir(exist_ok=True)
    # Anew, so that nothing is appended to the beginning of a line.
    with ProcessPoolExecutor(workers) as pool, path.open("wb") as file:
        file.writelines(map(_to_line, [Result(code, RUNS, *done) for done in tallies.items()]))
        missing = [setting for setting in (*POWER_SETTINGS, *AA_SETTINGS) if setting not in tallies]
        futures = {pool.submit(simulate, setting): setting for setting in missing}
        for future in as_completed(futures):
            setting, tally = futures[future], future.result()
            file.write(_to_line(Result(code, RUNS, setting, tally)))
            file.flush()
            tallies = {**tallies, setting: tally}
            yield tallies


def format_tables(tallies: Mapping[Setting, Tally]) -> str:
    """Return the tables as Markdown; a row appears when all of its settings are done."""
    lines = [
        f"Winners in {RUNS:,} A/A experiments per setting, all comparisons made; intervals that contain the truth:\n"
    ]
    winners_head = " | ".join(f"winners, {posts} posts" for posts in POSTS)
    covered_head = " | ".join(f"covered, {posts} posts" for posts in POSTS)
    lines += [f"| decided by | variants | {winners_head} | {covered_head} |", "|---|---|" + "---|" * (2 * len(POSTS))]
    for metric, impressions in KINDS:
        for variants in VARIANTS:
            settings = [Setting(metric, impressions, variants, posts) for posts in POSTS]
            if all(setting in tallies for setting in settings):
                winners = " | ".join(_percent(tallies[setting].winner) for setting in settings)
                covered = " | ".join(_percent(tallies[setting].covered) for setting in settings)
                lines.append(f"| {settings[0].label} | {variants} | {winners} | {covered} |")
    lines.append("\nOne variant with twice the engagement rate of the others, 20 posts per variant:\n")
    lines.append("| variants | difference found | best variant named | another one named |\n|---|---|---|---|")
    for setting in POWER_SETTINGS:
        if tally := tallies.get(setting):
            shares = " | ".join(map(_percent, (tally.different, tally.winner, tally.wrong)))
            lines.append(f"| {setting.variants} | {shares} |")
    splits = ", ".join(f"{_percent(flagged_splits(drafts, 0.9))} with {drafts}" for drafts in (10, 20, 40))
    lines.append(f"\nAn assignment that favours one variant 90 : 10 is warned of in {splits} drafts.")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def write_tables(tables: str) -> None:
    """Replace the tables in the document."""
    before, start, rest = DOCUMENT.read_text(encoding="utf-8").partition("<!-- simulations -->\n")
    _, end, after = rest.partition("<!-- /simulations -->")
    if not (start and end):
        raise ValueError(f"No markers for the tables in {DOCUMENT}.")
    DOCUMENT.write_text(f"{before}{start}{tables}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, metavar="N", help="processes; as many as cores by default")
    for tallies in simulate_missing(RESULTS, parser.parse_args().workers):
        write_tables(format_tables(tallies))
        print(f"{len(tallies)} of {len(AA_SETTINGS) + len(POWER_SETTINGS)} settings", flush=True)


if __name__ == "__main__":
    main()
