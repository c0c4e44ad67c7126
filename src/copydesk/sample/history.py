"""The past of the sample desk: weekly slots, posts with metrics, experiments, decisions, an unknown outcome.

Posts to platforms without an account cannot be made through the desk, so they are stored as the desk would have stored
them. Everything else is done by the desk.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from copydesk.desk.assignments import claim_assignment, next_assignment
from copydesk.model.draft import MANUAL, TO_REVIEW, Draft, Format, Status
from copydesk.model.engagement import INTERACTION_METRICS, METRICS, EngagementRecord, RecordStatus
from copydesk.model.item import Entry, ItemState
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.serialization import Json, Struct
from copydesk.model.transitions import EventKind
from copydesk.sample import UNKNOWN_POST
from copydesk.store import drafts, engagement, items
from copydesk.store.database import Transaction, open_database
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import IdGenerator
from copydesk.store.items import NewItem
from copydesk.store.raw_sql import execute_sql
from copydesk.store.tables import DraftOrigin

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.sample.server import SampleClock


HASHTAGS: dict[str, Json] = {
    "name": "How many hashtags",
    "parameter": "hashtags",
    "metric": "engagement",
    "postsPerVariant": 10,
    "variants": [
        {"id": "a", "label": "without", "config": {"hashtags": 0}},
        {"id": "b", "label": "two", "config": {"hashtags": 2}},
    ],
}
"""An experiment that all old SHORT posts take part in, so that it has a verdict."""
LENGTH: dict[str, Json] = {
    "name": "Short or long",
    "parameter": "length",
    "postsPerVariant": 40,
    "variants": [
        {"id": "a", "label": "long", "config": {"length": 280}},
        {"id": "b", "label": "short", "config": {"length": 160}},
    ],
}
"""An experiment that has just started."""
WITH_HASHTAGS, HASHTAG_LINE = "b", "\n\n#publishing #opensource"
HASHTAG_EFFECT = 0.3
"""Share of the interactions that a post keeps with two hashtags: little enough for a verdict, however the posts happen
to be assigned."""
SLOTS = (
    *("mon 09:00", "tue 09:00", "wed 09:00", "thu 09:00", "fri 09:00"),
    *("mon 17:30", "wed 17:30", "thu 13:00", "fri 17:30", "sat 11:00", "sun 11:00"),
)
HISTORY_AGE, LENGTH_AGE = timedelta(days=46), timedelta(days=6)
MEASURED_AFTER = timedelta(hours=49)
"""Age of the posts at their metrics: old enough to be compared."""
DRAFTS, APPROVED, SCHEDULED = 22, 7, 6


class PastPost(Struct, frozen=True):
    """A published post and its metrics, None for those that its platform does not report; or a rejected draft."""

    platform: str
    days: int
    hour: int
    """How many days ago and at which hour (UTC) it was published."""
    text: str
    likes: int = 0
    replies: int = 0
    reposts: int = 0
    impressions: int | None = None
    clicks: int | None = None
    format: Format = Format.SHORT
    rejected: bool = False
    reason: str = ""
    """Why it was rejected."""


def load_posts() -> tuple[PastPost, ...]:
    """Return the posts, the oldest first."""
    content = files("copydesk.sample").joinpath("posts.json").read_bytes()
    return msgspec.json.decode(content, type=tuple[PastPost, ...])


async def add_history(desk: "Desk", clock: "SampleClock") -> None:
    """Give a new sample desk a past, or complete it after an interruption. `clock` is the one of the desk."""
    runs = (await desk.pipeline.list()).items
    if not runs:
        await _add_past(desk, clock)
    elif not await _has_experiment(desk, HASHTAGS):
        # Used by commands before: the user's own slots and drafts stay as they are.
        return
    # A run that did not succeed was interrupted by the end of an earlier start.
    if not any(run.status is RunStatus.SUCCEEDED for run in runs):
        await desk.pipeline.run(RunRequest(max_drafts=DRAFTS))
    await _decide(desk)


async def _add_past(desk: "Desk", clock: "SampleClock") -> None:
    """Add what is older than the first run: slots, posts and experiments."""
    await desk.schedule.set_slots([desk.schedule.parse_slot(slot) for slot in SLOTS])
    if not await desk.engagement.top_posts():
        with clock.set_back(HISTORY_AGE):
            await _create_missing(desk, HASHTAGS)
        await _write(desk, _insert_posts, clock())
    with clock.set_back(LENGTH_AGE):
        await _create_missing(desk, LENGTH)


async def _create_missing(desk: "Desk", experiment: dict[str, Json]) -> None:
    """Create the experiment, unless an earlier start that was interrupted has done so."""
    if not await _has_experiment(desk, experiment):
        await desk.experiments.create(experiment)


async def _has_experiment(desk: "Desk", experiment: dict[str, Json]) -> bool:
    return any(existing.parameter == experiment["parameter"] for existing in await desk.experiments.list())


async def _decide(desk: "Desk") -> None:
    """Approve and schedule the best drafts, and post one whose outcome stays unknown; repeat nothing done before."""
    scheduled, approved, pending = [
        [
            draft
            for draft in (await desk.drafts.list(status=status, limit=100)).items
            if draft.item.source_type != MANUAL
        ]
        for status in (Status.SCHEDULED, Status.APPROVED, Status.PENDING_REVIEW)
    ]
    best = pending[: max(APPROVED - len(scheduled) - len(approved), 0)]
    for draft in best:
        await desk.drafts.approve(draft.id)
    ids = [draft.id for draft in (*approved, *best)]
    if to_schedule := ids[: max(SCHEDULED - len(scheduled), 0)]:
        await desk.schedule.auto_schedule(to_schedule)
    texts = (await desk.drafts.list(source_type=MANUAL, limit=100)).items
    created = next((draft for draft in texts if draft.text == UNKNOWN_POST), None)
    survey = created or (await desk.drafts.create({"text": UNKNOWN_POST})).drafts[0]
    if survey.status in TO_REVIEW:
        await desk.drafts.approve(survey.id)
    await _write(desk, _end_undo, [survey.id, *ids, *(draft.id for draft in scheduled)])
    if survey.status in {*TO_REVIEW, Status.APPROVED}:
        # Last: the post shows that the desk is complete.
        await desk.posting.post(survey.id)


async def _write(desk: "Desk", work: Callable[..., int], *arguments: object) -> None:
    """Write to the desk's database, through a connection of its own beside the desk's."""
    database = open_database(desk.settings.database_file, busy_timeout=desk.settings.database.busy_timeout)
    try:
        await database.write(work, desk.user.id, *arguments)
    finally:
        await database.close()


def _end_undo(conn: Transaction, user_id: str, draft_ids: Sequence[str]) -> int:
    """Make the changes of the drafts permanent: the user made none of them, so an undo must not find them."""
    for draft_id in draft_ids:
        kinds = (EventKind.PERMANENT.value, user_id, EventKind.CHANGE.value, draft_id)
        execute_sql(conn, "UPDATE draft_event SET kind = ? WHERE user_id = ? AND kind = ? AND draft_id = ?", kinds)
        execute_sql(conn, "UPDATE draft SET undo_rid = NULL WHERE user_id = ? AND id = ?", (user_id, draft_id))
    return len(draft_ids)


def _insert_posts(conn: Transaction, user_id: str, now: datetime) -> int:
    """Insert the posts, in one transaction."""
    posts = load_posts()
    # Its own generator: the ids of the process never go back.
    new_id = IdGenerator()
    for post in posts:
        at = (now - timedelta(days=post.days)).replace(hour=post.hour, minute=0, second=0, microsecond=0)
        draft = _insert_draft(conn, user_id, post, at, new_id)
        if draft.posted_at is not None:
            record = _build_record(new_id(at), post, draft, at)
            engagement.add_record(conn, user_id, record, draft.format)
            metrics = {name: getattr(record, name) for name in METRICS}
            engagement.add_reading(conn, user_id, record.id, metrics, at + MEASURED_AFTER, by_hand=False)
    return len(posts)


def _insert_draft(
    conn: Transaction, user_id: str, post: PastPost, at: datetime, new_id: Callable[[datetime], str]
) -> Draft:
    """Insert the draft of the post with its item; let it take part in the active experiment."""
    drafted_at = at - timedelta(days=1)
    item_id = new_id(drafted_at)
    takes_part = post.format is Format.SHORT and not post.rejected
    assignment = next_assignment(conn, user_id, post.format) if takes_part else None
    variants = assignment.variants if assignment else ()
    draft = Draft(
        id=new_id(drafted_at),
        text=post.text + HASHTAG_LINE * any(variant.variant_id == WITH_HASHTAGS for variant in variants),
        format=post.format,
        status=Status.REJECTED if post.rejected else Status.POSTED,
        confidence=0.6,
        rejection_feedback=post.reason or None,
        posted_at=None if post.rejected else at,
        item_id=item_id,
        created_at=drafted_at,
        updated_at=at,
        writer="offline",
        variants=variants,
    )
    entry = Entry(ident=item_id, alias=item_id, title=post.text)
    item = NewItem(id=item_id, entry=entry, canonical="", published=drafted_at, state=ItemState.DRAFTED)
    items.add_user_item(conn, user_id, item)
    origin = DraftOrigin.PIPELINE
    drafts.add(conn, user_id, NewDraft(draft, source_id=None, source_type=None, story_id=item_id, origin=origin))
    if assignment is not None:
        claim_assignment(conn, user_id, assignment)
    return draft


def _build_record(record_id: str, post: PastPost, draft: Draft, at: datetime) -> EngagementRecord:
    """Return the record of the post on its platform; hashtags cost it a part of its interactions."""
    effect = HASHTAG_EFFECT if draft.text != post.text else 1.0
    metrics: dict[str, Any] = {name: getattr(post, name) for name in METRICS}
    metrics |= {name: round(metrics[name] * effect) for name in INTERACTION_METRICS if metrics[name] is not None}
    return EngagementRecord(
        id=record_id,
        draft_id=draft.id,
        platform=post.platform,
        post_id=None,
        status=RecordStatus.POSTED,
        retry_count=0,
        retry_after=None,
        error_message=None,
        failed_at=None,
        engagement_rate=None,
        measured_at=at + MEASURED_AFTER,
        created_at=at,
        account="you",
        **metrics,
    )
