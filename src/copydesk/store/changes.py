"""A change of a draft: a compare-and-set on the version that it was decided on, and the event that says so.

Whoever changes a draft does it here, the system too: what is not in the events cannot be undone, and what is undone
by them would be wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, TypeDecorator, bindparam, literal_column, select, text, update

from copydesk.errors import ConflictError, NoDraftError
from copydesk.model.change import LONGEST_ID
from copydesk.model.draft import Format, Status
from copydesk.model.history import USER, EventKind
from copydesk.model.transitions import allowed_actions
from copydesk.model.wire import Struct
from copydesk.store import events
from copydesk.store.events import Event, KeptEvent
from copydesk.store.parts import in_parts
from copydesk.store.statements import DIALECT, run, runner, text_of
from copydesk.store.tables import draft, engagement
from copydesk.store.types import microseconds, moment_of

SHORT: Final = (
    "status",
    "confidence",
    "feedback",
    "rejection_feedback",
    "scheduled_at",
    "scheduled_wall",
    "scheduled_zone",
    "posted_at",
    "post_id",
    "archived_at",
    "last_error",
)
LONG: Final = ("text", "checks", "sentences")
"""What a change of a draft may set."""


class Seen(Struct, frozen=True):
    """What a change is decided on."""

    id: str
    version: int
    status: Status
    format: Format
    archived: bool
    undo_rid: int | None
    """The event that an undo takes back."""
    redo_rid: int | None
    """The undo that a redo takes back."""
    stored: Mapping[str, Any]
    """The columns of SHORT, and of LONG where they were asked for, as the database keeps them."""

    def value(self, name: str) -> Any:
        """One of the columns as a value of the draft's own type."""
        return value_of(name, self.stored[name])


class Step(Struct, frozen=True):
    """A change that is decided."""

    kind: EventKind
    action: str
    after: Mapping[str, Any]
    """The columns that it sets, as the database keeps them; what stays as it is may be among them."""
    at: datetime
    who: str = USER
    feedback: str | None = None
    bulk_id: str | None = None
    of: KeptEvent | None = None
    """What an undo or a redo takes back."""


_ABOUT: Final = ("id", "version", "format", "undo_rid", "redo_rid")


@cache
def _seen_of(count: int, *, whole: bool) -> str:
    columns = [draft.c[name] for name in (*_ABOUT, *SHORT, *(LONG if whole else ()))]
    return text_of(select(*columns).where(draft.c.user_id == bindparam("owner"), draft.c.id.in_(_places(count))))


@cache
def _sent_of(count: int) -> str:
    kept = engagement.c
    these = (kept.user_id == bindparam("owner"), kept.draft_id.in_(_places(count)))
    sent = text("engagement.status IN ('pending', 'posted')")
    return text_of(select(kept.draft_id, kept.created_at, kept.platform).where(*these, sent))


def _places(count: int) -> list[BindParameter[str]]:
    return [bindparam(f"draft{place}") for place in range(count)]


def _these(user_id: str, ids: Sequence[str]) -> dict[str, str]:
    return {"owner": user_id, **{f"draft{place}": draft_id for place, draft_id in enumerate(ids)}}


def stored(values: Mapping[str, object]) -> dict[str, Any]:
    """Values of the draft's columns as the database keeps them."""
    return {name: None if value is None else _STORE[name](value) for name, value in values.items()}


def _storing(name: str) -> Callable[[Any], Any]:
    kind = draft.c[name].type
    return (lambda value: kind.process_bind_param(value, DIALECT)) if isinstance(kind, TypeDecorator) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


_STORE: Final = {name: _storing(name) for name in (*SHORT, *LONG)}


def value_of(name: str, raw: Any) -> Any:
    """The value of one of the draft's columns, out of what the database keeps."""
    kind = draft.c[name].type
    return kind.process_result_value(raw, DIALECT) if isinstance(kind, TypeDecorator) else raw


def seen(conn: Connection, user_id: str, ids: Sequence[str], *, whole: bool = False) -> dict[str, Seen]:
    """The user's drafts by their ids, as they are now; `whole` with their texts, which an edit needs."""
    names = (*SHORT, *LONG) if whole else SHORT
    found = {}
    for some in in_parts(ids):
        for row in run(conn, _seen_of(len(some), whole=whole), _these(user_id, some)):
            found[row[0]] = _seen(row, names)
    return found


def one_seen(conn: Connection, user_id: str, draft_id: str, *, whole: bool = False) -> Seen:
    """One of the user's drafts; NotFoundError where there is none with this id."""
    found = seen(conn, user_id, [draft_id], whole=whole).get(draft_id)
    if found is None:
        raise no_draft(draft_id)
    return found


def no_draft(draft_id: str) -> NoDraftError:
    """There is none of the user's with this id."""
    return NoDraftError(f"There is no draft {draft_id[:LONGEST_ID]!r}.", hint="`copydesk draft list` shows them all.")


def put(conn: Connection, user_id: str, seen: Seen, step: Step) -> int:
    """Carry out a change and write its event; the event's number.

    Raises ConflictError where the draft is no longer at the version that was seen, NotFoundError where it is gone;
    nothing is written then.
    """
    after = step.after if step.of else {name: to for name, to in step.after.items() if seen.stored[name] != to}
    execute, event = runner(conn), _event(seen, step, after)
    rid = events.next_number(execute)
    undo_rid, redo_rid = _next(event, rid)
    given = {
        "owner": user_id,
        "draft": seen.id,
        "seen_version": seen.version,
        "seen_status": seen.stored["status"],
        "at": microseconds(step.at),
        "to_undo": undo_rid,
        "to_redo": redo_rid,
        **{f"to_{name}": value for name, value in after.items()},
    }
    if execute(_update(tuple(after)), given).rowcount == 0:
        raise overtaken(one_seen(conn, user_id, seen.id))
    events.add(execute, user_id, rid, event)
    return rid


def _event(seen: Seen, step: Step, after: Mapping[str, Any]) -> Event:
    undo_rid, redo_rid = _beneath(seen, step)
    return Event(
        draft_id=seen.id,
        version=seen.version + 1,
        at=step.at,
        who=step.who,
        kind=step.kind,
        action=step.action,
        before={name: seen.stored[name] for name in after} if step.of is None else dict(step.of.after),
        after=after,
        feedback=step.feedback,
        bulk_id=step.bulk_id,
        of_rid=step.of.rid if step.of else None,
        undo_rid=undo_rid,
        redo_rid=redo_rid,
    )


def _beneath(seen: Seen, step: Step) -> tuple[int | None, int | None]:
    """What can be undone and redone once this step is taken back: the two stacks without it."""
    if step.kind is EventKind.CHANGE:
        return seen.undo_rid, None
    if step.kind is EventKind.FIXED or step.of is None:
        return None, None
    if step.kind is EventKind.UNDO:
        return step.of.undo_rid, seen.redo_rid
    return seen.undo_rid, step.of.redo_rid


def _next(event: Event, rid: int) -> tuple[int | None, int | None]:
    """What can be undone and redone after the event: the two stacks with it on one of them."""
    if event.kind in (EventKind.CHANGE, EventKind.REDO):
        return rid, event.redo_rid
    return event.undo_rid, rid if event.kind is EventKind.UNDO else None


def sent(conn: Connection, user_id: str, ids: Sequence[str]) -> dict[str, list[tuple[datetime, str]]]:
    """When, and to which platform, the drafts went or may have gone, by their ids."""
    found: dict[str, list[tuple[datetime, str]]] = {}
    for some in in_parts(ids):
        for draft_id, at, platform in run(conn, _sent_of(len(some)), _these(user_id, some)):
            found.setdefault(draft_id, []).append((moment_of(at), platform))
    return found


@cache
def _update(names: tuple[str, ...]) -> str:
    """The statement that sets these columns, as text: the values are the database's own, and stay as they are."""
    as_seen = (
        draft.c.id == bindparam("draft"),
        draft.c.user_id == bindparam("owner"),
        draft.c.version == bindparam("seen_version"),
        draft.c.status == bindparam("seen_status"),
    )
    values: dict[str, Any] = {name: bindparam(f"to_{name}") for name in names}
    values |= {"undo_rid": bindparam("to_undo"), "redo_rid": bindparam("to_redo"), "updated_at": bindparam("at")}
    query = update(draft).where(*as_seen).values(version=draft.c.version + literal_column("1"), **values)
    return text_of(query)


def overtaken(now: Seen) -> ConflictError:
    """Somebody else changed the draft after it was seen."""
    shown = "archived" if now.archived else now.status.value
    return ConflictError(
        f"This draft was changed meanwhile and is {shown} now; nothing was changed.",
        hint="Look at it again.",
        current_status=now.status,
        allowed=allowed_actions(now.status, archived=now.archived),
    )


_STATUS: Final = {each.value: each for each in Status}
_FORMAT: Final = {each.value: each for each in Format}


def _seen(row: Sequence[Any], names: Sequence[str]) -> Seen:
    draft_id, version, kind, undo_rid, redo_rid, *kept = row
    values = dict(zip(names, kept, strict=True))
    return Seen(
        id=draft_id,
        version=version,
        status=_STATUS[values["status"]],
        format=_FORMAT[kind],
        archived=values["archived_at"] is not None,
        undo_rid=undo_rid,
        redo_rid=redo_rid,
        stored=values,
    )
