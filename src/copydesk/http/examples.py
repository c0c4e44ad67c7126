"""Examples of responses and problems in the OpenAPI document, as values of the types that they are examples of."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from msgspec.structs import asdict

from copydesk.desk.sources.service import FetchTest, FoundEntry
from copydesk.errors import DeclineReason, NotFoundError
from copydesk.http import errors
from copydesk.http.operations import MAX_BODY
from copydesk.http.rate_limit import LIMIT
from copydesk.http.resources.drafts import EXAMPLE_ID, DraftList
from copydesk.http.resources.engagement import PostList
from copydesk.http.resources.images import StoredImage
from copydesk.http.resources.pipeline import QueuedRun, RunList
from copydesk.http.resources.reviewers import CommentList
from copydesk.http.resources.sources import Deleted
from copydesk.http.resources.webhooks import DeliveryList
from copydesk.model.activity import Approval, Comment, DraftActivity, EditLease, UnsavedEdit, Viewer
from copydesk.model.confidence import ConfidenceBin, ConfidenceReport
from copydesk.model.delivery import (
    AccountQuestion,
    ApprovalQuestion,
    DeliveryAnswer,
    DeliveryQuestion,
    DeliveryReport,
    DeliverySituation,
    DeliveryState,
    NeedsYou,
    NextBy,
    PostResult,
)
from copydesk.model.draft import (
    Action,
    Checks,
    Claim,
    ClaimSource,
    ClaimVerdict,
    Draft,
    DraftItem,
    Field,
    Finding,
    Format,
    ListedDraft,
    Severity,
    Status,
)
from copydesk.model.engagement import (
    BestTime,
    EngagementFigures,
    EngagementMetric,
    EngagementRecord,
    EngagementSummary,
    EngagementTrends,
    FormatEngagement,
    FormatFigures,
    HourLift,
    Interval,
    LivePost,
    PeriodFigures,
    PlatformEngagement,
    PlatformFigures,
    RecordStatus,
    TopPost,
)
from copydesk.model.event import Event, EventType
from copydesk.model.experiment import (
    Comparison,
    Estimate,
    Experiment,
    ExperimentPlan,
    ExperimentResults,
    ExperimentStatus,
    LastComparison,
    LiftNeed,
    Metric,
    MetricDefinition,
    Variant,
    VariantResults,
    Verdict,
    VerdictKind,
)
from copydesk.model.item import ItemState
from copydesk.model.learning import LearningReport, LearningReset
from copydesk.model.ranking import RankingProfile
from copydesk.model.ranking_preview import Explanation, Hits, InterestRank, ItemFate, RankingPreview
from copydesk.model.requests import CreatedDraft, CreatedDrafts, CreationMode, bulk_response
from copydesk.model.rule import Rule, RuleKind, RuleSuggestion
from copydesk.model.run import ErrorCount, PeriodTotals, Run, RunStatistics, RunStats, RunStatus, Stage
from copydesk.model.schedule import AutoSchedule, Conflict, Conflicts, Slot, SlotAssignment
from copydesk.model.serialization import to_json_value
from copydesk.model.source import Health, Source, SourceConfig
from copydesk.model.token import Scope
from copydesk.model.transitions import BulkFailure
from copydesk.model.voice import (
    Emoji,
    ExampleSuggestion,
    FormatVoice,
    ImportedPosts,
    OwnPosts,
    VoiceComparison,
    VoiceProfile,
)
from copydesk.model.webhook import CreatedWebhook, Webhook, WebhookDelivery
from copydesk.model.writer import (
    Endpoint,
    ModelRequest,
    QuotedClaim,
    Spending,
    Usage,
    WireProtocol,
    WriterInfo,
    Writers,
)
from copydesk.problems import PROBLEM_TYPES, FieldProblem, Problem, ProblemType

_AT = datetime(2026, 11, 20, 15, 4, 5, 123_000, tzinfo=UTC)
_SLOT_AT = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
_ITEM_ID = "019a5b2e-6c1e-7b02-8d11-5e7f90aa41c2"
_SOURCE_ID = "019a4f80-11d0-7c55-b0c4-90d1f2a3b4c5"
_TEXT = "SQLite turns 25 this year. Nothing else on my disk is as old and as boring. https://sqlite.org/news.html"
_ITEM = DraftItem(id=_ITEM_ID, title="SQLite 25 years", source_type="rss", published=_AT)
_CHECKS = Checks(
    ran=41,
    findings=(
        Finding(rule="repeat", severity=Severity.WARNING, message="Similar to a recent draft: 71% of it is the same."),
    ),
    claims=(
        Claim(
            start=0,
            end=26,
            verdict=ClaimVerdict.SUPPORTED,
            source=ClaimSource(text="SQLite turns 25 this year, on 29 May.", field=Field.TEXT, start=0, end=37),
        ),
    ),
)
_PENDING: Final[dict[str, Any]] = {
    "id": EXAMPLE_ID,
    "text": _TEXT,
    "format": Format.SHORT,
    "confidence": 0.62,
    "item_id": _ITEM_ID,
    "created_at": _AT,
    "tags": ("sqlite",),
    "checks": _CHECKS,
    "writer": "offline",
}
_WEBHOOK = Webhook(
    id="019a5c0d-2b7e-7f10-9c3d-6a5b4c3d2e1f",
    url="https://hooks.example/copydesk",
    types=(EventType.DELIVERY_ENDED, EventType.DELIVERY_NEEDS_USER),
    created_at=_AT,
    failing_since=None,
    disabled_at=None,
)
_APPROVED = Draft(**_PENDING, status=Status.APPROVED, updated_at=_AT + timedelta(minutes=3), version=2)
_LISTED = ListedDraft(**_PENDING, status=Status.PENDING_REVIEW, updated_at=_AT, item=_ITEM)
_POSTED = Draft(
    **_PENDING,
    status=Status.POSTED,
    updated_at=_SLOT_AT,
    posted_at=_SLOT_AT,
    post_id="at://did:plc:abc/app.bsky.feed.post/3lb",
    version=4,
)
_RUN = Run(
    id="019a5b2e-0000-7a11-9c22-1f2e3d4c5b6a",
    status=RunStatus.SUCCEEDED,
    stage=None,
    started_at=_AT,
    ended_at=_AT + timedelta(seconds=12.5),
    duration=12.5,
    stats=RunStats(
        items_ingested=34,
        items_filtered=21,
        items_ranked=21,
        drafts_created=5,
        stage_timing={Stage.INGEST: 9.1, Stage.FILTER: 0.4, Stage.RANK: 0.2, Stage.DRAFT: 2.8},
        items_new=34,
        items_considered=34,
        sources_fetched=6,
        items_declined={DeclineReason.NOTHING_TO_QUOTE: 3},
    ),
    error=None,
)
_SOURCE = Source(
    id=_SOURCE_ID,
    type="rss",
    name="SQLite news",
    url="https://sqlite.org/news.rss",
    config=SourceConfig(weight=2, tags=("sqlite",)),
    enabled=True,
    last_fetch=_AT,
    health=Health.HEALTHY,
    fail_count=0,
    last_error=None,
    created_at=_AT - timedelta(days=30),
    updated_at=_AT,
    item_count=118,
    named_by_user=True,
)
_FIGURES = EngagementFigures(
    posts=1,
    measured=1,
    interactions=12,
    interactions_per_post=12.0,
    with_interactions=1,
    engagement_rate=12 / 840,
    rated=1,
    likes=12,
    replies=None,
    reposts=None,
    impressions=840,
    clicks=None,
)
_RECORD = EngagementRecord(
    id="019a6a10-0c00-7f31-8a90-77c1d2e3f405",
    draft_id=EXAMPLE_ID,
    platform="linkedin",
    post_id="urn:li:share:7265",
    status=RecordStatus.POSTED,
    retry_count=0,
    retry_after=None,
    error_message=None,
    failed_at=None,
    likes=12,
    replies=None,
    reposts=None,
    impressions=840,
    clicks=None,
    engagement_rate=12 / 840,
    measured_at=_SLOT_AT,
    created_at=_SLOT_AT,
)
_VARIANTS = tuple(
    Variant(id=variant_id, label=label, config={"hashtags": count})
    for variant_id, label, count in [("a", "none", 0), ("b", "two", 2)]
)
_PLAN = ExperimentPlan(
    posts_per_variant=40,
    weeks=5.3,
    posts_per_week=15.0,
    needed=(
        LiftNeed(lift=1.25, posts_per_variant=149, weeks=19.9),
        LiftNeed(lift=1.33, posts_per_variant=79, weeks=10.5),
    ),
    based_on=64,
    sentence=(
        "40 reviewed drafts per variant, about 5 weeks at your 15 a week. Reviewed drafts per variant needed to detect"
        " 25% more: 149 (20 weeks); 33% more: 79 (11 weeks)."
    ),
)
_COMPARISONS = tuple(
    Comparison(number=number, posts=10 * number, threshold=threshold)
    for number, threshold in enumerate((0.00003, 0.0031, 0.0158, 0.0366), 1)
)
_RESULTS = ExperimentResults(
    parameter="hashtags",
    metric=MetricDefinition(Metric.ACCEPTANCE, "accepted without edits", "accepted or rejected", higher_is_better=True),
    strata=("SHORT:",),
    data_as_of=_AT,
    plan=_PLAN,
    comparisons=_COMPARISONS,
    comparison=LastComparison(number=1, of=4, posts=10, threshold=0.00003, p=0.36),
    arms=tuple(
        VariantResults(
            id=variant.id,
            name=variant.label,
            is_control=variant.id == "a",
            assigned=20,
            drafted=20,
            accepted=14,
            unedited=11,
            rejected=4,
            acceptance_rate=11 / 18,
            edit_distance=0.28,
            mean_edit_ratio=0.08,
            published=12,
            measured=12,
            too_young=0,
            no_metrics=0,
            impressions=9_400,
            interactions=188,
            rate_pooled=0.02,
            rate_median_post=0.019,
            interactions_per_post=188 / 12,
            estimate=Estimate(
                value=0.6,
                low=0.3,
                high=0.86,
                lift=lift,
                lift_low=min(3 * lift, 0.0),
                lift_high=8 * lift,
                p_best=0.5,
                expected_loss=0.1,
            ),
        )
        for variant, lift in zip(_VARIANTS, (0.0, 0.1), strict=True)
    ),
    between_post_cv=0.7,
    largest_post_share=0.14,
    warnings=(),
    verdict=Verdict(kind=VerdictKind.TOO_EARLY, next_comparison=20),
    sentence="No difference at comparison 1 of 4: 18 of 40 reviewed drafts per variant. The next comparison is at 20.",
)

_COMMENT: Final = Comment(
    id=EXAMPLE_ID, draft_id=EXAMPLE_ID, reviewer="anna", at=_AT, text="26, by now?", quote="25", start=13
)
_VALUES = (
    _CHECKS,
    DraftList(drafts=(_LISTED,), next_cursor=None),
    CreatedDrafts(
        mode=CreationMode.DIRECT,
        item_id=_ITEM_ID,
        drafts=(
            CreatedDraft(
                id=EXAMPLE_ID,
                text=_TEXT,
                format=Format.SHORT,
                status=Status.AWAITING_REVIEW,
                confidence=0.62,
                images=(),
                created_at=_AT,
            ),
        ),
    ),
    _LISTED,
    _APPROVED,
    PostResult(posted=("bluesky:me.example",), failed=(), draft=_POSTED),
    bulk_response(
        Action.APPROVE, [EXAMPLE_ID], [BulkFailure.from_error(_ITEM_ID, NotFoundError(f"No draft '{_ITEM_ID}'."))]
    ),
    NeedsYou(
        deliveries=(
            DeliveryQuestion(
                delivery=DeliveryReport(
                    id=_ITEM_ID,
                    draft_id=EXAMPLE_ID,
                    account="linkedin:Anna",
                    state=DeliveryState.NEEDS_USER,
                    says="Unknown whether it was posted. Check your profile.",
                    due_at=_SLOT_AT,
                    posts=(),
                    parts=1,
                    attempts=1,
                    retry_after=None,
                    sent_at=None,
                    gone_at=None,
                    situation=DeliverySituation.CANNOT_CHECK,
                    next_by=NextBy.USER,
                    in_doubt=True,
                ),
                text=_TEXT,
                known="Unknown whether it was posted.",
                account_id=EXAMPLE_ID,
                profile_url="https://www.linkedin.com/in/anna",
                answers=(DeliveryAnswer.POSTED, DeliveryAnswer.AGAIN, DeliveryAnswer.DROP),
            ),
        ),
        accounts=(
            AccountQuestion(
                platforms=("mastodon",),
                format=None,
                due=1,
                approved=3,
                draft_id=EXAMPLE_ID,
                text=_TEXT,
                known="No account for Mastodon is connected: 1 due draft and 3 approved drafts cannot be posted.",
                advice="Connect one: copydesk account connect mastodon.",
            ),
        ),
        approvals=(
            ApprovalQuestion(
                draft_id=EXAMPLE_ID,
                text=_TEXT,
                scheduled_at=_SLOT_AT,
                is_due=False,
                approved_by=("anna",),
                required=2,
                known="It is scheduled, and will wait for another approval: only anna approved this draft,"
                " and 2 have to.",
                advice=f"Another reviewer approves it, too: copydesk draft countersign {EXAMPLE_ID}",
            ),
        ),
    ),
    Slot(day_of_week=1, hour=9, minute=0),
    Conflicts(
        has_conflict=True,
        count=1,
        conflicts=(Conflict(id=EXAMPLE_ID, text=_TEXT, format=Format.SHORT, scheduled_at=_SLOT_AT, minutes=-12.0),),
    ),
    AutoSchedule(
        scheduled=(
            SlotAssignment(
                draft_id=EXAMPLE_ID, scheduled_at=_SLOT_AT, format=Format.SHORT, confidence=0.62, text=_TEXT
            ),
        ),
        skipped=1,
        reason="1 is not approved",
        bulk_id="019a5b30-77aa-7d10-8b0e-2c3d4e5f6071",
    ),
    QueuedRun(message="The run is queued.", status="queued", id=_RUN.id),
    RunList(runs=(_RUN,), next_cursor=None),
    RunStatistics(
        total_runs=31,
        success_rate=0.9,
        average_duration=11.2,
        average_items_per_run=28.4,
        average_drafts_per_run=4.6,
        top_errors=(ErrorCount(category="interrupted", count=2), ErrorCount(category="unreachable", count=1)),
        last30_days=PeriodTotals(runs=31, items=880, drafts=143),
        ended_runs=30,
    ),
    VoiceProfile(
        id="019a4f7f-0001-7000-8000-000000000001",
        style="Dry, concrete, first person.",
        avoid=("game changer",),
        formats={Format.SHORT: FormatVoice(hashtags=1, emoji=Emoji.NEVER)},
        created_at=_AT,
        updated_at=_AT,
    ),
    Rule(
        id=EXAMPLE_ID,
        kind=RuleKind.EXCLUDE,
        term="giveaway",
        reason="no giveaways please",
        draft_id=EXAMPLE_ID,
        enabled=True,
        created_at=_AT,
        updated_at=_AT,
    ),
    RuleSuggestion(kind=RuleKind.EXCLUDE, term="giveaway", reason="no giveaways please", draft_id=EXAMPLE_ID),
    Explanation(
        fate=ItemFate.WAITING,
        why="It waits at rank 14 of 120 stories. A run drafts 10.",
        item_id=EXAMPLE_ID,
        title="Oslo opens berths for electric ferries",
        source="The Lighthouse",
        state=ItemState.NEW,
        rank=14,
        of=120,
        score=0.41,
        without_interest=(InterestRank(interest="ferries", rank=61),),
    ),
    RankingProfile(
        interests=("electric ferries", "-giveaway"),
        include=(),
        exclude=("sponsored",),
        min_score=0.0,
        max_drafts=10,
        weights={
            "recency": 0.1,
            "interest": 0.28,
            "source": 0.12,
            "popularity": 0.14,
            "corroboration": 0.06,
            "novelty": 0.1,
            "preference": 0.3,
        },
        saved=("interests", "recency"),
    ),
    RankingPreview(
        days=30,
        items=2_140,
        drafted_now=298,
        drafted=300,
        gained=(),
        gained_count=14,
        lost=(),
        lost_count=12,
        top=20,
        hits_now=Hits(hits=41, of=60, low=0.56, high=0.79),
        hits=Hits(hits=47, of=60, low=0.66, high=0.87),
        hits_by_recency=Hits(hits=22, of=60, low=0.26, high=0.49),
    ),
    VoiceComparison(
        title="Oslo opens berths for electric ferries",
        item_id=EXAMPLE_ID,
        before=_TEXT,
        after=f"{_TEXT} #ferries",
    ),
    OwnPosts(posts=(_TEXT,)),
    ExampleSuggestion(draft_id=EXAMPLE_ID, format=Format.SHORT, text=_TEXT),
    ImportedPosts(found=2, added=1, examples=(_TEXT,)),
    LearningReset(since=_AT, reset_at=_AT),
    LearningReport(
        since=None,
        reset_at=None,
        approved=41,
        rejected=22,
        preference_share=63 / 113,
        confidence=ConfidenceReport(
            decisions=63,
            needed=20,
            known=True,
            base_rate=0.59,
            predicted=43,
            brier=0.198,
            brier_of_base_rate=0.241,
            bins=(ConfidenceBin(low=0.6, high=0.8, drafts=17, predicted=0.7, approved=12 / 17),),
        ),
    ),
    EngagementTrends(
        time_zone="Europe/Prague",
        metric=EngagementMetric.RATE,
        first=date(2026, 11, 17),
        last=date(2026, 11, 23),
        figures=_FIGURES,
        undated=0,
        before=PeriodFigures(first=date(2026, 11, 10), last=date(2026, 11, 16), figures=_FIGURES),
        step=Interval.DAY,
        over_time=(PeriodFigures(first=date(2026, 11, 17), last=date(2026, 11, 17), figures=_FIGURES),),
        by_platform=(PlatformFigures(platform="linkedin", figures=_FIGURES, not_reported=("clicks",)),),
        by_format=(FormatFigures(format=Format.SHORT, figures=_FIGURES),),
        hours=(HourLift(day_of_week=1, hour=9, posts=1, lift=0.0),),
        best_time=BestTime(posts=1, needed=40, sentence="No time stands out yet: 1 of 40 posts needed for a test."),
    ),
    PostList(
        posts=(
            LivePost(
                id=EXAMPLE_ID,
                draft_id=EXAMPLE_ID,
                text=_TEXT,
                format=Format.SHORT,
                platform="linkedin",
                account="",
                likes=12,
                replies=None,
                reposts=None,
                impressions=840,
                clicks=None,
                interactions=12,
                engagement_rate=12 / 840,
                published_at=_SLOT_AT,
                measured_at=_SLOT_AT,
                url="",
            ),
        ),
        next_cursor=None,
    ),
    _RECORD,
    EngagementSummary(
        total_posted=1,
        total_with_metrics=1,
        avg_engagement_rate=12 / 840,
        total_likes=12,
        total_replies=0,
        total_reposts=0,
        total_impressions=840,
        top_posts=(
            TopPost(
                draft_id=EXAMPLE_ID,
                draft_text=_TEXT,
                format=Format.SHORT,
                platform="linkedin",
                likes=12,
                replies=None,
                reposts=None,
                impressions=840,
                engagement_rate=12 / 840,
                posted_at=_SLOT_AT,
            ),
        ),
        by_format=(FormatEngagement(format=Format.SHORT, count=1, avg_engagement_rate=12 / 840, rated=1),),
        by_platform=(PlatformEngagement(platform="linkedin", count=1, avg_engagement_rate=12 / 840, rated=1),),
        rated=1,
        total_clicks=0,
    ),
    Experiment(
        id="019a5b40-5d5d-7e00-9f00-0123456789ab",
        name="Hashtags",
        parameter="hashtags",
        status=ExperimentStatus.ACTIVE,
        variants=_VARIANTS,
        results=to_json_value(_RESULTS),  # type: ignore[arg-type] # an object
        started_at=_AT,
        ended_at=None,
        created_at=_AT,
        plan=_PLAN,
    ),
    _PLAN,
    _SOURCE,
    Deleted(ok=True),
    FetchTest(ok=True, items=(FoundEntry(title="SQLite 25 years", url="https://sqlite.org/news.html"),)),
    StoredImage(url=f"copydesk:picture/{'9f86d081884c7d65' * 4}"),
    Event(
        id=42,
        type=EventType.DRAFT_CHANGED,
        timestamp=_AT,
        data={
            "draftId": EXAMPLE_ID,
            "version": 2,
            "by": "user",
            "kind": "change",
            "action": "approve",
            "statusBefore": "pending_review",
            "status": "approved",
            "bulkId": None,
        },
    ),
    _WEBHOOK,
    CreatedWebhook(**asdict(_WEBHOOK), secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),  # noqa: S106 - of the specification
    DeliveryList(
        deliveries=(
            WebhookDelivery(
                event_id=42,
                type=EventType.DELIVERY_ENDED,
                timestamp=_AT,
                attempts=1,
                attempted_at=_AT + timedelta(seconds=1),
                status=503,
                error="The server answered with status 503 (service unavailable).",
                next_attempt_at=_AT + timedelta(seconds=6),
                delivered_at=None,
            ),
        ),
        next_cursor=None,
    ),
    Writers(
        writers=(
            WriterInfo(
                name="gpt",
                position=1,
                endpoint=Endpoint(
                    name="gpt",
                    protocol=WireProtocol.OPENAI,
                    base_url="https://api.openai.com/v1",
                    model="gpt-5.2",
                    has_key=True,
                ),
                has_price=True,
                tested_at=_AT,
            ),
            WriterInfo(name="offline", position=2),
        ),
        spending=Spending(month="2026-11", requests=41, unpriced=0, cost=0.38),
        monthly_budget=5.0,
    ),
    ModelRequest(
        created_at=_AT,
        writer="gpt",
        protocol=WireProtocol.OPENAI,
        model="gpt-5.2",
        answered_by="gpt-5.2-2026-01-15",
        system="You write social media posts for one author. …",
        prompt="<<<Q5d1c SOURCE\nTitle: SQLite 25 years\n…\nQ5d1c SOURCE>>>",
        parameters={"structured": True, "max_tokens": 8000},
        finish_reason="stop",
        usage=Usage(input_tokens=1840, cached_tokens=512, output_tokens=310),
        cost=0.0067,
        seconds=6.2,
        report="SQLite was first released 25 years ago.",
        claims=(QuotedClaim(text="SQLite turns 25 this year.", source_quote="first released 25 years ago"),),
    ),
    DraftActivity(
        viewers=(Viewer(reviewer="anna", until=_AT),),
        editing=Viewer(reviewer="anna", until=_AT),
        unsaved=(
            UnsavedEdit(
                id=EXAMPLE_ID, draft_id=EXAMPLE_ID, reviewer="ben", at=_AT, version=2, text="SQLite turns 25 this"
            ),
        ),
        approvals=(Approval(reviewer="anna", at=_AT),),
    ),
    EditLease(id=EXAMPLE_ID, draft_id=EXAMPLE_ID, reviewer="anna", until=_AT, version=2),
    _COMMENT,
    CommentList(comments=(_COMMENT,)),
)
EXAMPLES: Final[Mapping[type, Any]] = {type(value): value for value in _VALUES}
"""A response of each type, or an element of one that is a list."""


def _problem(kind: ProblemType, detail: str, **members: Any) -> Problem:
    return Problem(type=kind.uri, title=kind.title, status=kind.status, detail=detail, **members)


PROBLEMS: Final[Mapping[int, Problem]] = {
    400: errors.bad_request("The body is not JSON: Input data was truncated.").problem,
    401: errors.unauthorized("This token is unknown, revoked or expired.", token_was_sent=True).problem,
    403: errors.insufficient_scope(Scope.DRAFT, Scope.REVIEW).problem,
    404: _problem(PROBLEM_TYPES["not-found"], f"No draft '{EXAMPLE_ID}'."),
    408: errors.request_timeout().problem,
    409: _problem(
        PROBLEM_TYPES["conflict"],
        "Cannot approve a draft with the status “posted”.",
        current_status=Status.POSTED.value,
        allowed_actions=(Action.ARCHIVE.value, Action.POST.value),
    ),
    412: _problem(PROBLEM_TYPES["stale-version"], "The draft changed in the meantime; nothing was saved."),
    413: errors.body_too_large(MAX_BODY).problem,
    415: errors.unsupported_media_type("application/json").problem,
    422: _problem(
        PROBLEM_TYPES["invalid"],
        "text: takes 1 to 50,000 characters, not 0",
        errors=(FieldProblem(field="text", message="takes 1 to 50,000 characters, not 0"),),
    ),
    429: errors.rate_limited(3, LIMIT).problem,
    500: errors.internal_error("0f3c9a52d1e84b7b").problem,
    503: errors.shutting_down().problem,
}
