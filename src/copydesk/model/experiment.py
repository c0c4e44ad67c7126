"""Experiments: comparing values of one drafting parameter. Users type variants as `none=0`, `two=2`."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated

import msgspec
from msgspec import Meta, field

from copydesk.errors import FieldError, InvalidError
from copydesk.model.serialization import Json, Struct

MAX_NAME_LENGTH = MAX_PARAMETER_LENGTH = MAX_LABEL_LENGTH = 100
MAX_VARIANT_ID_LENGTH = 50
MIN_VARIANTS, MAX_VARIANTS = 2, 5
MIN_POSTS = 10
"""Posts per variant below which no rate is shown and no verdict is possible."""
MAX_PLANNED_POSTS = 1_000
"""Per variant."""
METRICS_AGE_HOURS = 48
"""Age of a post at which its metrics are taken."""
MAX_REASON_LENGTH = 500
PlannedPosts = Annotated[
    int, Meta(ge=MIN_POSTS, le=MAX_PLANNED_POSTS, description=f"takes {MIN_POSTS} to {MAX_PLANNED_POSTS:,}")
]
VariantCount = Annotated[
    int, Meta(ge=MIN_VARIANTS, le=MAX_VARIANTS, description=f"takes {MIN_VARIANTS} to {MAX_VARIANTS}")
]
VariantId = Annotated[str, Meta(min_length=1, max_length=MAX_VARIANT_ID_LENGTH, pattern=r"\S")]

WRITER_PARAMETERS = (
    "hashtags",
    "length",
    "emoji",
    "link",
    "hook",
    "tone",
    "style",
    "cta",
    "instructions",
    "writer",
    "temperature",
)
"""Parameters known to some writer; the offline writer follows the first four. Any other name is allowed, too."""


class ExperimentStatus(StrEnum):
    ACTIVE = "active"
    CONCLUDED = "concluded"
    ARCHIVED = "archived"


class Metric(StrEnum):
    """The metric that decides an experiment."""

    ACCEPTANCE = "acceptance"
    """Drafts accepted without an edit."""
    EDITS = "edits"
    """Share of words changed before acceptance; a rejected draft counts as changed entirely."""
    ENGAGEMENT = "engagement"

    @property
    def counted(self) -> str:
        """Return what the plan of an experiment counts, in the singular."""
        return "measured post" if self is Metric.ENGAGEMENT else "reviewed draft"


class ExperimentAction(StrEnum):
    CONCLUDE = "conclude"
    ARCHIVE = "archive"


class Variant(Struct, frozen=True):
    """One of the compared values; `config` holds it under the parameter's name."""

    id: VariantId
    label: Annotated[str, Meta(min_length=1, max_length=MAX_LABEL_LENGTH, pattern=r"\S")]
    config: dict[str, Json]


class Comparison(Struct, frozen=True):
    """A planned comparison: the only times at which a verdict is possible. JSON calls it a look."""

    number: int
    """The quarter of the plan at whose end it is made, from 1."""
    posts: int
    """Posts per variant."""
    threshold: float
    """Below it, the p-value of the permutation test means a difference."""


class LiftNeed(Struct, frozen=True):
    """Posts per variant with which a lift is found in four of five experiments."""

    lift: float
    """1.25 is a quarter more; of the edit distance, a quarter less."""
    posts_per_variant: int
    weeks: float | None
    """At the user's own rate; None if it is unknown."""


class ExperimentPlan(Struct, frozen=True):
    """The metric an experiment is decided by and its size, both fixed when it is created."""

    metric: Metric = Metric.ACCEPTANCE
    posts_per_variant: int = 50
    weeks: float | None = None
    """How long that takes at the user's own rate; None if it is unknown."""
    posts_per_week: float | None = None
    needed: tuple[LiftNeed, ...] = ()
    based_on: int = 0
    """Drafts or posts of the user that the figures are computed from; 0 if typical ones are assumed."""
    sentence: str = ""
    """The plan in words."""


class Experiment(Struct, frozen=True):
    """An experiment as the interface returns it."""

    id: str
    name: str
    parameter: str
    status: ExperimentStatus
    variants: tuple[Variant, ...]
    results: dict[str, Json]
    started_at: datetime
    ended_at: datetime | None
    created_at: datetime
    plan: ExperimentPlan
    aa_test: bool = False

    def variant_value(self, variant_id: str) -> Json:
        """Return the value of a variant, None if there is no such variant."""
        values = {variant.id: variant.config.get(self.parameter) for variant in self.variants}
        return values.get(variant_id)


class NewExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to create an experiment; the first variant is the control."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=r"\S")]
    parameter: Annotated[str, Meta(min_length=1, max_length=MAX_PARAMETER_LENGTH, pattern=r"\S")]
    """What the variants differ in, such as `hashtags` or `length`; any name is allowed."""
    variants: Annotated[tuple[Variant, ...], Meta(min_length=MIN_VARIANTS, max_length=MAX_VARIANTS)]
    metric: Metric = Metric.ACCEPTANCE
    """What decides it: `acceptance` without edits, `edits`, or `engagement`."""
    posts_per_variant: PlannedPosts | None = None
    """Its size; by default what a lift of a half needs."""
    aa_test: bool = False
    """True if all variants have the same value on purpose, to test the experiment itself."""


class ChangeExperiment(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to apply an action; `winner` may name a variant when concluding."""

    action: ExperimentAction
    winner: VariantId | None = None
    """Id of a variant; only with conclude."""
    reason: Annotated[str, Meta(min_length=1, max_length=MAX_REASON_LENGTH, pattern=r"\S")] | None = None
    """Why it is concluded before its plan is complete; required then."""
    apply_to_voice: bool = False
    """True to make the winner's value the setting of the voice."""


class Estimate(Struct, frozen=True):
    """The estimate of one variant for the metric of the experiment, from the posts of the last comparison.

    Intervals are 95% credible intervals. Lifts are ratios to the control, less one; None if the control may be 0.
    """

    value: float
    low: float
    high: float
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p_best: float
    """Probability that it is the best variant."""
    expected_loss: float
    """Expected distance from the best variant if this one is chosen, in the unit of the metric."""


class VariantResults(Struct, frozen=True):
    """Results of one variant: counts, raw rates, and the estimate of the last comparison.

    A rate is None if its denominator is unknown or below MIN_POSTS.
    """

    id: str
    name: str
    is_control: bool
    assigned: int
    drafted: int
    accepted: int
    unedited: int
    """Accepted without an edit."""
    rejected: int
    acceptance_rate: float | None
    """unedited / (accepted + rejected)"""
    edit_distance: float | None
    """Share of words changed, a rejected draft counts as 1; the mean over accepted and rejected drafts."""
    mean_edit_ratio: float | None
    """Share of words changed before approval, 0 to 1; the mean over accepted drafts."""
    published: int
    measured: int
    """Published, with metrics at the fixed age."""
    too_young: int
    """Published, not yet of that age."""
    no_metrics: int
    """Published, and no platform reported metrics at that age."""
    impressions: int | None
    """None unless all measured posts have impressions."""
    interactions: int
    rate_pooled: float | None
    """interactions / impressions"""
    rate_median_post: float | None
    interactions_per_post: float | None
    """interactions / measured"""
    estimate: Estimate | None = None
    """None before the first comparison."""


class MetricDefinition(Struct, frozen=True):
    """The metric an experiment is decided by."""

    name: Metric
    numerator: str
    denominator: str
    """"none" for interactions where impressions are not reported: the typical number per post is compared."""
    higher_is_better: bool
    age_hours: int | None = None
    """Age of a post at which its metrics are taken."""


class LastComparison(Struct, frozen=True):
    """The last comparison that was made."""

    number: int
    of: int
    posts: int
    """Posts per variant it is computed from, the first ones: later data do not change it."""
    threshold: float
    p: float
    """Of the permutation test over all variants. It may be above the threshold if an earlier comparison was below its
    own, and this one was made to tell which variant is the best."""


class VerdictKind(StrEnum):
    NOT_ENOUGH_DATA = "not_enough_data"
    TOO_EARLY = "too_early"
    NO_DIFFERENCE_SEEN = "no_difference_seen"
    BETTER = "better"
    BEST_UNCLEAR = "best_unclear"
    """The variants differ, but none is clearly the best so far."""


class Verdict(Struct, frozen=True):
    """The conclusion from the data."""

    kind: VerdictKind
    variant: str | None = None
    """Id of the better variant."""
    smallest_lift: float | None = None
    """With no difference seen: the smallest lift that would have been found in four of five experiments."""
    next_comparison: int | None = field(default=None, name="nextLook")
    """Posts per variant of the next comparison."""


class ResultWarning(Struct, frozen=True):
    """A reason to doubt the comparison."""

    code: str
    message: str


class VoiceSettingChange(Struct, frozen=True):
    """A setting of the voice before and after a winner was applied to it."""

    setting: str
    before: Json
    after: Json


class ExperimentResults(Struct, frozen=True):
    """An experiment evaluated at one time."""

    parameter: str
    metric: MetricDefinition
    strata: tuple[str, ...]
    """Format and platforms of the drafts; variants are balanced and compared within each."""
    data_as_of: datetime
    plan: ExperimentPlan
    comparisons: tuple[Comparison, ...] = field(name="looks")
    comparison: LastComparison | None = field(name="look")
    arms: tuple[VariantResults, ...]
    between_post_cv: float | None
    """Coefficient of variation of the measured posts."""
    largest_post_share: float | None
    """Share of all interactions that one post has."""
    warnings: tuple[ResultWarning, ...]
    verdict: Verdict
    sentence: str
    """The verdict in words."""
    winner: str | None = None
    """The variant named by the user when concluding."""
    concluded_early: bool = False
    """True if the user concluded it before the plan was complete and without a verdict."""
    reason: str | None = None
    """Why it was concluded early."""
    voice_changes: tuple[VoiceSettingChange, ...] = ()
    """Settings of the voice that the winner replaced."""


class Reading(Struct, frozen=True):
    """Metrics of a post as they were read, or recorded by hand; None for what was not reported."""

    at: datetime
    likes: int | None = None
    replies: int | None = None
    reposts: int | None = None
    impressions: int | None = None
    clicks: int | None = None


class PublishedPost(Struct, frozen=True):
    """A draft on one platform, with the readings of its metrics in their order."""

    platform: str
    published_at: datetime
    readings: tuple[Reading, ...] = ()


class DraftMetrics(Struct, frozen=True):
    """Metrics of a draft at the fixed age, summed over its platforms."""

    interactions: int
    impressions: int | None
    complete_at: datetime


class Participant(Struct, frozen=True):
    """A draft in an experiment: the unit that is compared. Of several versions of a text only the newest counts."""

    variant_id: str
    stratum: str
    writer: str = ""
    has_text: bool = True
    decided_at: datetime | None = None
    """When it was last accepted or rejected; None while it is neither."""
    is_accepted: bool = False
    edit_ratio: float = 0.0
    """Share of words the user changed before accepting it."""
    is_published: bool = False
    published_on: tuple[str, ...] = ()
    """Platforms, sorted; empty if the posts were not recorded."""
    metrics: DraftMetrics | None = None
    is_too_young: bool = False


class MetricHistory(Struct, frozen=True):
    """Past values of a metric, from which the posts needed are computed."""

    mean: float
    deviation: float
    """Standard deviation; of engagement, the coefficient of variation between posts beyond chance."""
    sample_size: int = 0
    """0 if typical values are assumed."""
    per_week: float | None = None
    """Drafts or posts a week."""


def parse_variants(definitions: Sequence[str], parameter: str) -> tuple[Variant, ...]:
    """Return the variants, with letters as ids. Raise InvalidError if one is malformed or has a duplicate label."""
    variants: list[Variant] = []
    for index, definition in enumerate(definitions):
        label, equals, value = definition.partition("=")
        label = label.strip()
        if not equals:
            raise InvalidError(FieldError("variants", f"{definition!r} is not LABEL=VALUE"))
        if any(variant.label == label for variant in variants):
            raise InvalidError(FieldError("variants", f"need different labels, not “{label}” twice"))
        config = {parameter.strip(): parse_variant_value(value.strip())}
        variants.append(Variant(id=ascii_lowercase[index % 26], label=label, config=config))
    return tuple(variants)


def parse_variant_value(text: str) -> Json:
    """Parse a number, true, false or null; anything else is a string."""
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, dict | list) else value


def format_variant_value(value: object) -> str:
    """Format a value so that `parse_variant_value` reads it back; null becomes "default"."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
