"""Drafts: create, review, undo, list, search, history."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Annotated, TypeVar, Unpack

from msgspec import Meta

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.activity import Activity, Comments
from copydesk.desk.drafts.check_draft import check_text, text_limits
from copydesk.desk.drafts.create import DraftCreation
from copydesk.desk.drafts.history_text import DraftHistory
from copydesk.desk.drafts.interrupted import InterruptedBulks
from copydesk.desk.drafts.review import Review
from copydesk.desk.drafts.undo import IsCancelled, OnProgress, UndoRedo, load_history_position, load_next_undo
from copydesk.desk.drafts.versions import Difference, Versions
from copydesk.desk.drafts.views import ID_PAGE_SIZE, DraftViews
from copydesk.desk.images.service import DraftImages
from copydesk.desk.operation import operation
from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.decision_stats import DecisionStats
from copydesk.model.delivery import PostResult
from copydesk.model.draft import TO_REVIEW, Action, Checks, Draft, Format, ListedDraft
from copydesk.model.filters import (
    DraftCounts,
    FilterParams,
    parse_query,
    validate_filters,
)
from copydesk.model.item import Item
from copydesk.model.page import Page, PageSize, decode_cursor, encode_cursor
from copydesk.model.requests import (
    MAX_TEXT_LENGTH,
    BulkChange,
    BulkOutcome,
    ChangeDraft,
    CreatedDrafts,
    CreateDraft,
    validate_change,
)
from copydesk.model.targets import TextLimit
from copydesk.model.transitions import DraftEvent, HistoryPosition, InterruptedBulk, NextUndo, UndoResult
from copydesk.scheduling.time_text import parse_time
from copydesk.scheduling.wall_time import instant_of_wall
from copydesk.store import (
    decisions,
    draft_events,
    draft_queries,
    drafts,
    items,
    schedule,
    search,
)
from copydesk.store.draft_queries import DraftPage

if TYPE_CHECKING:
    from copydesk.desk.publishing.service import Posting


D = TypeVar("D")
AnyText = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]
"""A text that is being typed: it may still be empty."""
MAX_DECISION_TIME = 600.0
"""Seconds; who takes longer was not looking at the draft all the time."""
UNDO_WINDOW = timedelta(minutes=10)
"""A decision that is undone within this time was a mistake."""


class Drafts:
    """The drafts of one desk. Each change is stored in the draft's history and can be undone."""

    def __init__(self, ctx: DeskContext, review: Review, posting: "Callable[[], Posting]") -> None:
        self._ctx = ctx
        self._posting = posting
        self._creation = DraftCreation(ctx)
        self._review = review
        self._undo_redo = UndoRedo(ctx)
        self._interrupted_bulks = InterruptedBulks(ctx, review, self._undo_redo)
        self._versions = Versions(ctx)
        self.views = DraftViews(ctx)
        """Pages of the review tabs around a cursor."""
        self.images = DraftImages(ctx)
        """The drafts' images."""
        self.activity = Activity(ctx)
        """Presence and edits of several reviewers."""
        self.comments = Comments(ctx)
        """Comments on drafts, or on words of them."""

    @operation
    async def create(self, request: CreateDraft | Mapping[str, object], *, token_name: str = "") -> CreatedDrafts:
        """Create drafts with their item, images, tags and checks; in direct mode one, from the text as it stands.

        In generate mode one draft per format is created, still without text; `desk.generation` writes them, in this
        process or another. `token_name` is the API token of the agent that proposes them; "" if a person creates them.
        Raise InvalidError that names every invalid field.
        """
        return await self._creation.create(request, token_name)

    @operation
    async def change(
        self,
        draft_id: str,
        request: ChangeDraft | Mapping[str, object],
        *,
        expected_version: int | None = None,
        decided_in: float | None = None,
    ) -> Draft | PostResult:
        """Apply an edit, an action, or an edit followed by an action as one change; return the draft after it.

        The action post returns its result, as `desk.posting.post` does.

        `expected_version` is the version that the caller displayed; if the draft has another one by now, nothing is
        written and StaleVersionError is raised. Raise InvalidError, NotFoundError, or ConflictError with the current
        status and the actions it allows.

        `decided_in` is how many seconds the decision took from showing the draft. It is stored for `decision_stats`,
        without which draft it was, unless it is negative, longer than MAX_DECISION_TIME, because the user was
        elsewhere, or the setting `console.record_decision_times` is off.
        """
        now = self._ctx.clock()
        change = validate_change(request, now)
        if change.action is Action.POST:
            platforms = change.platforms or ()
            return await self._posting().post(draft_id, platforms, text=change.text, expected_version=expected_version)
        is_recorded = self._ctx.settings.console.record_decision_times
        if decided_in is not None and not (is_recorded and 0 <= decided_in <= MAX_DECISION_TIME):
            decided_in = None
        return await self._review.apply(draft_id, change, now, expected_version=expected_version, decided_in=decided_in)

    @operation
    async def edit(self, draft_id: str, text: str, *, expected_version: int | None = None) -> Draft:
        """Replace the text of a draft and run its checks again."""
        return await self._review.change(draft_id, ChangeDraft(text=text), expected_version=expected_version)

    @operation
    async def check(
        self, text: AnyText, *, draft_id: str = "", format: Format = Format.SHORT, platforms: Sequence[str] = ()
    ) -> Checks:
        """Return the checks and claims of a text as if it were the draft's, or a new one's; nothing is stored.

        The format and the platforms are the draft's if there is one. Raise NotFoundError if there is no such draft.
        """
        draft = await self.get(draft_id) if draft_id else None
        return await check_text(self._ctx, text, draft, format, platforms)

    @operation
    async def text_limits(self, draft_id: str) -> tuple[TextLimit, ...]:
        """Return how long each post of the draft may be on the platforms that it goes to, as the checks count it.

        The tightest limit first; none for a BLOG. Raise NotFoundError if there is no such draft.
        """
        return await text_limits(self._ctx, await self.get(draft_id))

    @operation
    async def approve(self, draft_id: str) -> Draft:
        """Approve a draft, so that it can be scheduled or posted."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.APPROVE))

    @operation
    async def reject(self, draft_id: str, feedback: str | None = None) -> Draft:
        return await self._review.change(draft_id, ChangeDraft(action=Action.REJECT, feedback=feedback))

    @operation
    async def unapprove(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Withdraw an approval; `feedback` says what should change."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback))

    @operation
    async def regenerate(self, draft_id: str, feedback: str | None = None) -> Draft:
        """Request a new version of the text."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.REGENERATE, feedback=feedback))

    @operation
    async def archive(self, draft_id: str) -> Draft:
        """Archive a draft. Undo restores it."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.ARCHIVE))

    @operation
    async def schedule(self, draft_id: str, at: datetime | None = None, *, smart: bool = False) -> Draft:
        """Schedule a draft at `at`. Without `at` or with `smart`, use the next free slot, not before `at`."""
        request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=smart)
        return await self._review.change(draft_id, request)

    @operation
    async def reschedule(self, draft_id: str, at: datetime) -> Draft:
        """Move a scheduled draft to another time."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at))

    @operation
    async def cancel_schedule(self, draft_id: str) -> Draft:
        """Remove the time of a scheduled draft."""
        return await self._review.change(draft_id, ChangeDraft(action=Action.CANCEL_SCHEDULE))

    @operation
    async def bulk(self, request: BulkChange | Mapping[str, object]) -> BulkOutcome:
        """Apply one action to 1 to 100 drafts; return the outcome of each, in request order.

        Each draft succeeds or fails as a whole; all are undone as one. Raise InvalidError, or StoreError if nothing was
        changed.
        """
        return await self._review.bulk(request)

    @operation
    async def bulk_all(
        self,
        action: Action,
        ids: Sequence[str],
        request: ChangeDraft | Mapping[str, object] | None = None,
        *,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Apply an action to any number of drafts, in batches of 100 that are undone as one.

        `request` holds the action's parameters. `on_progress` is called after each batch with the number of drafts
        processed; when `is_cancelled` returns True no further batch is started, and the outcome covers only the drafts
        that were tried. Completed batches stay if the database fails later; no further batch is started then, and
        `stopped_by` is the error. Raise InvalidError, or StoreError if nothing was changed.
        """
        return await self._review.bulk_all(action, ids, request, on_progress=on_progress, is_cancelled=is_cancelled)

    @operation
    async def schedule_all_at(
        self,
        ids: Sequence[str],
        at: datetime,
        *,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> BulkOutcome:
        """Schedule approved drafts at `at`, and move scheduled and missed ones there; undone as one.

        Arguments and errors are those of `bulk_all`.
        """
        return await self._review.schedule_all_at(ids, at, on_progress=on_progress, is_cancelled=is_cancelled)

    @operation
    async def undo(
        self,
        draft_id: str | None = None,
        *,
        expected_version: int | None = None,
        skip: Collection[int] = (),
        on_progress: OnProgress = lambda *_: None,
        is_cancelled: IsCancelled = lambda: False,
    ) -> UndoResult:
        """Undo the last change of a draft, or without an id the user's last change, a bulk as one.

        `expected_version` is the version of that draft that the caller displayed; raise StaleVersionError for another.

        Drafts of a bulk that were changed since are left alone and reported; those undone individually are skipped. A
        bulk is processed in batches of 100: `on_progress` is called after each of them with the number of drafts
        processed and of all, and no further one is started once `is_cancelled` returns True. Raise NotFoundError, or
        ConflictError with the reason. If the user's last change, or every draft of a bulk, cannot be undone, raise
        UndoNotAllowedError; pass its `change_id` in `skip` to undo the change before it.
        """
        return await self._undo_redo.undo(
            draft_id, expected_version=expected_version, skip=skip, on_progress=on_progress, is_cancelled=is_cancelled
        )

    @operation
    async def redo(
        self,
        draft_id: str | None = None,
        *,
        on_progress: OnProgress = lambda *_: None,
        is_cancelled: IsCancelled = lambda: False,
    ) -> UndoResult:
        """Redo the last undone change of a draft or of the user. Raise as `undo` does, and after another change."""
        return await self._undo_redo.redo(draft_id, on_progress=on_progress, is_cancelled=is_cancelled)

    @operation
    async def restore(
        self,
        draft_ids: Sequence[str],
        *,
        on_progress: OnProgress = lambda *_: None,
        is_cancelled: IsCancelled = lambda: False,
    ) -> UndoResult:
        """Restore archived drafts: undo their archiving, whatever else happened since, as one that can be redone.

        Drafts that are not archived, or that a newer version replaced, are reported as failed. Reports progress and
        stops as `undo` does.
        """
        return await self._undo_redo.restore(draft_ids, on_progress=on_progress, is_cancelled=is_cancelled)

    @operation
    async def history_position(self, *, skip: Collection[int] = ()) -> HistoryPosition:
        """Return the events that `undo` with this `skip`, and `redo`, would revert next."""
        return await self._ctx.read(load_history_position, frozenset(skip))

    @operation
    async def next_undo(self, *, skip: Collection[int] = ()) -> NextUndo:
        """Return what `undo` with this `skip`, and without an id, would undo now."""
        return await self._ctx.read(load_next_undo, frozenset(skip))

    @operation
    async def held_reasons(self) -> tuple[str, ...]:
        """Return why drafts are held after their approval, one reason per draft, newest first."""
        return await self._ctx.read(drafts.list_held_reasons)

    @operation
    async def interrupted_bulks(self) -> tuple[InterruptedBulk, ...]:
        """Return the bulk actions of which some drafts were not reached, because their process was killed."""
        return await self._interrupted_bulks.list()

    @operation
    async def resume_bulk(self, bulk_id: str) -> BulkOutcome:
        """Finish an interrupted bulk action; return the outcome of the rest of its drafts.

        Drafts that were changed since it began are left alone and reported. All of its drafts are undone as one. Raise
        ConflictError if it is complete or still running, InvalidError if its time has passed.
        """
        return await self._interrupted_bulks.resume(bulk_id)

    @operation
    async def undo_bulk(self, bulk_id: str) -> BulkOutcome:
        """Undo what an interrupted bulk action changed; return the outcome of these drafts. Raise ConflictError."""
        return await self._interrupted_bulks.undo(bulk_id)

    @operation
    async def keep_bulk(self, bulk_id: str) -> None:
        """Leave an interrupted bulk action as it is, and list it no longer. Raise ConflictError."""
        await self._interrupted_bulks.keep(bulk_id)

    @operation
    async def list(
        self, *, limit: PageSize = 25, cursor: str | None = None, **params: Unpack[FilterParams]
    ) -> Page[ListedDraft]:
        """Return a page of drafts, newest first.

        Raise InvalidError that names every invalid filter, for a limit outside 1 to 100, and for a cursor of another
        list.
        """
        filters = validate_filters(params, SOURCE_TYPES)
        items, next_cursor = await self._load_page("drafts", draft_queries.list_page, limit, cursor, filters)
        return Page(items=items, next_cursor=next_cursor)

    @operation
    async def list_json(
        self, *, limit: PageSize = 25, cursor: str | None = None, **params: Unpack[FilterParams]
    ) -> tuple[bytes, str | None]:
        """Return the drafts of the page that `list` returns as a JSON array, and the cursor of the next page.

        For the HTTP service: no drafts are made of the rows, which takes half the time. Raise as `list` does.
        """
        filters = validate_filters(params, SOURCE_TYPES)
        return await self._load_page("drafts", draft_queries.list_page_json, limit, cursor, filters)

    @operation
    async def search(
        self,
        query: str,
        *,
        half_typed: bool = False,
        limit: PageSize = 25,
        cursor: str | None = None,
        **params: Unpack[FilterParams],
    ) -> Page[ListedDraft]:
        """Return a page of drafts with the words of `query` in text, item title, tags or source name, newest first.

        The query syntax is described in `copydesk.model.filters`; with `half_typed` the last word may be a prefix.
        Raise InvalidError for a query without a word, and as `list` does.
        """
        parsed, filters = parse_query(query, incomplete=half_typed), validate_filters(params, SOURCE_TYPES)
        items, next_cursor = await self._load_page("search", search.find_page, limit, cursor, parsed, filters)
        return Page(items=items, next_cursor=next_cursor)

    @operation
    async def matching_ids(self, **filter_params: Unpack[FilterParams]) -> tuple[str, ...]:
        """Return the ids of all drafts that match the filters, newest first. Raise as `list` does."""
        filters = validate_filters(filter_params, SOURCE_TYPES)
        ids: list[str] = []
        while True:
            before = ids[-1] if ids else None
            page = await self._ctx.read(draft_queries.list_ids, filters, limit=ID_PAGE_SIZE, before=before)
            ids += page
            if len(page) < ID_PAGE_SIZE:
                return tuple(ids)

    @operation
    async def parse_time(self, text: str, *, field: str) -> datetime:
        """Parse a time for a filter, in the user's time zone: ISO 8601, a date, or a phrase such as "fri 9".

        It may be in the past. A date alone is its start. Raise InvalidError naming `field` for anything else.
        """
        zone = await self._ctx.read(schedule.get_time_zone)
        try:
            parsed = datetime.fromisoformat(text.strip())
        except ValueError:
            # Not ISO 8601: parse it as a phrase.
            return parse_time(text, zone, self._ctx.clock(), field=field, allow_past=True).at
        try:
            return instant_of_wall(parsed, zone) if parsed.tzinfo is None else parsed.astimezone(UTC)
        except OverflowError:
            raise InvalidError(FieldError(field, "is outside the supported date range")) from None

    @operation
    async def queue(self, limit: int = 100) -> tuple[ListedDraft, ...]:
        """Return the drafts waiting for review, best first."""
        return await self._ctx.read(draft_queries.list_best, TO_REVIEW, limit)

    @operation
    async def counts(self) -> DraftCounts:
        """Return the number of drafts in each status, and of archived ones."""
        return await self._ctx.read(drafts.count_by_status)

    @operation
    async def get(self, draft_id: str) -> ListedDraft:
        """Return one draft. Raise NotFoundError if the user has none with this id."""
        return await self._ctx.read(draft_queries.load, draft_id)

    @operation
    async def item(self, item_id: str) -> Item:
        """Return the source item of a draft. Raise NotFoundError if the user has none with this id."""
        item = await self._ctx.read(items.get, item_id)
        if item is None:
            raise NotFoundError(f"No item {item_id!r}.")
        return item

    @operation
    async def decision_stats(self) -> DecisionStats:
        """Return how fast the user decides, and how often decisions are undone soon after."""
        seconds = await self._ctx.read(decisions.list_seconds)
        decided, undone = await self._ctx.read(decisions.count_undone, UNDO_WINDOW)
        return DecisionStats(
            timed=len(seconds), median_seconds=median(seconds) if seconds else None, decided=decided, undone=undone
        )

    @operation
    async def rejection_reasons(self, limit: int = 9) -> tuple[str, ...]:
        """Return the distinct feedback texts of the latest rejections, newest first, at most `limit`."""
        return await self._ctx.read(draft_events.list_feedback, Action.REJECT.value, limit)

    @operation
    async def history(self, draft_id: str) -> tuple[DraftEvent, ...]:
        """Return every event of a draft in order. Raise NotFoundError if the user has none with this id."""
        return await self._versions.list_events(draft_id)

    @operation
    async def describe_history(self, draft_id: str) -> DraftHistory:
        """Return the history of a draft in words. Raise NotFoundError."""
        return await self._versions.describe(draft_id)

    @operation
    async def list_versions(self, draft_id: str) -> tuple[ListedDraft, ...]:
        """Return all versions of a draft, oldest first, given the id of any of them. Raise NotFoundError."""
        return await self._versions.list(draft_id)

    @operation
    async def compare(self, old_id: str, new_id: str) -> Difference:
        """Return the differences between two drafts, usually versions of the same one. Raise NotFoundError."""
        return await self._versions.compare(old_id, new_id)

    @operation
    async def compare_edit(self, draft_id: str) -> Difference:
        """Return the differences between the text as it was written and as the user has edited it.

        Raise NotFoundError, and ConflictError if it is as it was written.
        """
        return await self._versions.compare_edit(draft_id)

    async def _load_page(
        self, name: str, query: Callable[..., DraftPage[D]], limit: int, cursor: str | None, *parameters: object
    ) -> tuple[D, str | None]:
        """Return the drafts of a page of the list `name` with its query, and the cursor of the next page.

        Cursors of another list are refused.
        """
        scope = (name, self._ctx.user_id, *parameters)
        before = decode_cursor(cursor, *scope) if cursor is not None else None
        found = await self._ctx.read(query, *parameters, limit=limit, before=before)
        next_cursor = encode_cursor(found.position, *scope) if found.position is not None else None
        return found.drafts, next_cursor
