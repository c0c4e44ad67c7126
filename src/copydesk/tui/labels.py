"""Every text a user sees in the console."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from copydesk.model.draft import (
    CLAIM_LABELS,
    MANUAL,
    STATUS_LABELS,
    TO_REVIEW,
    Action,
    ClaimVerdict,
    Field,
    Format,
    Severity,
    Status,
)
from copydesk.model.transitions import ACTIONS, COUNTERSIGN, EDIT, EventKind
from copydesk.text import clean
from copydesk.text.formatting import (
    describe_confidence,
    describe_growth,
    format_count,
    format_duration,
    format_minutes_until,
    format_relative,
    plural,
)
from copydesk.tui.keys import key_label

if TYPE_CHECKING:
    from copydesk.model.confidence import DecisionProgress
    from copydesk.model.decision_stats import DecisionStats
    from copydesk.model.draft import Draft
    from copydesk.model.engagement import EngagementMetric, Interval, PeriodFigures
    from copydesk.model.experiment import ExperimentPlan, ExperimentStatus, LiftNeed, Metric
    from copydesk.model.run import RunStatus
    from copydesk.model.writer import ModelRequest, Spending, WriterInfo, WriterTest


class Badge(NamedTuple):
    """A letter and a colour: always together, so that each is sufficient alone."""

    letter: str
    role: str
    text: str


# A letter means the same in all lists: `test_letters_have_one_meaning`.
# Labels of what the first paint does not show have the values of their enums as keys: importing those would delay it.
STATUS = {
    Status.PENDING_GENERATION: Badge("G", "dim", STATUS_LABELS[Status.PENDING_GENERATION]),
    Status.GENERATION_FAILED: Badge("F", "bad", STATUS_LABELS[Status.GENERATION_FAILED]),
    Status.PENDING_REVIEW: Badge("N", "accent", STATUS_LABELS[Status.PENDING_REVIEW]),
    Status.AWAITING_REVIEW: Badge("L", "accent", STATUS_LABELS[Status.AWAITING_REVIEW]),
    Status.CHANGES_REQUESTED: Badge("C", "warn", STATUS_LABELS[Status.CHANGES_REQUESTED]),
    Status.PENDING_REGENERATION: Badge("G", "dim", STATUS_LABELS[Status.PENDING_REGENERATION]),
    Status.APPROVED: Badge("A", "good", STATUS_LABELS[Status.APPROVED]),
    Status.REJECTED: Badge("R", "dim", STATUS_LABELS[Status.REJECTED]),
    Status.SCHEDULED: Badge("S", "good", STATUS_LABELS[Status.SCHEDULED]),
    Status.POSTING: Badge("O", "warn", STATUS_LABELS[Status.POSTING]),
    Status.MISSED: Badge("M", "bad", STATUS_LABELS[Status.MISSED]),
    Status.POSTED: Badge("P", "dim", STATUS_LABELS[Status.POSTED]),
}
ARCHIVED = Badge("X", "dim", "archived")
"""The state of an archived draft, whatever its status."""
SEVERITY = {
    Severity.ERROR: Badge("!", "bad", "failed check"),
    Severity.WARNING: Badge("~", "warn", "check warning"),
    Severity.INFO: Badge("i", "dim", "note"),
}
"""The result of a check, in its line; errors and warnings also in the row of the queue."""
CLAIM = {
    ClaimVerdict.SUPPORTED: Badge("=", "good", CLAIM_LABELS[ClaimVerdict.SUPPORTED]),
    ClaimVerdict.CONTRADICTS: Badge("!", "bad", CLAIM_LABELS[ClaimVerdict.CONTRADICTS]),
    ClaimVerdict.CANNOT_TELL: Badge("?", "warn", CLAIM_LABELS[ClaimVerdict.CANNOT_TELL]),
}
"""The verdict on a sentence of a draft, beside its source."""
FORMAT = {
    Format.SHORT: Badge("s", "dim", "short post"),
    Format.THREAD: Badge("t", "dim", "thread"),
    Format.BLOG: Badge("b", "dim", "blog post"),
}

FORMAT_NAMES = {Format.SHORT: "short", Format.THREAD: "thread", Format.BLOG: "blog"}


def legend(badges: Iterable[Badge]) -> list[tuple[str, str]]:
    """Return the letters of these badges with their meaning, each once, for the title of the list that shows them."""
    return [(letter, meaning) for letter, _, meaning in dict.fromkeys(badges)]


def failing_check(rule: str) -> str:
    """Return the name of a check in a row of the queue."""
    return rule.replace("-", " ")


ARRIVING = "Writing… "
"""Before the end of a text that is being written, in a row of the queue."""


def text_length(characters: int) -> str:
    """Return the length of a text in a row of the queue."""
    return f"{characters:,}c"


def status_badge(draft: "Draft") -> Badge:
    """Return the badge of a draft's state."""
    return ARCHIVED if draft.archived_at is not None else STATUS[draft.status]


MANUAL_SOURCE = "No source"
# Not strftime's names, which depend on the machine's locale.
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAY_RANGE = 7
"""Days within which a weekday identifies a date."""


def format_day(day: date) -> str:
    """Format a date as `Mon 23 Mar`."""
    return f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def format_time(at: datetime, zone: tzinfo, now: datetime) -> str:
    """Format `at` in at most nine characters: `14:30`, `Mon 14:30` within a week, `12 Feb`, `Feb 2027`."""
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    days = abs((local.date() - today).days)
    if days < WEEKDAY_RANGE:
        return f"{DAYS[local.weekday()]} {local:%H:%M}" if days else f"{local:%H:%M}"
    month = MONTHS[local.month - 1]
    return f"{local.day} {month}" if local.year == today.year else f"{month} {local.year}"


def format_date_time(at: datetime, now: datetime) -> str:
    """Format `at` in the time zone of `now` as `Mon 23 Mar 14:30`, with the year if that is not the current one."""
    local = at.astimezone(now.tzinfo)
    year = f" {local.year}" if local.year != now.year else ""
    return f"{format_day(local.date())}{year} {local:%H:%M}"


def source_type_label(name: str) -> str:
    """Return the label of the source type `name`, or of MANUAL."""
    from copydesk.desk.catalog import get_source_type  # noqa: PLC0415 - the first paint does without the desk

    return MANUAL_SOURCE if name == MANUAL else get_source_type(name).label


# App, header, palette and dialogs

APP_NAME = "Copydesk"
APP_TOO_SMALL = "Copydesk needs 40 columns and 10 lines."
CLOCK_DOUBT = "Clock jumped: posting is paused", "posting paused"
"""At the right of the top line, while posting waits for the clock to be accepted: long and short."""
BACK = "back"
CANCEL = "cancel"
CANCELLED_WHILE_SAVING = "Cancelled. Anything saved by then is shown on the screen."
CHANGE_THEME = "Change theme"
SHELL_COMMANDS = {
    "backup": "back up the database",
    "restore": "replace the database with a backup",
    "token": "create, list and revoke API tokens",
    "webhook": "send events to other servers",
    "user": "list, add and remove users of the desk",
    "reviewer": "show and change the roles of reviewers",
    "serve": "serve every operation over HTTP, as a REST API",
    "mcp": "offer the operations as tools to an agent",
    "daemon": "run scheduled jobs without the console",
    "migrate": "copy the desk to PostgreSQL, or back to a file",
    "prune": "delete old data now",
}
"""What the console has no key for, by the command that does it."""
CLEAR_FILTER = "clear search and filter"
NARROW_PLACEHOLDER = "words to look for"
NO_MATCH = "Nothing matches"
OPTIONAL = "(optional)"
"""After the placeholder of a field that may stay empty."""
CONFIRM = "confirm"
REMOVE = "remove"
THEME_NAME_INVALID = "the file's name has lower-case letters, digits, - and _ only, at most 40"
THEME_NAME_TAKEN = "there is already a theme with this name"
THEME_DARK_INVALID = "dark is true or false"
DESK_NOT_OPEN = "The desk is still opening. Try again in a moment."
DESK_NOT_OPENED = "Could not open the desk."
DESK_NOT_READABLE = "Could not load from the desk."
DISCARD_NO = "keep editing"
DISCARD_QUESTION = "Discard your changes?"
DISCARD_YES = "discard"
DRAFT_DELETED = "This draft was deleted with its source."
EMPTY_MATCHES = "No matching drafts in this tab"
EMPTY_QUEUE = "Nothing to review"
NO_DRAFT = "There is no draft in this list"
EMPTY_SOURCES = "No sources yet"
EMPTY_SOURCES_HINT = "Copydesk writes drafts from your sources. Add one first:"
EXIT_SAVING = "Saving your changes…"
FIRST_STEPS = {
    "console.sources": "Go to Sources",
    "sources.new": "there: add a source by its URL",
    "sources.example_a": "there: add an example source",
    "sources.run": "Run the pipeline: fetch the source and write the first drafts",
}
"""Shown in an empty review queue, by the action whose key does it."""
LOADING = "Loading…"
CREATING_SAMPLE = "Creating the sample desk (first time only)…"
SAMPLE_NOTICE = "Sample desk, all fictional. Your own: `copydesk try URL`"
LOG_TITLE = "Log"
PALETTE_SOURCE = "source"
PASSPHRASE_FIELD = "passphrase"
PASSPHRASE_JOBS_HINT = (
    "Due posts, metrics and webhooks need it now. If you cancel, they wait until you post or test an account."
)
PASSPHRASE_LOCKED = "Your account credentials are locked. The passphrase prompt opens when you close this."
PASSPHRASE_MISMATCH = "does not match"
PASSPHRASE_NEW_HINT = "The passphrase is not stored. Without it, you have to connect your accounts again."
PASSPHRASE_NEW_TITLE = "New passphrase for your account credentials"
PASSPHRASE_REPEAT_FIELD = "repeat"
PASSPHRASE_TITLE = "Passphrase for your account credentials"
QUIT = "quit"
RETRIED_AUTOMATICALLY = "Copydesk also retries automatically."
RETRY = "retry"
RUN_CANCELLED = "Run cancelled. Fetched items and finished drafts are kept."
RUN_CANCELLING = "Cancelling…"
RUN_ENDED_WITH_ERROR = "Run failed. Details are in the log."
RUN_PIPELINE = "run the pipeline: fetch sources and write drafts"
RUN_PROGRESS_CANCELLING = "cancelling run…"
RUN_PROGRESS_STARTING = "starting run…"
RUN_WITHOUT_SOURCES = "No sources to fetch."
SAVE = "save"
"""The word of the keys that save, in forms without another one."""
SAVING = "Saving…"
SEPARATOR = " · "
SHORT_SCREEN_NAMES = {
    "review": "Review",
    "schedule": "Sched.",
    "sources": "Sources",
    "experiments": "Exper.",
    "engagement": "Engag.",
    "setup": "Setup",
}
"""The screens in a top line that is too short for their names."""
SWITCH_TAB = "switch tab"
ZONE_PROMPT = "Time zone"
ZONE_EXAMPLES = "Europe/Prague", "America/New_York"
ZONE_CHANGE_NOTE = "Scheduled posts keep their exact time: 09:00 here may be 10:00 in the new zone."


def autosave_failed(reason: str, action_id: str) -> str:
    return f"Autosave failed: {reason}. {key_label(action_id)} saves now."


def autosave_not_deleted(reason: str) -> str:
    return f"Autosave not deleted: {reason}. Its text is offered again."


def browser_missing(url: str) -> str:
    return f"No browser found. Open {url}"


def close_hint(title: str, action_id: str, subject: str = "") -> str:
    """Return the title of a page; the subject is last, because it may be long and is cut off at the end."""
    return f"{title} · {key_label(action_id)} close{f' · {subject}' if subject else ''}"


def shell_command_note(command: str) -> str:
    """Return what to do about a command that the console has no key for."""
    return f"Run it in a shell. `{command} --help` shows how."


def empty_tab(tab: str) -> str:
    return f"No drafts in {tab}"


def empty_tab_explanation(tab: str) -> str:
    """Return how drafts get into a tab; empty for a tab of the user's own."""
    explanations = {
        "approved": f"{key_label('review.approve')} approves a draft in {TABS['to_review'][0]}.",
        "scheduled": f"{key_label('review.schedule')} schedules an approved draft in the next free slot, "
        f"{key_label('review.schedule_at')} at a time.",
        "posted": f"Scheduled drafts are listed here once they are sent. {key_label('review.post')} posts one now.",
        "missed": "Drafts that could not be sent at their time are listed here, until you reschedule them.",
        "rejected": f"{key_label('review.reject')} rejects a draft in {TABS['to_review'][0]}.",
        "failed": f"Drafts that no writer could write are listed here. {key_label('review.regenerate')} tries again.",
        "archived": f"{key_label('review.archive')} archives a draft, {key_label('review.restore')} restores it.",
    }
    return explanations.get(tab, "")


def palette_draft(draft: "Draft") -> str:
    return f"draft, {status_badge(draft).text}"


def redone(description: str) -> str:
    return f"Redid {description}"


def restored_text(saved_at: datetime, now: datetime) -> str:
    return f"Restored unsaved text from {format_relative(saved_at, now)}."


def run_failures(failed: int, attempted: int) -> str:
    return f"{failed} of {plural(attempted, 'source')} failed. {key_label('console.sources')} Sources shows why."


def run_outcome(status: "RunStatus", error: str) -> str:
    return f"Run {status.value}: {error or 'unknown error'}"


def run_panel_title(*, active: bool) -> str:
    close_key = key_label("review.back")
    keys = f"{close_key} hide · {key_label('review.cancel_run')} cancel" if active else f"{close_key} close"
    return f"Pipeline · {keys}"


def run_without_sources_hint() -> str:
    return f"Press {key_label('console.sources')} for Sources, then {key_label('sources.new')} to add one."


def source_failing(name: str, error: str) -> str:
    return f"Could not fetch {name}. {error}"


def theme_not_saved(reason: str) -> str:
    return f"Could not save the theme: {reason}."


def undone(description: str) -> str:
    return f"Undid {description}"


def stories_merged(count: int) -> str:
    return f"Merged {plural(count, 'story')} · {undo_hint()}"


def stories_to_mark() -> str:
    return f"Mark at least two drafts with {key_label('review.mark')} to merge their stories"


def story_split(name: str) -> str:
    return f"Split {name} from its story · {undo_hint()}"


SAME_STORY = "The marked drafts already belong to one story"
MERGE_NAME, SPLIT_NAME = "story merge", "story split"


def undo_next_hint(action_id: str) -> str:
    return f"{key_label(action_id)} undoes the change before it."


def unexpected_error(error: Exception) -> str:
    return f"Unexpected error: {error!r}."


MAX_DISCARDED_TEXT = 500
"""Characters of discarded text that a toast repeats."""


def keys_kept() -> str:
    return f"Still loading. Keys typed now are kept; {key_label('hold.leave')} discards them."


def keys_discarded(text: str, count: int = 0) -> str:
    cut = text if len(text) <= MAX_DISCARDED_TEXT else f"{text[:MAX_DISCARDED_TEXT]}…"
    shown = f"“{cut}”" if text else plural(count, "key")
    return f"Discarded, typed while loading: {shown}"


def wait_message(message: str) -> str:
    return f"{message} · {key_label('hold.leave')} cancel"


def zone_hint(zone: str, reason: str, *, is_prefilled: bool) -> str:
    """Return the line below the prompt: the reason of a refusal, or an example."""
    if reason:
        return f"{reason} {key_label('line.take')} confirms it." if is_prefilled else reason
    example = next(name for name in ZONE_EXAMPLES if name != zone)
    return f"Now {zone_name(zone)}; for example {example}. {ZONE_CHANGE_NOTE}"


def theme_invalid(file: str, reason: str) -> str:
    """Return the warning about a file in the themes folder that is no theme."""
    return f"themes/{file} is not used: {reason}."


def theme_not_toml(reason: str) -> str:
    """Return why a file cannot be read as TOML."""
    return f"not TOML: {reason}"


def theme_not_table(name: str) -> str:
    """Return the error for a value where a table is expected."""
    return f"[{name}] is no table"


def theme_unknown_name(name: str, allowed: Iterable[str]) -> str:
    """Return the error for a colour that no theme has."""
    return f"there is no colour {name}; the colours are {', '.join(allowed)}"


def theme_not_colour(name: str, value: str) -> str:
    """Return the error for a value that is no colour."""
    return f"{name} is {value}, which is no colour such as #6fb3c8"


def chosen_theme_missing(name: str) -> str:
    """Return the warning about a chosen theme that is no longer there."""
    return f"The chosen theme “{name}” does not exist; the console uses its own."


def theme_missing(name: str) -> str:
    """Return the error for a colour that every theme has to have."""
    return f"{name} is missing"


# Review

QUEUE_TITLE = "Queue"
DRAFT_TITLE = "Draft"
ITEM_TITLE = "Source"
TABS = {
    "to_review": ("To review", "Review"),
    "approved": ("Approved", "Appr."),
    "scheduled": ("Scheduled", "Sched."),
    "posted": ("Posted", "Posted"),
    "missed": ("Missed", "Missed"),
    "rejected": ("Rejected", "Rej."),
    "failed": ("Failed", "Failed"),
    "all": ("All", "All"),
    "archived": ("Archived", "Arch."),
}
"""Each tab's name, and its abbreviation for narrow terminals."""
AGENTS_TAB = "Agents"
NEEDS_YOU_TAB = "needs_you"
NEEDS_YOU = "Needs you"
NO_DELIVERY_IN_DOUBT = "No delivery has an unknown outcome."
NEEDS_YOU_SHORT = "Needs"
"""The abbreviation of the tab, as in TABS, and of the top line. The tab is shown while a delivery needs the user."""
NEEDS_YOU_DETAILS = "Details"
NOTHING_NEEDS_YOU = "Nothing needs you"
NO_ACCOUNT_CONNECTED = "no account connected"
NO_ACCOUNT_VARIANTS = NO_ACCOUNT_CONNECTED, "no account"
"""At the right of the top line: long and short."""
OPEN_PROFILE = "open the profile"
PROFILE_MISSING = "This account has no profile page."
ANSWERS = {
    "posted": "it is there: mark as posted",
    "again": "send again",
    "drop": "drop: neither send nor check it again",
    "sign_in": "sign in",
}
"""Answers to a delivery -> what the key does."""
ANSWER_NOT_POSSIBLE = {
    "posted": "Not possible: nothing was sent yet, or the draft has another status by now.",
    "again": "Not possible while Copydesk still sends or checks it, or if the account is disconnected.",
    "drop": "It cannot be dropped.",
    "sign_in": "The account needs no login.",
}
SIGN_IN = ANSWERS["sign_in"]
CONNECT_ACCOUNT = "connect an account"
"""The answer to a missing account, in the details and in the line of keys."""
OPEN_WAITING_DRAFT = "open the draft"


def missing_account_name(platforms: Sequence[str]) -> str:
    """Return the name of an account that is missing."""
    return f"no account for {', '.join(map(platform_name, platforms))}" if platforms else NO_ACCOUNT_CONNECTED


def connect_account(platform: str) -> str:
    """Return the answer to a missing account."""
    return f"{CONNECT_ACCOUNT} of {platform}" if platform else CONNECT_ACCOUNT


def account_missing_answer() -> str:
    """Return the refusal of an answer that needs a delivery."""
    return f"Nothing was sent: an account is missing. {key_label('needs_you.sign_in')} connects one."


def missing_approval(count: int, required: int) -> str:
    """Return what a scheduled draft waits for, in the place of an account."""
    return f"{count} of {required} approvals"


def open_to_approve() -> str:
    """Return the answer to a missing approval: the draft, and there the key that approves it."""
    return f"open the draft; {key_label('review.approve')} there approves it, too"


def approval_missing_answer() -> str:
    """Return the refusal of an answer that needs a delivery."""
    return f"Nothing was sent: an approval is missing. {key_label('list.open')} opens the draft."


def nothing_needs_you() -> str:
    """Return the line below NOTHING_NEEDS_YOU."""
    return f"{key_label('needs_you.back')} returns to the drafts."


SEND_AGAIN = "send again"
DROP = "drop"
SEARCH_PLACEHOLDER = 'words, "a phrase", prefix*, -without'
MARKS_LOADING = "The marked drafts are still loading. Try again."
ITEM_WITHOUT_LINK = "The source item has no link."

# The pages of a draft and its source item.
UNTITLED_ITEM = "Untitled"
TEXT_UNCHANGED = "The text is the same."
OLD_VERSION, NEW_VERSION = "Before", "After"
BETTER_CHECKS, WORSE_CHECKS = "Fixed", "New findings"
CHECKS_HEADING, CLAIMS_HEADING, SCORE_HEADING, TAGS_HEADING = "Checks", "Claims", "Score", "Tags"
WRITTEN_BY_USER = "written by you"


def proposed_by(name: str, model: str, prompt_hash: str, token: str) -> str:
    """Return who proposed a draft: `Proposed by scout (model gpt-9, prompt 3f2a…) with the token “scout”`."""
    details = ", ".join(part for part in (model and f"model {model}", prompt_hash and f"prompt {prompt_hash}") if part)
    with_token = f" with the token “{token}”" if token else ""
    return f"Proposed by {name}{f' ({details})' if details else ''}{with_token}"


def agent_source(url: str, text: str, start: int | None, end: int | None) -> str:
    """Return a source that an agent names: `Source: https://… 120–164 “The ferry is back.”`."""
    span = f" {start}–{end}" if start is not None and end is not None else ""
    return f"Source: {url}{span}{f' “{text}”' if text else ''}"


ITEM_SOURCE, ITEM_AUTHOR, ITEM_PUBLISHED = "Source", "Author", "Published"
ITEM_REACTIONS, ITEM_DISCUSSION, ITEM_LINK = "Reactions", "Discussion", "Link"
HISTORY_TITLE, CHANGES_TITLE = "History", "Changes"
PREVIEW_HEADING = "Accounts"
FITS_ALL_ACCOUNTS = "fits all"
NOT_CONNECTED = "not connected"
NO_ALT_TEXT = "no alt text"
PROPOSED_IMAGE = "Proposed image, not attached:"
NO_PROPOSED_IMAGE = "The draft's source has no image to attach."


def image_attached(name: str, agency: str | None) -> str:
    """Return the toast after the proposed image was attached."""
    return f"Attached the image to {name}." + (f" {may_need_licence(agency)}" if agency else "")


def image_removed(name: str) -> str:
    """Return the toast after the source's image was removed."""
    return f"Removed the image from {name}. It is proposed again."


def may_need_licence(agency: str) -> str:
    """Return the warning about the photograph of an agency."""
    return f"It seems to be from {agency}: posting it may need a licence."


def attach_hint() -> str:
    """Return how to attach the proposed image."""
    return f"{key_label('review.attach_image')} attaches it"


LINK_CARD, PLAIN_LINK = "Link card:", "Plain link:"

# Dialogs.
TIME_EXAMPLES = "tomorrow 9 · fri 14:30 · in 2 hours"
POST_LOADING = "Post now? Loading accounts…"
POST_TOO_EARLY = "Loading accounts… Press y once they are shown."
POST_QUESTION = "Post now?"
POST_YES, POST_NOT_POSSIBLE = "post", "close"
ALREADY_POSTED = "Already posted to every matching account."
EDITOR_OPENING = "Opening your editor…"
NO_CHANGES = "No changes"
NO_EDITOR = "This terminal cannot open an editor."
MAX_FAILED_LINES = 3
"""The last lines of a failed command that its toast shows."""
SOURCE_DELETED = "This source was deleted."
SOURCE_WITHOUT_LINK = "The source has no link."

RESTORE = "restore"
"""Restoring from the archive: for the desk an undo, for the user an action that can itself be undone."""
UNDO_NAMES = {
    EDIT: "edit",
    Action.APPROVE: "approval",
    COUNTERSIGN: "second approval",
    Action.REJECT: "rejection",
    Action.REGENERATE: "regeneration",
    Action.UNAPPROVE: "return to review",
    Action.ARCHIVE: "archiving",
    Action.SCHEDULE: "schedule",
    Action.RESCHEDULE: "reschedule",
    Action.CANCEL_SCHEDULE: "unschedule",
    RESTORE: "restore",
}
"""An action in the description of its undo."""
DONE = {
    EDIT: "edited",
    Action.APPROVE: "approved",
    COUNTERSIGN: "countersigned",
    Action.REJECT: "rejected",
    Action.REGENERATE: "regenerating",
    Action.UNAPPROVE: "returned to review",
    Action.ARCHIVE: "archived",
    Action.SCHEDULE: "scheduled",
    Action.RESCHEDULE: "rescheduled",
    Action.CANCEL_SCHEDULE: "unscheduled",
    RESTORE: "restored",
}
"""The result of an action."""
IN_PROGRESS = {
    Action.APPROVE: "Approving",
    Action.REJECT: "Rejecting",
    Action.REGENERATE: "Regenerating",
    Action.UNAPPROVE: "Returning to review",
    Action.ARCHIVE: "Archiving",
    Action.SCHEDULE: "Scheduling",
    Action.RESCHEDULE: "Rescheduling",
    Action.CANCEL_SCHEDULE: "Unscheduling",
}
"""A bulk action in the header while it runs."""
UNDO_IN_PROGRESS = {EventKind.UNDO: "Undoing", EventKind.REDO: "Redoing"}
RESTORE_IN_PROGRESS = "Restoring"
MAX_NAME_LENGTH = 40
"""Characters of a draft's first line that identify it."""


ORDERS = {
    "best": "by score",
    "newest": "newest draft first",
    "oldest": "oldest draft first",
    "confident": "by confidence",
    "source": "by source",
    "soonest": "by time",
}
"""The order of a list, in its title."""
SEARCH_ORDER = "Search results are always newest first."


def too_many_to_sort(maximum: int) -> str:
    """Return the message for a tab that is too large for some orders."""
    return f"Too many drafts for the other orders: more than {maximum:,}."


DECISIONS_TITLE = "Decisions"
DECISIONS_NOTE = (
    "Of the newest 1,000. The times stay in your database, without the drafts that they belong to."
    " console.record_decision_times = false in the settings file stops recording them."
)
DECISIONS_NOT_RECORDED = "Times are not recorded: console.record_decision_times is false in the settings file."


def decision_facts(stats: "DecisionStats") -> list[tuple[str, str]]:
    """Return how fast the user decides, and how often a decision was undone soon after."""
    seconds = stats.median_seconds
    timed = plural(stats.timed, "decision")
    return [
        ("Median time to decide", "unknown" if seconds is None else f"{seconds:.1f} s ({timed})"),
        (
            "Undone within 10 minutes",
            f"{stats.undone:,} of {stats.decided:,} ({stats.undone / stats.decided:.1%})" if stats.decided else "none",
        ),
    ]


def sitting_progress(decided: int, total: int) -> str:
    """Return how many drafts were decided since the console was opened: `12 of 60 done`."""
    return f"{decided:,} of {total:,} done"


def queue_title(
    total: str, progress: str, order: str, filters: str, marked: str, new_count: int, *, is_range_open: bool
) -> str:
    """Return the title of the queue: `Queue · 450 · 12 marked · 3 new, press . · 12 of 60 done · by source`."""
    parts = (
        QUEUE_TITLE,
        total,
        # A narrow border cuts off the end: what the next key acts on comes first.
        f"{marked} marked" if marked else "",
        f"{key_label('review.mark_range')} ends the range" if is_range_open else "",
        f"{new_count:,} new, press {key_label('review.refresh')}" if new_count else "",
        progress,
        order,
        filters,
    )
    return " · ".join(part for part in parts if part)


def page_title(title: str, progress: str) -> str:
    """Return the title of a page that hides the queue: its progress, and the keys that move to another draft."""
    keys = f"{key_label('review.next')} next draft · {key_label('review.previous')} previous"
    return " · ".join(part for part in (title, progress, keys) if part)


def restore_hint(status: Status) -> str:
    """Return the key that restores an archived draft, and the status that it has then."""
    return f"{key_label('review.restore')} restores it as {STATUS[status].text}"


def filtered_by_source(name: str) -> str:
    """Return the filter by source in the title of the queue."""
    return f"from {name}"


def unknown_source(name: str) -> str:
    """Return the filter by a source that does not exist, in the title of the queue."""
    return f"no source “{name}”"


FILTERED_BY_AGENT = "proposed by agents"
TAB_NAME_PROMPT = "Save these filters as a tab named"
TAB_RENAME_PROMPT = "Rename the tab to"
TAB_WITHOUT_FILTER = "Nothing to save: choose a filter first."
TAB_IN_SETTINGS = "This tab is in the settings file. Change it there."
TAB_SHORT_LENGTH = 5
"""Cells of the name of a tab of the user's own, with its ellipsis, where there is no room for more."""


def tab_name_invalid(limit: int) -> str:
    """Return the error for a name that no tab can have."""
    return f"A tab has a name of 1 to {limit} characters."


def tab_exists(name: str) -> str:
    """Return the error for a name that another tab has."""
    return f"There is already a tab “{name}”."


def tab_saved_elsewhere(name: str) -> str:
    """Return why a tab is not renamed if another console saved one with that name, to continue a sentence."""
    return f"another console has saved a tab “{name}”"


def tab_order_invalid(status: str, orders: Iterable[str]) -> str:
    """Return the error for an order that the tab's drafts do not have."""
    return f"drafts of {status} are ordered by {', '.join(orders)}."


def tab_saved(name: str) -> str:
    """Return the message for a new or changed tab."""
    return f"Saved the tab “{name}” · {key_label('review.filter')} renames, moves or removes it"


def tab_not_saved(reason: str) -> str:
    """Return the error for a file that cannot be written."""
    return f"The tabs were not saved: {reason}."


def saved_tabs_unreadable(file: str, reason: str) -> str:
    """Return the warning about a file with saved tabs that cannot be read."""
    return f"The tabs that you saved are missing: {tabs_file_unreadable(file, reason)}."


def tabs_file_unreadable(file: str, reason: str) -> str:
    """Return why no tabs can be read, to continue a sentence."""
    return f"{file} cannot be read: {reason}"


def remove_tab_prompt(name: str) -> str:
    """Return the question before a tab is removed."""
    return f"Remove the tab “{name}”? Its drafts stay."


def marked_drafts_left(count: int) -> str:
    """Return the toast for marked drafts that are no longer in the list."""
    return f"{plural(count, 'marked draft')} left this list"


def draft_name(text: str) -> str:
    """Return the name of a draft in a sentence: the start of its first line, in quotes."""
    # Cut first: the text may be long, and only its first line is needed.
    line = next((line for line in text[:1000].splitlines() if line.strip()), "")
    # Quotation marks in quotation marks.
    line = " ".join(clean(line).split()).replace("“", "‘").replace("”", "’")
    if not line:
        return "a draft without text"
    return f"“{line[: MAX_NAME_LENGTH - 1]}…”" if len(line) > MAX_NAME_LENGTH else f"“{line}”"


def confidence(share: float, *, known: bool, progress: "DecisionProgress | None" = None) -> str:
    """Return a draft's confidence, 0 to 1: `confidence 70%`, `confidence not known yet (7 of 20 decisions)`."""
    decisions, needed = (progress.decisions, progress.needed) if progress else (None, 0)
    return f"confidence {describe_confidence(share, known=known, decisions=decisions, needed=needed)}"


def draft_checks_passed(passed: int, total: int) -> str:
    """Return the summary of the checks: `5 of 6 passed`."""
    return f"{passed} of {total} passed"


def claims_summary(counts: Mapping[ClaimVerdict, int]) -> str:
    """Return the number of claims by verdict: `3 supported, 1 cannot tell`."""
    return ", ".join(f"{counts[verdict]} {label}" for verdict, label in CLAIM_LABELS.items() if counts.get(verdict))


CLAIM_FIELDS = {Field.TITLE: "Title", Field.SUMMARY: "Summary", Field.TEXT: "Text"}


SOURCES_HEADING = "Sources"


def story_reported_by(names: Sequence[str]) -> str:
    """Return the line with the sources that reported a story."""
    return f"Reported by {join_names(names)}"


def join_names(names: Sequence[str]) -> str:
    """Join names in a sentence: `A, B and C`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def remaining_characters(count: int) -> str:
    """Return the note below an article that was cut off."""
    return f"({plural(count, 'more character')})"


def version_heading(number: int, total: int) -> str:
    """Return the heading of a version in the history."""
    return f"Version {number} of {total}"


def newer_version() -> str:
    """Return the note that a draft has a newer version."""
    return f"A newer version exists. {key_label('review.difference')} shows the changes."


def thread_part(number: int, total: int) -> str:
    """Return the heading of a post of a thread."""
    return f"{number} of {total}"


def no_matching_account() -> str:
    """Return the note that no account would post a draft."""
    return f"No account posts this. Connect one in Setup ({key_label('console.setup')})."


def rejected_by(names: Sequence[str], total: int) -> str:
    """Return the summary of a preview that some accounts or platforms would not post."""
    return f"rejected by {names[0]}" if len(names) == 1 else f"rejected by {len(names)} of {total:,}"


def problem(message: str, part: int | None = None) -> str:
    """Return a reason why an account would not post a draft, or its post number `part` if it is a thread."""
    return f"problem: {message}" if part is None else f"problem in post {part}: {message}"


LEAST_CERTAIN = "least certain"


def characters_left(count: int) -> str:
    """Return how much of a platform's limit a post leaves."""
    return f"{count:,} left"


def length_over_limit(count: str, excess: int) -> str:
    """Return a length with the number of characters that are too many. Words, not colour alone."""
    return f"{count}, {excess:,} too long"


def image_heading(number: int, facts: str) -> str:
    """Return the facts about an image, before its alt text: `Image 1  1200x800, 84 kB  `."""
    return f"Image {number}  {facts}"


def filter_title(tab: str = "") -> str:
    """Return the title of the filter dialog with its keys, those for a tab of the user's own if it is one."""
    effects = {
        "filter.take": "toggle",
        "filter.show": "apply",
        "filter.save_tab": "save as tab",
    }
    if tab:
        effects = {
            "filter.save_tab": "save",
            "filter.rename_tab": "rename",
            "filter.remove_tab": "remove",
            "filter.tab_left": "left",
            "filter.tab_right": "right",
        }
    return " · ".join([tab or "Filter", *(f"{key_label(action)} {effect}" for action, effect in effects.items())])


def reject_prompt(count: int) -> str:
    """Return the prompt for the reason of a rejection."""
    return "Reject: reason (optional)" if count == 1 else f"Reject {plural(count, 'draft')}: reason (optional)"


def regenerate_prompt(count: int) -> str:
    """Return the prompt for what a new version should change."""
    drafts = "" if count == 1 else f" {plural(count, 'draft')}"
    return f"Regenerate{drafts}: what should change? (optional)"


REGENERATE_SUGGESTIONS = (
    "shorter",
    "longer",
    "another sentence",
    "no hashtags",
    "with hashtags",
    "no emoji",
    "no link",
    "with the link",
)
"""What a new version may change, as the offline writer understands it; language models do, too."""


def schedule_prompt(name: str) -> str:
    """Return the prompt for the time to schedule one or more drafts for."""
    return f"Schedule {name} for…"


def time_conflicts(count: int) -> str:
    """Return the warning about drafts that are scheduled near a time."""
    return f"{plural(count, 'draft')} within 30 minutes"


def typed_text_kept(action_id: str) -> str:
    """Return the notice that a text typed for an action that failed is offered again."""
    return f"Your text is kept: {key_label(action_id)} offers it again."


def unused_answer(action: str) -> str:
    """Return the notice about text typed into a prompt that was closed by the end of the console."""
    return f"Restored what you typed for {action}. The prompt offers it."


def unsaved_edit(name: str) -> str:
    """Return the notice about an edit that was not saved in an earlier session."""
    return f"Unsaved edit of {name}. Press {key_label('review.edit')} on it to continue."


def unsaved_draft() -> str:
    """Return the notice about a new draft that was typed in an earlier session and not created."""
    return f"Unsaved new draft. Press {key_label('console.compose')} to continue."


def unsaved_edit_of_deleted_draft(path: object) -> str:
    """Return the notice about an unsaved edit of a draft that no longer exists."""
    return f"The unsaved edit of a deleted draft is in {path}."


def restored_edit(age: str) -> str:
    """Return the notice in the editor about restored text, typed at an earlier time."""
    return f"Restored unsaved text from {age}."


def overwrite_hint(message: str) -> str:
    """Return why an edit was not saved, and the key that saves it all the same."""
    return f"{message} {key_label('edit.save')} again overwrites it with your text."


COMMENTS_HEADING = "Comments"
COMMENT_TITLE = "Comment"
ADD_COMMENT = "Add a comment"
FIELD_COMMENT, FIELD_QUOTE = "Comment", "On the words"
WHOLE_DRAFT = "the whole draft"
APPROVED_BY_YOU = "approved by you, another reviewer has to"
"""Why a bulk action does not approve a draft that lacks an approval."""
QUOTE_IS_MISSING = "no longer in the text"
NOT_SAVED = "typed text that was not saved"
UNSAVED_DIFF_NOTE = "Against the text of the draft: [-removed-] {+added+}"


def is_editing(reviewer: str, since: str) -> str:
    """Return that another reviewer edits the draft: `Ben is editing since 14:05`."""
    return f"{reviewer} is editing{f' since {since}' if since else ''}"


def are_viewing(reviewers: Sequence[str]) -> str:
    """Return which other reviewers have the draft open: `Ada and Ben are viewing`."""
    return f"{join_names(reviewers)} {'is' if len(reviewers) == 1 else 'are'} viewing"


def counts_approvals(status: Status) -> bool:
    """Return True if the approvals of a draft in this state are shown."""
    return status in TO_REVIEW or status in (Status.APPROVED, Status.SCHEDULED, Status.MISSED)


def approvals(reviewers: Sequence[str], required: int) -> str:
    """Return the approvals of a draft: `1 of 2 approvals (Ada)`."""
    names = f" ({', '.join(reviewers)})" if reviewers else ""
    return f"{len(reviewers)} of {required} approvals{names}"


def approval_count(count: int, required: int) -> str:
    """Return the detail of an approval that another one has to follow, or has followed: `(1 of 2 approvals)`."""
    return f"({count} of {required} approvals)"


def post_lacks_approval(name: str, reviewers: Sequence[str], required: int) -> str:
    """Return why a draft cannot be posted before another reviewer approves it."""
    return f"{name} cannot be posted yet: {approvals(reviewers, required)}. Another reviewer has to approve it, too."


def next_approval(*, is_own: bool) -> str:
    """Return who can give the approval that a draft lacks."""
    return "another reviewer has to approve it, too" if is_own else f"{key_label('review.approve')} approves it, too"


def unsaved_text_of(reviewer: str, age: str) -> str:
    """Return that a text was typed and not saved, because somebody else took the edit over."""
    return f"{reviewer} typed a text that was not saved, {age} · {key_label('review.comments')} shows it"


def unsaved_text_head(reviewer: str, age: str) -> str:
    """Return the first line of such a text."""
    return f"Typed by {reviewer}, not saved; the edit was taken over {age}"


def comments_summary(unresolved: int, resolved: int) -> str:
    """Return the number of comments and the key that opens them: `2 open, 1 resolved · @ shows them`."""
    counts = [f"{unresolved} open"] if unresolved or not resolved else []
    counts += [f"{resolved} resolved"] if resolved else []
    return f"{', '.join(counts)} · {key_label('review.comments')} shows them"


def comments_title(name: str) -> str:
    """Return the title of the list of comments."""
    return f"{COMMENTS_HEADING} · {name}"


def no_comments() -> str:
    """Return the note in place of the list."""
    return f"No comments. {key_label('comments.add')} adds one."


def comment_hint() -> str:
    """Return the lines below the form for a comment."""
    return "Begin to type words of the draft; → completes the sentence. Leave the line empty for the whole draft."


def comment_added(quote: str) -> str:
    """Return the confirmation of a new comment."""
    return f"Commented on “{quote}”" if quote else "Commented on the draft"


def resolved_by(reviewer: str, age: str) -> str:
    """Return who resolved a comment."""
    return f"Resolved by {reviewer}, {age}"


def not_a_comment() -> str:
    """Return the refusal to resolve a text that was not saved."""
    return f"This is no comment. {key_label('comments.delete')} deletes the text."


def delete_question(reviewer: str, *, is_comment: bool) -> str:
    """Return the question before a comment or an unsaved text is deleted."""
    return f"Delete the {'comment' if is_comment else 'unsaved text'} of {reviewer}?"


OTHER_TEXT_TITLE = "The other text"
TAKE_OVER, KEEP_EDITING = "take over and save", "keep editing"


def takeover_question(message: str) -> str:
    """Return why an edit was not saved, and the question whether to take the other reviewer's edit over."""
    return f"{message} Take the edit over? Both texts are kept: you see next how the other one differs from yours."


def take_over_here_hint() -> str:
    """Return the hint where an edit can be taken over."""
    return f"{key_label('review.edit')} edits here, and can take it over."


def hidden_characters() -> str:
    """Return the notice that the editor does not show all characters of a text."""
    return f"Invisible characters are not shown here. {key_label('review.edit_outside')} opens the exact text."


def editor_needs_terminal() -> str:
    """Return the refusal to open an editor from a browser."""
    return f"A browser cannot open your editor. Press {key_label('review.edit')} to edit here."


def command_needs_terminal(label: str) -> str:
    """Return the refusal of a command that takes over the terminal where there is none."""
    return f"{label} needs a terminal."


def command_starting(label: str) -> str:
    """Return the message until a command takes over the terminal."""
    return f"{label}…"


def command_running(label: str) -> str:
    """Return the message while a command runs."""
    return f"{label}: running…"


def command_finished(label: str, lines: Sequence[str]) -> str:
    """Return the first line of a command's output, and where the rest is: `Translate: Ahoj · 3 more lines, Ctrl+L`."""
    if len(lines) < 2:
        return f"{label}: {lines[0] if lines else 'done'}"
    return f"{label}: {lines[0]} · {plural(len(lines) - 1, 'more line')}, {key_label('console.log')} shows them"


def command_failed(label: str, exit_code: int, lines: Sequence[str]) -> str:
    """Return the error of a command with its last lines; a negative code is the signal that ended it."""
    end = f"was killed by signal {-exit_code}" if exit_code < 0 else f"failed with exit code {exit_code}"
    return f"{label} {end}{': ' if lines else '.'}{' / '.join(lines[-MAX_FAILED_LINES:])}"


def edit_here_hint() -> str:
    """Return the hint to use the editor of the console."""
    return f"Press {key_label('review.edit')} to edit here."


def editor_not_started(command: str, reason: str | None) -> str:
    """Return the error that an editor cannot be started."""
    return f"Cannot start {command}: {reason}."


def editor_failed(command: str, exit_code: int) -> str:
    """Return the error that an editor failed; a negative code is the signal that ended it."""
    return (
        f"{command} was {f'killed by signal {-exit_code}' if exit_code < 0 else f'closed with exit code {exit_code}'}."
    )


def text_saved_hint(path: object) -> str:
    """Return the hint where the text of a failed edit is."""
    edit, edit_outside = key_label("review.edit"), key_label("review.edit_outside")
    return f"Your text is saved in {path}. {edit} or {edit_outside} continues with it."


def no_other_version(name: str) -> str:
    """Return the refusal to compare a draft that has one version only."""
    return f"There is no other version of {name}, and it is not edited."


def compare_hint() -> str:
    """Return the key that shows what a new version changed."""
    return f"{key_label('review.difference')} compares the versions"


def regenerate_hint() -> str:
    """Return the hint to request a new version."""
    return f"{key_label('review.regenerate')} generates one."


def copied_text(name: str) -> str:
    """Return the toast for a draft whose text was copied."""
    return f"Copied the text of {name}"


def copied_link(url: str) -> str:
    """Return the toast for a copied link."""
    return f"Copied {url}"


def regeneration_failed(drafts: str, errors: Mapping[str, int], *, count: int, is_next_undo: bool) -> str:
    """Return the error that no new versions could be generated, by reason, and what becomes of the old ones."""
    one = count == 1
    undo, tab = key_label("review.undo"), TABS["failed"][0]
    restored = f"{undo} restores {'it as it was' if one else 'them as they were'}."
    kept = f"{'Its text is' if one else 'Their texts are'} kept, in the tab {tab}."
    return f"Could not regenerate {drafts}: {grouped_failures(errors)} {restored if is_next_undo else kept}"


def new_versions(count: int, name: str, *, in_review: bool) -> str:
    """Return the toast for new versions with the key that leads there; `name` is the one draft, if it is only one."""
    versions = f"New version of {name}" if count == 1 else f"New versions of {plural(count, 'draft')}"
    return f"{versions} · {_show_hint(count, in_review=in_review)}"


def _show_hint(count: int, *, in_review: bool) -> str:
    """Return the key that shows drafts that have just been written."""
    return f"{key_label('review.refresh')} shows {'it' if count == 1 else 'them'}" if in_review else review_hint()


def post_one_at_a_time() -> str:
    """Return the refusal to post several drafts now, with the keys that do what is possible."""
    schedule, back = key_label("review.schedule"), key_label("review.back")
    return f"Post one draft at a time. {schedule} schedules the marked drafts, {back} clears the marks."


def no_account_connected() -> str:
    """Return the refusal to post without an account."""
    return (
        f"No account connected. Press {key_label('console.setup')} for Setup, then {key_label('setup.connect')} "
        "to connect one."
    )


def no_account_for_format(format: Format) -> str:
    """Return the refusal to post a draft whose format no connected account takes."""
    keys = f"{key_label('console.setup')}, then {key_label('setup.connect')}"
    return f"No connected account takes this format ({FORMAT_NAMES[format]}). {keys} connects one."


def missing_account(count: int, total: int) -> str:
    """Return the warning that no connected account would post `count` of `total` drafts."""
    drafts = f"{count:,} of the {plural(total, 'draft')}"
    if count == total:
        drafts = "this draft" if total == 1 else "these drafts"
    keys = f"{key_label('console.setup')}, then {key_label('setup.connect')}"
    return f"No account is connected for {drafts}. {keys} connects one."


def lacking_approvals(count: int, total: int) -> str:
    """Return the warning that `count` of `total` scheduled drafts wait for another approval."""
    drafts = f"{count:,} of the {plural(total, 'draft')} wait"
    if count == total:
        drafts = "This draft waits" if total == 1 else "These drafts wait"
    return f"{drafts} until another reviewer approves {'it' if total == 1 else 'them'}, too."


def price(account: str, amount: object, currency: str) -> str:
    """Return the cost of a post."""
    return f"{account} charges {amount} {currency}."


def needs_you(count: int) -> str:
    """Return the screen's name with its number of entries, for the top line: `Needs you (2)`."""
    return f"{NEEDS_YOU} ({count:,})"


def needs_you_short(count: int) -> str:
    """Return the screen's name with its number of entries, for a narrow top line: `Needs (2)`."""
    return f"{NEEDS_YOU_SHORT} ({count:,})"


def delivery_needs_you(account: str, known: str) -> str:
    """Return the notification that a delivery needs the user."""
    return f"{account}: {known} {answer_hint()}"


def answer_hint() -> str:
    """Return where a delivery that needs the user is answered."""
    return f"Press {key_label('console.needs_you')} to answer."


def posted_question(account: str) -> str:
    """Return the question before a delivery is marked as posted."""
    return f"Is it on {account}? Mark it as posted:"


def posted_hint() -> str:
    """Return the line below the prompt for the URL."""
    return "Paste the URL of the post, or leave it empty."


def invalid_url(problem: str) -> str:
    """Return the hint of the prompt for a URL that was refused."""
    return f"The URL {problem}. It may stay empty."


def unknown_outcome(account: str, *, is_final: bool) -> str:
    """Return what a draft's page says about a delivery of unknown outcome, with the keys that resolve it."""
    if is_final:
        return f"Unknown whether it was posted to {account}. {unknown_outcome_keys()}"
    return f"Unknown whether it was posted to {account}. {answer_hint()}"


def unknown_outcome_keys() -> str:
    """Return the keys that resolve a delivery of unknown outcome that Copydesk does nothing more about."""
    return f"{key_label('review.mark_posted')} marks it as posted, {key_label('review.post')} sends it again."


def maybe_posted() -> str:
    """Return why a draft is not posted to one of its accounts, with the key that resolves it."""
    return f"it may be there already. {key_label('review.mark_posted')} marks it as posted."


def no_unknown_outcome(name: str) -> str:
    """Return the refusal to mark a draft as posted."""
    return f"{name}: no delivery has an unknown outcome."


def marked_as_posted(account: str) -> str:
    """Return the confirmation that a delivery was marked as posted."""
    return f"{account}: marked as posted"


def send_again_question(account: str, *, in_doubt: bool) -> str:
    """Return the question before a delivery is sent again."""
    if in_doubt:
        return f"{account} may have it already. Send it again?"
    return f"Send it to {account} again?"


def wait_to_resend(settles_at: datetime, now: datetime) -> str:
    """Return the refusal to send a delivery again as long as its last request may still arrive."""
    return f"The last request may still arrive. Try again in {format_minutes_until(settles_at, now)}."


def drop_question(account: str) -> str:
    """Return the question before a delivery is given up."""
    return f"Drop the delivery to {account}? Copydesk will not send or check it any more."


def dropped(account: str, *, is_unresolved: bool) -> str:
    """Return the confirmation that a delivery was given up, with the keys that resolve one of unknown outcome."""
    return f"{account}: dropped. On the draft, {unknown_outcome_keys()}" if is_unresolved else f"{account}: dropped"


def post_question(name: str, accounts: Sequence[str]) -> str:
    """Return the question before a draft is posted."""
    return f"Post {name} now to {join_names(accounts)}?"


def rejection_reason(reason: str) -> str:
    """Return the reason that was given when a draft was rejected."""
    return f"Rejected: {reason}"


def not_posted_to(account: str, message: str) -> str:
    """Return why a draft is not posted to one of the accounts."""
    return f"Not to {account}: {message}"


def waits_for_login(account: str, message: str) -> str:
    """Return that a post to one of the accounts waits until the user has signed in there again."""
    return f"To {account} after you sign in again: {message}"


def no_account_takes(name: str) -> str:
    """Return the statement before the reasons why a draft can be posted to none of the accounts."""
    return f"{name} cannot be posted as it is."


def posting_blocked(name: str, account: str, message: str, part: int | None) -> str:
    """Return the warning that an account would not post an approved draft; `part` counts from 0."""
    post = f", post {part + 1}" if part is not None else ""
    return f"{name} cannot be posted to {account}{post}: {message}"


def and_more(count: int) -> str:
    """Return the end of a list that was cut off; empty if nothing is left."""
    return f" And {count:,} more." if count > 0 else ""


def undo_hint() -> str:
    """Return the hint appended to what can be undone."""
    return f"{key_label('review.undo')} undo"


def redo_hint() -> str:
    """Return the hint appended to an undo."""
    return f"{key_label('review.redo')} redo"


def action_done(action: str, detail: str, *, approved_first: bool = False) -> str:
    """Return the result of an action and its details: `approved`, `approved and scheduled for Thu 12 Feb 09:00`."""
    return f"{'approved and ' if approved_first else ''}{DONE[action]} {detail}".strip()


def actions_done(counts: Mapping[str, int]) -> str:
    """Return the toast for single actions in a row: `Approved · u undo`, `12 approved, 3 rejected · u undo`."""
    if sum(counts.values()) == 1:
        (word,) = counts
        return f"{word[:1].upper()}{word[1:]} · {undo_hint()}"
    return f"{', '.join(f'{count:,} {word}' for word, count in counts.items())} · {undo_hint()}"


NOT_ARCHIVED = "This draft is not archived."
IS_NOT_ARCHIVED = "not archived"
"""Why drafts are not restored."""
NOT_APPROVED = "not approved"
"""Why drafts to review are not scheduled."""


def skip_reason(action: Action, status: Status, archived: bool) -> str:  # noqa: FBT001 - a pair, passed as one
    """Return why a bulk action skips a draft in this state: `archived`, `already approved`, `not approved`."""
    if archived:
        return ARCHIVED.text
    label = STATUS[status].text
    if action is Action.SCHEDULE and status in TO_REVIEW:
        return NOT_APPROVED
    return f"already {label}" if ACTIONS[action].to_status is status else label


def skipped_drafts(reasons: Mapping[str, int]) -> str:
    """Return how many drafts an action skips, by reason: `8 skipped: 6 archived, 2 already approved`."""
    total = sum(reasons.values())
    return f"{total:,} skipped: {', '.join(f'{count:,} {reason}' for reason, count in reasons.items())}"


def nothing_done(word: str, reasons: Mapping[str, int]) -> str:
    """Return the toast for a bulk action that no marked draft allows: `None approved, 8 skipped: …`."""
    approve = f". {key_label('review.approve')} approves them." if NOT_APPROVED in reasons else ""
    return f"None {word}, {skipped_drafts(reasons)}{approve}"


def grouped_failures(reasons: Mapping[str, int]) -> str:
    """Return the failures of a bulk action by reason, with their number if there are several reasons."""
    if len(reasons) == 1:
        return next(iter(reasons))
    return " ".join(f"{count:,}× {reason}" for reason, count in reasons.items())


def bulk_done(count: int, word: str, *, newer: int, skipped: Mapping[str, int], failures: Mapping[str, int]) -> str:
    """Return the toast for a bulk action: `53 approved, 8 skipped: 6 archived, 2 already approved · u undo`.

    `skipped` and `failures` have the number of drafts by reason, `newer` is the number of those that arrived after the
    list was loaded.
    """
    sentence = f"{count:,} {word}"
    if newer:
        sentence += f" ({plural(newer, 'newer draft')} not included)"
    if skipped:
        sentence += f", {skipped_drafts(skipped)}"
    if failures:
        sentence += f", {sum(failures.values()):,} failed: {grouped_failures(failures)}"
    if (skipped or failures) and sum(skipped.values()) + sum(failures.values()) > 1:
        sentence += f" · {key_label('console.log')} lists them"
    # If every draft failed there is nothing to undo.
    return f"{sentence} · {undo_hint()}" if count else sentence


def bulk_progress(word: str, count: int, total: int) -> str:
    """Return the progress of a bulk action, or of its undo, in the header."""
    return f"{word} {count:,}/{total:,}"


def bulk_interrupted(action: str, count: int, remaining: int) -> str:
    """Return the message of a bulk action that was interrupted because the console exited."""
    return f"{count:,} {DONE[action]}, {remaining:,} not processed. Run `copydesk draft undo` to undo."


def draft_restored(name: str) -> str:
    """Return the toast after a draft was restored from the archive."""
    return f"Restored {name} · {undo_hint()}"


def restore_interrupted(count: int, word: str, remaining: int) -> str:
    """Return the message of restoring, or of its undo, that was interrupted because the console exited."""
    return f"{count:,} {word}, {remaining:,} not processed."


def undo_done(name: str, drafts: str, time: str, *, undo: bool, failed: int, failures: str) -> str:
    """Return the toast for an undo or redo: `Undid approval of “A missing index…” · Ctrl+R redo`."""
    description = f"{name} of {drafts}{restored_time(time, undo=undo)}"
    sentence = undone(description) if undo else redone(description)
    if failed:
        sentence += f", {failed:,} failed: {failures}"
    return f"{sentence} · {redo_hint() if undo else undo_hint()}"


def undo_description(name: str, time: str, *, undo: bool, drafts: int | None, failures: Sequence[str]) -> str:
    """Return what was undone or redone: `reschedule (back to Tue 24 Nov 10:30)`, `approval of 12 drafts, 1 failed: …`.

    `drafts` is their number if there were several.
    """
    sentence = f"{name}{restored_time(time, undo=undo)}" if drafts is None else f"{name} of {plural(drafts, 'draft')}"
    return f"{sentence}, {len(failures):,} failed: {failures[0]}" if failures else sentence


def undo_remaining(description: str, remaining: int) -> str:
    """Return the description of an undo or redo that was stopped before its last drafts."""
    return f"{description}, {remaining:,} not processed" if remaining else description


def restored_time(time: str, *, undo: bool) -> str:
    """Return the time that a draft has again, after the name of what was undone; empty without a time."""
    if not time:
        return ""
    return f" (back to {time})" if undo else f" (to {time})"


def undo_interrupted(name: str, count: int, remaining: int, *, undo: bool) -> str:
    """Return the message of an undo or redo that was interrupted because the console exited."""
    return (
        f"{'Undid' if undo else 'Redid'} {name} of {plural(count, 'draft')}. "
        f"Run `copydesk draft {'undo' if undo else 'redo'}` for the remaining {remaining:,}."
    )


# Compose

COMPOSE_TITLE = "New draft"
COMPOSE_PREVIEW_TITLE = "Preview"
COMPOSE_MODES = {"text": "Write", "written": "Generate"}
COMPOSE_FORMATS = {
    "SHORT": "short",
    "THREAD": "thread",
    "BLOG": "blog",
    "SHORT,THREAD": "short and thread",
    "SHORT,THREAD,BLOG": "all three",
}
COMPOSE_NEXT_STEPS = {"review": "Review", "approve": "Approve", "schedule": "Approve and schedule"}
COMPOSE_LABELS = {
    "url": "URL",
    "prompt": "Prompt",
    "format": "Format",
    "formats": "Formats",
    "tags": "Tags",
    "platforms": "Platforms",
    "pictures": "Images, one per line: file or URL | alt text",
    "then": "After saving",
}
"""Labels of the fields by the name of the field."""
COMPOSE_ENTRIES = {"images": "image", "tags": "tag", "targetPlatforms": "platform"}
COMPOSE_LISTS = {"targetPlatforms": "platforms", "url": "URL"}
"""What errors call the fields of a request, and what one of several is called."""
COMPOSE_PLACEHOLDERS = {
    "url": "page to write about",
    "prompt": "what to write, and how",
    "tags": "comma-separated",
    "platforms": "all",
}
"""Placeholders of the input lines, short enough for 40 columns."""
COMPOSE_KEYS = {"save": "create", "next": "next", "clear": "clear", "leave": "cancel"}
COMPOSE_PREVIEW_LATER = "The preview appears in Review once the text is generated."
COMPOSE_PREVIEW_EMPTY = "The preview appears as you type."


def platforms_placeholder(connected: Sequence[str]) -> str:
    """Return the placeholder of the platforms of a new draft, with those that are connected."""
    return f"all, or: {', '.join(connected)}" if connected else COMPOSE_PLACEHOLDERS["platforms"]


def restored_draft(age: str) -> str:
    """Return the notice about a draft that was typed in an earlier session and not created."""
    return f"Restored unsaved draft from {age}."


def drafts_generating(count: int) -> str:
    """Return the toast for drafts that are being generated."""
    return f"Generating {plural(count, 'draft')}…"


def drafts_not_generated(count: int, error: str | None) -> str:
    """Return the warning about drafts that could not be generated."""
    return f"Could not generate {plural(count, 'draft')}: {error}"


def drafts_generated(count: int, *, in_review: bool) -> str:
    """Return the toast for generated drafts, with the key that leads to them."""
    return f"{plural(count, 'draft')} generated · {_show_hint(count, in_review=in_review)}"


def draft_created(result: str, *, in_review: bool) -> str:
    """Return the toast for a new draft: `Draft created and approved · 1 Review`."""
    return f"Draft created{result}" if in_review else f"Draft created{result} · {review_hint()}"


def review_hint() -> str:
    """Return the hint that leads to the review screen."""
    return f"{key_label('console.review')} Review"


CREATED_APPROVED = " and approved"


def created_scheduled(time: str) -> str:
    """Return the end of the toast for a new draft that was scheduled."""
    return f", approved and scheduled for {time}"


# Schedule

SCHEDULE = "Schedule"
ACCEPT_CLOCK = " accept · "
"""Between the key that accepts the clock and the warning about it."""
CLOCK_ACCEPTED = "Clock accepted. Posting resumed."
DESK_NOT_LOADED = "The desk is still loading."
DRAFT_UNSCHEDULED = "Unscheduled, the draft stays approved"
HOUR_DOES_NOT_EXIST = "This hour does not exist on that day: the clocks go forward"
MOVE_TO_PAST = "Cannot move a draft into the past"
REPEATED_HOUR = " again "
"""In place of the hour in the second of two equal hours, in seven cells."""
SKIPPED_HOUR = "skipped"
SLOTS_CHANGED = "The slots have been changed since and were left as they are."
LATER_THIS_WEEK = "Later this week"
FILL_HOUR = " schedules an approved draft here · "
ADD_SLOT_HERE = " adds a weekly slot"
"""After their keys, for an hour without slots and drafts."""
TIME_HAS_PASSED = "This time has passed. Choose a later hour."


def schedule_undo_hint() -> str:
    """Return the hint that ends the result of a change on the schedule."""
    return f"{key_label('schedule.undo')} undo"


def week_title(dates: str, zone: str, offsets: str, current_offset: str, shown_drafts: int) -> str:
    """Return the week and its time zone; `shown_drafts` is 0 unless there are more drafts than are shown."""
    current = f" (now {current_offset})" if current_offset else ""
    limit = f" · first {shown_drafts:,} drafts" if shown_drafts else ""
    name = zone_name(zone)
    return f"{dates} · {name if name == 'UTC' else f'{name}, {offsets}{current}'}{limit}"


def zone_name(zone: str) -> str:
    """Return the name of a time zone: `UTC` for `Etc/UTC`, as everybody writes it."""
    return zone.removeprefix("Etc/")


def offset_from(day: str, offset: str) -> str:
    """Return the UTC offset that applies from a day on."""
    return f"from {day} {offset}"


def partial_hour(first_minute: int, last_minute: int) -> str:
    """Return the part of an hour that exists on a day with a clock change."""
    return f"from :{first_minute:02}" if first_minute else f"to :{last_minute:02}"


def missing_hour(date: str, hour: int, *, is_repeat: bool) -> str:
    """Describe an hour that the clocks do not show on a day."""
    reason = "is not repeated" if is_repeat else "does not exist: the clocks go forward"
    return f"{date} {hour:02}:00 {reason}"


def hour_title(date: str, hours: str, occurrence: str, offset: str, distance: str) -> str:
    """Describe an hour: `Sun 25 Oct 2026 02:00–02:59 (first time), UTC+02:00 · in 1 day`."""
    return f"{date} {hours}{f' ({occurrence})' if occurrence else ''}, {offset} · {distance}"


def hour_occurrence(*, is_repeat: bool) -> str:
    """Return which of two equal hours it is."""
    return "second time" if is_repeat else "first time"


def day_distance(days: int, *, is_now: bool, is_past: bool) -> str:
    """Return the distance of an hour from now; `days` is that of its day from today."""
    if is_now:
        return "now"
    if days == 0:
        return "today, past" if is_past else "today"
    return f"in {plural(days, 'day')}" if days > 0 else f"{plural(-days, 'day')} ago"


def free_slot(slot: str, *, is_skipped: bool) -> str:
    """Describe a slot without a draft; `is_skipped` if a clock change moves it to another time."""
    return f"free slot · every {slot}{' (skipped by the clock change)' if is_skipped else ''}"


def conflict(minutes: int) -> str:
    """Describe a conflict with a draft `minutes` later; a negative number is earlier."""
    if minutes == 0:
        return "Conflict: same time as another draft"
    return f"Conflict: {abs(minutes)} min {'before' if minutes > 0 else 'after'} another draft"


def time_in_other_zone(time: str, zone: str) -> str:
    """Return the time that the user entered in another time zone."""
    return f"set as {time} {zone_name(zone)}"


def clock_change(day: str, times: str, *, forward: bool) -> str:
    """Describe a clock change: `Clocks go forward on Sun 29 Mar: 02:00–03:00 does not exist.`"""
    direction, effect = ("forward", "does not exist") if forward else ("back", "occurs twice")
    return f"Clocks go {direction} on {day}: {times} {effect}."


def clock_jumped(seconds: float) -> str:
    """Warn that the clock was changed by `seconds`; negative is back."""
    return f"Clock jumped {'forward' if seconds > 0 else 'back'} by {format_duration(abs(seconds))}: posting is paused."


def no_slots(approved: int) -> tuple[str, str]:
    """Return the texts before and after the key that adds a slot to an empty week."""
    purpose = f" ({plural(approved, 'approved draft')} waiting)" if approved else ""
    return "No weekly slots. ", f" adds one here{purpose}."


def slot_prompt(hour: int) -> str:
    """Prompt for weekly slots, by examples; the first one lies in the hour under the cursor."""
    return f"Weekly slots: {hour:02}:30 · weekdays 9:30 15 · mon,wed 9, sat 11"


def slot_prompt_hint(slot: str) -> str:
    """Return the hint below the prompt; `slot` is what an empty answer adds."""
    return f"Leave empty for {slot} · a number alone is the minute · {key_label('line.leave')} cancel"


AMBIGUOUS_SLOTS = "Unclear which days get which times. Use commas: mon,tue 9, wed 10"


def invalid_slot(hour: int) -> str:
    """Refuse an answer to the prompt for slots."""
    return f"Not a slot. Try 30, {hour:02}:30 or weekdays 9:30 15, sat 11 · {key_label('line.leave')} cancel"


def slots_exist(count: int, slots: str) -> str:
    """Refuse slots all of which exist."""
    return f"{'Slot already exists' if count == 1 else 'Slots already exist'}: {slots}"


def slots_added(count: int, slots: str) -> str:
    """Return the result of adding slots."""
    return f"Added {'slot' if count == 1 else f'{count} slots:'} {slots} · {schedule_undo_hint()}"


def slots_addition(count: int, slots: str) -> str:
    """Name the addition of slots in the result of an undo."""
    return f"addition of {'slot' if count == 1 else f'{count} slots:'} {slots}"


def slot_deleted(slot: str) -> str:
    """Return the result of deleting a slot."""
    return f"Deleted slot {slot} · {schedule_undo_hint()}"


def slot_deletion(slot: str) -> str:
    """Name the deletion of a slot in the result of an undo."""
    return f"deletion of slot {slot}"


def time_zone_changed(zone: str) -> str:
    """Return the result of a change of the time zone."""
    return f"Time zone changed to {zone_name(zone)} · {schedule_undo_hint()}"


def time_zone_change(old: str, new: str) -> str:
    """Name a change of the time zone in the result of an undo."""
    return f"time zone change from {zone_name(old)} to {zone_name(new)}"


def no_approved_drafts() -> str:
    """Refuse to schedule where no draft is approved."""
    keys = f"{key_label('console.review')} Review, then {key_label('review.approve')}"
    return f"No approved drafts to schedule. {keys} approves one."


def no_slot_here() -> str:
    """Refuse to delete a slot in a cell without one."""
    return f"No slot here to delete. {key_label('schedule.new_slot')} adds one."


def no_draft_here(verb: str) -> str:
    """Refuse an action in a cell without a draft: `No draft here to move. s schedules one at this time.`"""
    return f"No draft here to {verb}. {key_label('schedule.fill')} schedules one at this time."


def draft_not_movable(status: Status) -> str:
    """Refuse to change the time of a draft in this state."""
    return f"This draft is {STATUS[status].text}: its time is fixed."


def draft_scheduled(time: str) -> str:
    """Return the result of scheduling a draft."""
    return f"Scheduled for {time} · {schedule_undo_hint()}"


def draft_unscheduled() -> str:
    """Return the result of taking a draft off the schedule."""
    return f"{DRAFT_UNSCHEDULED} · {schedule_undo_hint()}"


def draft_picker_title(time: str, limit: int) -> str:
    """Return the title of the list of approved drafts; `limit` is 0 unless there are more than are listed."""
    newest = f" · newest {limit:,}" if limit else ""
    return f"{SCHEDULE} for {time}{newest}"


def plan_title(drafts: int) -> str:
    """Return the title of the preview of automatic scheduling."""
    return f"Schedule {plural(drafts, 'draft')} · {key_label('plan.do')} confirm · {key_label('plan.leave')} cancel"


def more_drafts(count: int) -> str:
    """Return the number of drafts that are not listed."""
    return f"and {count:,} more"


def drafts_not_scheduled(count: int, reason: str) -> str:
    """Return how many drafts automatic scheduling leaves out, and why."""
    return f"{plural(count, 'draft')} not scheduled{f': {reason}' if reason else ''}."


def slot_advice() -> str:
    """Return the advice for drafts that were not scheduled because there are no slots."""
    return f" {key_label('schedule.new_slot')} adds a slot."


def drafts_scheduled(count: int, changed: int, skipped: int, reason: str) -> str:
    """Return the result of automatic scheduling; `changed` got another time than the preview showed."""
    if not count:
        return drafts_not_scheduled(skipped, reason)
    text = f"Scheduled {plural(count, 'draft')}"
    text += f" ({changed:,} at another time than previewed)" if changed else ""
    text += f", {skipped:,} not scheduled: {reason}" if skipped else ""
    return f"{text} · {schedule_undo_hint()}"


# Sources

HEALTH = {
    "healthy": Badge("H", "good", "healthy"),
    "degraded": Badge("D", "warn", "failing"),
    "stale": Badge("z", "warn", "no new items"),
    "error": Badge("E", "bad", "error"),
    "unknown": Badge("?", "dim", "not fetched yet"),
}
SOURCE_DISABLED = Badge("-", "dim", "disabled")
"""Takes the place of the health of a source that is not fetched."""
RUN_STATUS = {
    "queued": Badge("Q", "dim", "queued"),
    "running": Badge("▶", "accent", "running"),
    "succeeded": Badge("✓", "good", "succeeded"),
    "failed": Badge("F", "bad", "failed"),
    "cancelled": Badge("×", "dim", "cancelled"),
    "interrupted": Badge("I", "warn", "interrupted"),
}
IMPORT_OUTCOME = {
    "added": Badge("+", "good", "added"),
    "known": Badge("=", "dim", "already added"),
    "failed": Badge("F", "bad", "failed"),
}

ADD_SOURCE = "add a source by its URL"
EMPTY_RUNS = "No runs yet"
EXAMPLE_FEED = "feed: Linux and free software"
EXAMPLE_SEARCH = "Hacker News search"
EXAMPLE_SUBREDDIT = "new posts in a subreddit"
DELETE = "delete"
EXPORT_HINT = "Writes an OPML file, which other feed readers can import."
OVERWRITE = "overwrite"
EXPORT_PROMPT = "Export sources to"
IMPORT_EMPTY = "No feeds in this file"
IMPORT_HINT = "Each feed is tested before it is added."
IMPORT_SOURCES = "import an OPML file from another feed reader"
IMPORT_PROMPT = "Import feeds from OPML file"
IMPORT_TESTING = "Testing…"
RUN_DRAFTED = "new drafts"
RUN_FILTERED = "stories after filters and duplicates"
RUN_RANKED = "ranked"
RUN_STATISTICS = "All runs"
RUN_TITLE = "Run"
RUNS_TITLE = "Runs"
RUN_COLUMNS = ("age", "took", "items", "stories", "drafts")
SOURCE_COLUMNS = {
    "type": "type",
    "items": "items",
    "today": "today",
    "last": "last",
    "next": "next",
    "failures": "fails",
    "name": "name",
}
SOURCE_DUE = "due"
SOURCE_FETCHING = "Fetching…"
SOURCE_FIELDS = {
    "type": "type",
    "url": "URL",
    "name": "name",
    "weight": "weight",
    "interval": "interval",
    "include": "include",
    "exclude": "exclude",
    "tags": "tags",
    "images": "images",
}
SOURCE_PLACEHOLDERS = {
    "url": "https://…, site or feed",
    "name": "name from the feed",
    "weight": "0 to 10; default 1",
    "interval": "minutes; else automatic",
    "include": "one of: words, /regex/",
    "exclude": "none of: words, /regex/",
    "tags": "put on its drafts",
    "images": "propose (default), attach or never",
}
SOURCE_FORM_CANCEL = "cancel"
SOURCE_FORM_RETRY = "retry"
SOURCE_FORM_SAVE = "save"
SOURCE_FORM_SAVE_UNTESTED = "save anyway"
SOURCE_FORM_TEST = "tests the feed"
SOURCE_LATEST_ITEMS = "Latest items"
SOURCE_MANY_ITEMS = "many"
SOURCE_NEVER_FETCHED = "not fetched yet"
SOURCE_NEVER_FETCHED_SHORT = "–"
SOURCE_NEW = "New source"
SOURCE_NO_FAILURES = "none"
SOURCE_NOT_FETCHED = "off"
SOURCE_NUMBERS = {"interval": "a whole number of minutes", "weight": "a number, such as 1.5"}
"""Expected values of the fields that take a number."""
SOURCE_TEST_EMPTY = "The source works, but has no entries."
SOURCE_TEST_FAILED = "Test failed"
SOURCE_TEST_NOT_SAVED = "Test only: nothing was saved."
SOURCE_TITLE = "Source"
SOURCES_TITLE = "Sources"
UNKNOWN_ERROR = "Unknown error."
UNEXPECTED_ERROR = "Unexpected error. Details are in the log."
UNTITLED = "(untitled)"


def drafts_failed(count: int) -> str:
    return f"{plural(count, 'draft')} failed"


def examples_title() -> str:
    return f"Or start with an example. Nothing is fetched until you press {key_label('sources.run')}."


def export_exists(path: str) -> str:
    return f"{path} already exists. Overwrite?"


def export_refused(path: str) -> str:
    return f"{path} already exists; nothing was exported."


def exported(path: str) -> str:
    return f"Exported sources to {path}."


def file_not_readable(path: str, reason: str) -> str:
    return f"Cannot read {path}: {reason}."


def file_not_regular(path: str) -> str:
    return f"{path} is not a regular file."


def file_not_writable(path: str, reason: str) -> str:
    return f"Cannot write {path}: {reason}."


def file_too_large(path: str) -> str:
    return f"{path} is too large for an OPML file."


def import_counts(counts: Mapping[str, int]) -> str:
    return SEPARATOR.join(f"{counts[name]} {badge.text}" for name, badge in IMPORT_OUTCOME.items() if counts.get(name))


def import_keys(*, finished: bool, failed: bool) -> str:
    close = key_label("feeds.close")
    if not finished:
        return f"{close} stop (feeds added so far stay)"
    if not failed:
        return f"{close} close"
    return f"{key_label('feeds.add_failed')} add failed feeds anyway · {close} close"


def import_title(count: int) -> str:
    return f"Import feeds · {count}"


def run_average(duration: float | None, items: float, drafts: float) -> str:
    took = f"{duration:.1f} s" if duration is not None else "none finished"
    return f"{took} · {items:.1f} items · {drafts:.1f} drafts"


def run_error(category: str, count: int) -> str:
    return f"{category} {count}×"


def run_skipped_sources(count: int) -> str:
    return f"{count} skipped"


def run_failed_sources(count: int) -> str:
    return f"{count} failed"


def run_funnel(items: int, stories: int, ranked: int, drafts: int, seconds: float) -> str:
    counts = [plural(items, "item"), plural(stories, "story"), f"{ranked} ranked", plural(drafts, "new draft")]
    return SEPARATOR.join([*counts, f"{seconds:.1f} s"])


def run_ingested(new: int) -> str:
    return f"items, {new} new"


def run_recent(runs: int, items: int, drafts: int) -> str:
    return SEPARATOR.join([plural(runs, "run"), plural(items, "item"), plural(drafts, "draft")])


def run_sources(fetched: int, unchanged: int) -> str:
    return f"{plural(fetched, 'source')} fetched, {unchanged} unchanged"


def run_successes(total: int, rate: float | None) -> str:
    return f"{total} · {f'{rate:.0%} succeeded' if rate is not None else 'none finished'}"


def run_summary(drafts: int, items: int, seconds: float) -> str:
    return f"{plural(drafts, 'new draft')} from {plural(items, 'item')} in {seconds:.1f} s"


def run_without_drafts(reason: str) -> str:
    """Return the result of a run that drafted nothing, `reason` being such as "12 items had nothing to quote"."""
    return f"No new drafts: {reason}"


def source_added(name: str) -> str:
    return f"Added {name}. {key_label('sources.run')} runs the pipeline."


def source_deleted(name: str) -> str:
    return f"Deleted {name}."


def source_edit_title(name: str) -> str:
    return f"Edit {name}"


def source_entries(count: int, *, more: bool) -> str:
    """Return how many entries a test fetch found; `more` if only the first ones are shown."""
    return f"First {plural(count, 'entry')}" if more else f"{plural(count, 'entry')} found"


def source_failures(count: int) -> str:
    return f"{count} in a row"


def source_items(total: int, today: int, recent: int, days: int) -> str:
    return f"{total} · {today} published today, {recent} in {days} days"


def source_next_fetch_disabled() -> str:
    return f"never, the source is disabled; {key_label('sources.switch')} enables it"


def source_number_expected(field: str, entered: str) -> str:
    return f"must be {SOURCE_NUMBERS[field]}, not {entered!r}"


def source_saved(name: str) -> str:
    return f"Saved {name}."


def source_toggled(name: str, *, enabled: bool) -> str:
    key = key_label("sources.switch")
    return f"Enabled {name}. {key} disables it." if enabled else f"Disabled {name}. {key} enables it."


def no_source_yet() -> str:
    """Refuse an action on a source where there is none."""
    return f"No sources yet. {key_label('sources.new')} adds one."


def no_source_selected() -> str:
    """Refuse an action on a source while the runs have the focus."""
    return f"A run is selected. {key_label('sources.back')} goes back to the sources."


def sources_failed(count: int) -> str:
    return f"{plural(count, 'source')} failed"


def sources_title(count: int, failing: int, disabled: int) -> str:
    parts = [SOURCES_TITLE, *([str(count)] if count else [])]
    parts += [f"{failing} failing"] * bool(failing) + [f"{disabled} disabled"] * bool(disabled)
    return SEPARATOR.join(parts)


def source_url_missing(hosts: Sequence[str]) -> str:
    """Return the prompt of the form without a URL, with an example where the type has its own site."""
    return f"Enter a URL, for example https://{hosts[0]}" if hosts else "Enter a URL"


# Experiments

EXPERIMENTS = "Experiments"
AVERAGE_EDIT_NOTE = "Average edit: share of words changed before approval."
AA_FIELD = "A/A test"
AA_TEST = "A/A test"
APPLY_FIELD = "Use in voice"
CONCLUDE = "conclude"
CONCLUDE_HINT = (
    "Use in voice makes the winner's value the setting of the voice. A concluded experiment cannot be reopened."
)
NO_WINNER = "no winner"
NO_VARIANT = "–"
NO_OR_YES = {"": "no", "yes": "yes"}
OTHER_PARAMETER = "other"
PARAMETERS = {
    "hashtags": "how many: 0 to 5",
    "length": "characters of a post, words of a blog post",
    "emoji": "never, sparing or free",
    "link": "always, never or auto",
    "hook": "how the text begins, in words for a language model",
    "tone": "in words for a language model",
    "style": "in words for a language model",
    "cta": "the call to action, in words for a language model",
    "instructions": "in words for a language model",
    "writer": "which writer writes the draft",
    "temperature": "of a language model",
    "": "a parameter that a writer of yours knows by its name",
}
"""What an experiment can compare, and the values; the empty name stands for any other."""
CONCLUDED_WITHOUT_WINNER = "Concluded without a winner."
ESTIMATE = {
    "acceptance": "Accepted without edits",
    "edits": "Words changed, a rejected draft counts as all",
    "engagement": "Engagement",
}
EXPERIMENT_NAME_PLACEHOLDER = "e.g. Hashtags"
EXPERIMENT_STATUS = {
    "active": Badge("a", "good", "active"),
    "concluded": Badge("c", "accent", "concluded"),
    "archived": Badge("x", "dim", "archived"),
}
METRIC_FIELD = "Decided by"
STILL_NEEDED = "still needed"
NAME_FIELD = "Name"
NEW_EXPERIMENT = "New experiment"
CREATE = "create"
NO_EXPERIMENTS = "No experiments yet"
NO_EXPERIMENTS_HINT = " creates one: new drafts take turns with two to five variants, and this screen compares them."
"""After the key that creates an experiment."""
PARAMETER_FIELD = "Parameter"
PARAMETER_PLACEHOLDER = "e.g. hashtags"
POSTS_FIELD = "Posts each"
POSTS_PLACEHOLDER = "empty: as below"
RATE = "Rate"
REASON_FIELD = "Reason"
UNKNOWN_VALUE = "–"
VARIANTS = "Variants"
WINNER_FIELD = "Winner"
VARIANT_PLACEHOLDER = "label = value, or the value alone"
VARIANT_FIELDS = {
    "Control": "",
    "Variant B": "",
    "Variant C": OPTIONAL,
    "Variant D": OPTIONAL,
    "Variant E": OPTIONAL,
}
"""The labels of the fields, with their placeholders."""
VARIANT_METRICS = (
    "setting",
    STILL_NEEDED,
    "items drafted",
    "approved",
    "without edits",
    "rejected",
    "average edit",
    "posts",
    "measured posts",
    "too young",
    "without metrics",
    "impressions",
    "interactions",
    "interactions per post",
    "rate",
)
"""The rows of the comparison, in this order."""


def list_title(name: str, count: int) -> str:
    """Return the title of a list and the number of its rows."""
    return f"{name} · {count:,}" if count else name


def experiment_parameter(parameter: str) -> str:
    """Return what an experiment compares."""
    return f"tests {parameter}"


def started(time_ago: str) -> str:
    """Return when an experiment started."""
    return f"started {time_ago}"


def ended(time_ago: str) -> str:
    """Return when an experiment was concluded."""
    return f"ended {time_ago}"


def unsupported_variants(parameter: str) -> str:
    """Warn that the offline writer treats some variants alike."""
    return f"The offline writer does not support these settings of {parameter}: some variants come out the same."


def drafted_items(drafted: int, assigned: int) -> str:
    """Return how many of the items of a variant have a draft."""
    return f"{drafted:,} of {assigned:,}"


def decided_by(metric: "Metric") -> str:
    """Return the metric that decides an experiment."""
    return f"decided by {metric.value}"


def estimate_title(metric: "Metric", posts: int) -> str:
    """Return the title of the estimates of a comparison."""
    return f"{ESTIMATE[metric]}, first {posts} {metric.counted}s per variant, 95% intervals"


def chance_to_be_best(chance: float) -> str:
    """Return the probability that a variant is the best; never certainty."""
    share = "> 99%" if chance > 0.995 else "< 1%" if chance < 0.005 else f"{chance:.0%}"
    return f"{share} best"


def planned_comparisons(metric: "Metric", posts: Sequence[int], taken: int) -> str:
    """Return when the variants are compared; `taken` of the comparisons are done."""
    marked = ", ".join(f"{count}{' ✓' if number < taken else ''}" for number, count in enumerate(posts))
    return f"Compared at {marked} {metric.counted}s per variant; no verdict in between."


def reason_placeholder(plan: "ExperimentPlan") -> str:
    """Return when concluding needs a reason."""
    return f"required before {plural(plan.posts_per_variant, plan.metric.counted)} per variant"


def posts_needed(plans: "Sequence[ExperimentPlan]") -> str:
    """Return the posts per variant that an experiment takes, by what decides it."""
    needed = ", ".join(f"{plan.metric.value} {_need(plan.metric, plan.needed[0])}" for plan in plans)
    default = ", ".join(f"{plan.metric.value} {plan.posts_per_variant}" for plan in plans)
    return f"Posts per variant needed: {needed}. If empty: {default}."


def _need(metric: "Metric", need: "LiftNeed") -> str:
    """Return the posts, and how much more (of edits, fewer) they detect: `197 (12% more, 64 weeks)`."""
    difference = f"{1 - 1 / need.lift:.0%} fewer" if metric.value == "edits" else f"{need.lift - 1:.0%} more"
    weeks = "" if need.weeks is None else f", {plural(max(round(need.weeks), 1), 'week')}"
    return f"{need.posts_per_variant:,} ({difference}{weeks})"


def concluded_early(reason: str) -> str:
    """Return why an experiment was concluded before its plan was complete."""
    return f"Concluded before the plan was complete: {reason}"


def voice_setting_changed(setting: str, before: str, after: str) -> str:
    """Return a setting of the voice that the winner replaced."""
    return f"Voice: {setting.removeprefix('formats.').replace('.', ' ').lower()} {before} → {after}"


def concluded_with_winner(variant: str) -> str:
    """Return the user's conclusion."""
    return f"Concluded. Winner: {variant}"


def parameter_list_title() -> str:
    """Return the title of the list of what an experiment can compare."""
    keys = (("list.open", "choose"), ("pick.narrow", "search"), ("pick.leave", "cancel"))
    return labelled_keys("What to compare", keys)


def new_experiment_title(parameter: str) -> str:
    """Return the title of the form of a new experiment."""
    return f"{NEW_EXPERIMENT} · {parameter}" if parameter else NEW_EXPERIMENT


def experiment_form_hint(plans: "Sequence[ExperimentPlan]", *, is_typed: bool) -> str:
    """Explain the fields of the form, and what an experiment takes."""
    choose = f"{key_label('choice.previous')} {key_label('choice.next')} choose a value."
    values = "Variants: a number, text, true, false, or null for default." if is_typed else choose
    return f"{values} {posts_needed(plans)}"


def tested_by(experiment: str) -> str:
    """Return the note on a parameter that an active experiment tests."""
    return f"tested by “{experiment}”"


def parameter_taken(parameter: str, experiment: str) -> str:
    """Refuse a second experiment with a parameter."""
    return f"“{experiment}” tests {parameter} already. {key_label('experiments.conclude')} concludes it."


def conclude_title(name: str) -> str:
    """Return the title of the form that concludes an experiment."""
    return f"Conclude “{name}”"


def experiment_created(name: str, plan: str) -> str:
    """Return the result of creating an experiment."""
    return f"Created “{name}”: {plan}"


def experiment_concluded(name: str) -> str:
    """Return the result of concluding an experiment."""
    return f"Concluded “{name}”"


def experiment_archived(name: str) -> str:
    """Return the result of archiving an experiment."""
    return f"Archived “{name}”"


def no_experiment() -> str:
    """Refuse an action on an experiment where there is none."""
    return f"No experiments yet. {key_label('experiments.new')} adds one."


def experiment_already(status: "ExperimentStatus") -> str:
    """Refuse an action on an experiment that has this status or a later one."""
    return f"Already {EXPERIMENT_STATUS[status].text}"


def experiment_still_active() -> str:
    """Refuse to archive an active experiment."""
    return f"Cannot archive an active experiment. {key_label('experiments.conclude')} concludes it."


def parameter_missing(example: str) -> str:
    """Refuse the form without a parameter."""
    return f"Enter a parameter, for example {example}."


# Engagement

ENGAGEMENT = "Engagement"
ALL_TIME = "all time"
BY_FORMAT = "By format"
BY_PLATFORM = "By platform"
COLUMN_COUNTS = "posts"
"""Before the line with the number of posts behind each column."""
EMPTY_METRICS = "Nothing changed"
FIELD_ACCOUNT = "account"
FIELD_LINK = "link"
FIELD_POSTED = "posted"
INTERACTIONS_MISSING = "no interactions"
"""Why a post has no rate."""
INTERVAL_NAMES = {"day": "day", "week": "week", "month": "month"}
LONGER_PERIOD_HINT = " shows a longer period."
"""After the key that does."""
METRIC_NAMES = {
    "impressions": "impressions",
    "likes": "likes",
    "replies": "replies",
    "reposts": "reposts",
    "clicks": "clicks",
}
"""The names of the metrics, in the order of the tables."""
METRICS_FORM_HINT = "Empty fields stay unchanged."
RECORD = "record"
NO_LINK = "none"
NO_LINK_TO_OPEN = "This post has no link"
NO_POSTS = "No posts yet"
NO_POSTS_HINT = ("Metrics appear here after a draft is posted. ", " opens Review, where ", " posts a draft.")
"""Around the keys of the review and of posting."""
NO_RATE = "no rate"
NO_RATE_WITHOUT_IMPRESSIONS = "no impressions, so no rate"
NOT_RECORDED = "not recorded"
POST = "Post"
POSTS = "Posts"
POST_WITHOUT_METRICS = "No metrics yet"
POST_COLUMNS = {"rate": "rate", "interactions": "total", "impressions": "impr", "likes": "likes", "post": "post"}
"""Headings of the list of posts: its metric, other metrics, and what follows."""
TILE_INTERACTIONS = "interactions"
TILE_PER_POST = "per post"
TILE_POSTS = "posts"
TILE_RATE = "rate"
TIMES = "Hours of the week"
VALUE_NAMES = {
    "interactions": "Interactions per post",
    "rate": "Engagement rate",
}
VALUE_BASIS = {
    "interactions": "likes, replies, reposts and clicks",
    "rate": "interactions / impressions",
}
VALUE_UNKNOWN = "unknown"


def largest_column(count: int) -> str:
    """Return the number of posts behind the column with the most."""
    return f"most {count}"


def last_days(days: int) -> str:
    """Return the name of a period that ends today."""
    return f"last {plural(days, 'day')}"


def metrics_title(period: str) -> str:
    """Return the title of the metrics of a period."""
    return f"Metrics · {period}"


def posts_title(count: int, metric: "EngagementMetric", *, is_limited: bool) -> str:
    """Return the title of the list of posts; `is_limited` if only the best are listed."""
    title = list_title(POSTS, count) if not is_limited else f"{POSTS} · top {count:,}"
    return f"{title} · {posts_by(metric)}" if count else title


def no_posts_in(period: str) -> str:
    """Return the heading of a period without posts."""
    return f"No posts in the {period}"


def platform_name(platform: str) -> str:
    """Return a platform's name as people read it; the name itself if the platform is unknown."""
    from copydesk.desk.catalog import platform_label  # noqa: PLC0415 - as in `source_type_label`

    return platform_label(platform)


def missing_impressions(message: str) -> str:
    """Return the warning `No impressions from bluesky, x: …` with the names of the platforms as these write them."""
    names = re.compile(r"(?<= from )[^:]+")
    return names.sub(lambda found: ", ".join(map(platform_name, found[0].split(", "))), message, count=1)


def by_interval(interval: "Interval") -> str:
    """Return the step of the chart over time."""
    return f"by {INTERVAL_NAMES[interval]} of posting"


def posts_without_time(count: int) -> str:
    """Return the number of posts that are missing in the chart over time."""
    return f"{plural(count, 'post')} without a posting time"


def posts_behind(posts: int, known: int, metric: "EngagementMetric") -> str:
    """Return the number of posts behind a bar, and for how many the metric is known."""
    name = "interactions" if metric == "interactions" else "a rate"
    return plural(posts, "post") if known == posts else f"{plural(posts, 'post')}, {known or 'none'} with {name}"


def totals(metrics: Sequence[tuple[str, int]]) -> list[str]:
    """Return the sum of each reported metric."""
    return [f"{total:,} {METRIC_NAMES[name]}" for name, total in metrics]


def measured(measured: int, posts: int) -> str:
    """Return how many posts have metrics."""
    return f"{measured:,} of {plural(posts, 'post')} measured"


def not_reported(missing: Sequence[tuple[str, Sequence[str]]], without: Sequence[str]) -> list[str]:
    """Return which metrics the platforms in `missing` lack, and who reports nothing."""
    parts = [f"{', '.join(platforms)}: no {' or '.join(metrics.split())}" for metrics, platforms in missing]
    return [*parts, *([f"{', '.join(without)}: no metrics yet"] if without else [])]


def gaps_below(section: str) -> tuple[str, str]:
    """Return where on the page it says what platforms do not report: in full, and in short."""
    return f"not all metrics, see {section}", f"see {section}"


def change(difference: float) -> str:
    """Return the change of a value against the period before."""
    if abs(difference) < 0.005:
        return "no change"
    return f"{'▲' if difference > 0 else '▼'} {abs(difference):,.0%}"


def period_before(before: "PeriodFigures", growing_hours: int, *, is_compared: bool) -> str:
    """Return the period that the changes are measured against, or that there are too few posts for that.

    The interactions of posts younger than `growing_hours` still change.
    """
    days = plural((before.last - before.first).days + 1, "day")
    if not before.figures.posts:
        return f"No posts in the {days} before to compare with"
    if not is_compared:
        return f"Too few posts to compare with the {days} before"
    posts = plural(before.figures.posts, "post")
    # They make a short period look worse than the one before.
    growth = describe_growth(growing_hours)
    return f"▲ ▼ against the {days} before, {_day(before.first)} to {_day(before.last)}: {posts}. {growth}"


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"


def lift_ranges(steps: Sequence[float]) -> tuple[str, str, str, str]:
    """Return the names of the four ranges between the steps."""
    low, _, high = (f"{abs(step):.0%}" for step in steps)
    return f"over {low} less", "average", "more", f"over {high} more"


def hours_hints(posts: int, zone: str) -> list[str]:
    """Return the posts of the heat map and their time zone, the longest text first."""
    count, name = plural(posts, "post"), zone_name(zone)
    return [f"{count} vs. similar ones, {name}", f"{count}, {name}", name]


def not_reported_by(platform: str) -> str:
    """Return that a platform does not report a metric."""
    return f"not reported by {platform}"


def posts_by(metric: "EngagementMetric") -> str:
    """Return the order of the list of posts."""
    return "by interactions" if metric == "interactions" else "by rate"


def record_hint() -> tuple[tuple[str, str], str]:
    """Return the key that records metrics by hand, and what it does."""
    return (key_label("engagement.record"), "key"), " records metrics by hand"


def fetch_hint(platform: str) -> tuple[str, tuple[str, str], str]:
    """Return the key that fetches metrics from a platform, and what it does, after `record_hint`."""
    return ", ", (key_label("engagement.fetch"), "key"), f" fetches them from {platform}"


def updated(time_ago: str) -> str:
    """Return when the metrics of a post were measured."""
    return f"updated {time_ago}"


def rate(percent: str) -> str:
    """Return the rate of a post."""
    return f"{RATE} {percent}"


def interactions(count: int) -> str:
    """Return the interactions of a post."""
    return plural(count, "interaction")


def interactions_per_impressions(interactions: int, impressions: int) -> str:
    """Return the counts behind the rate of a post."""
    return f"{interactions:,} / {impressions:,} impressions"


def no_posts_to_fetch() -> str:
    """Refuse to fetch metrics of posts that were recorded by hand."""
    return f"None of these posts was sent by Copydesk. {key_label('engagement.record')} records metrics by hand."


def fetching_metrics(drafts: int) -> str:
    """Return the progress of fetching metrics."""
    return f"Fetching metrics of {plural(drafts, 'draft')}…"


def metrics_fetched(posts: int) -> str:
    """Return the result of fetching metrics."""
    return f"Updated metrics of {plural(posts, 'post')}"


def no_platform_answered() -> str:
    """Return that no platform reported metrics."""
    return f"No platform answered. {key_label('console.setup')} opens Setup, which shows account problems."


def metrics_form_title(target: str, text: str) -> str:
    """Return the title of the form for a post's metrics."""
    return f"Metrics of {target}: {text}"


def metrics_recorded(metrics: Mapping[str, int]) -> str:
    """Return the result of recording metrics by hand."""
    return f"Recorded {', '.join(f'{value:,} {METRIC_NAMES[name]}' for name, value in metrics.items())}"


# Setup

ACCOUNT_CANNOT_POST = "cannot post"
ACCOUNT_FIELDS_HINT = "Secrets are stored separately and never shown."
ACCOUNT_NOT_TESTED = "not tested"
ACCOUNT_TITLE = "Account"
ACCOUNTS_TITLE = "Accounts"
ADVICE_BADGES = {"ok": ("ok", "good"), "warning": ("warning", "warn"), "error": ("error", "bad")}
"""Words and roles for the results of the doctor's checks."""
CHECKING = "Checking…"
CREDENTIAL_REQUIRED = "is missing"
CONNECT = "connect"
ADD = "add"
DISCONNECT = "disconnect"
EMPTY_ACCOUNTS = "No accounts"
EMPTY_ACCOUNTS_HINT = "You can write and review drafts without one. Connect an account to post them."
EMPTY_ACCOUNTS_TITLE = "No account connected"
FIELD_CONNECTED = "connected"
FIELD_CREDENTIALS = "credentials"
FIELD_LOCAL_TIME = "local time"
FIELD_MAX_LENGTH = "max length"
FIELD_NAME = "name"
FIELD_PLATFORM = "platform"
FIELD_SERVER = "server"
FIELD_SLOTS = "weekly slots"
FIELD_SOFTWARE = "software"
FIELD_TESTED = "tested"
FIELD_ZONE = "time zone"
FILES_TITLE = "Files"
RECONNECT_HINT = "connect again"
NOTHING_TO_EDIT = "Nothing to edit here. The locations of files are set in the settings file."
RECHECK_HINT = "check again"
SETUP_TITLE = "Setup"
SIGN_IN_APPROVE = "Approve access in your browser. If none opened, open this page:"
SIGN_IN_NO_BROWSER = "No browser found. Open this page in one, approve access, and paste the URL it ends on:"
SIGN_IN_OPENING = "Opening the sign-in page…"
SIGN_IN_PASTE = "or paste the browser's final URL"
VOICE_AVOID = "Avoid"
VOICE_HASHTAGS = "Your hashtags"
VOICE_AVOID_EMPTY = "nothing"
VOICE_DEFAULT = "default"
VOICE_EDIT_HINT = "edit and preview"
VOICE_IMPORT_HINT = "import posts of an account"
VOICE_EXAMPLES = "Examples"
VOICE_EXAMPLES_EMPTY = "none"
VOICE_FIELDS = {
    "style": "Style",
    "avoid": "Avoid, one word or phrase per line",
    "examples": "Your posts, separated by ---",
    "hashtag_list": "Your hashtags, one per line",
}
VOICE_ENTRIES = {"avoid": "phrase to avoid", "examples": "post", "hashtagList": "hashtag"}
VOICE_LISTS = {"examples": "posts", "hashtagList": "hashtags"}
"""What errors call the fields of a request, and what one of several is called."""
VOICE_FORMATS = "Formats"
VOICE_KEYS = {"save": "save", "next": "next", "try": "preview now", "leave": "cancel"}
VOICE_PLACEHOLDERS = {
    "maxLength": "at least 40",
    "maxParts": "2 to 25",
    "targetWords": "at least 50",
    "hashtags": "0 to 5",
}
VOICE_PREVIEW = "Preview"
VOICE_SAMPLE_WITHOUT_TAGS = "This item has no tags, so no hashtags are added."
VOICE_SAMPLE_OF = "from"
VOICE_COMPARED = "What the change does to recent items"
VOICE_NOW, VOICE_THEN = "now", "then"
VOICE_UNCHANGED = "unchanged"
VOICE_DECLINED = "the writer declines it"
VOICE_SAVED = "Saved your voice. New drafts will follow it."
VOICE_SETTINGS = {"maxLength": "max length", "maxParts": "max posts", "targetWords": "target words"}
"""Labels of settings whose label differs from their name."""
VOICE_STYLE = "Style"
VOICE_STYLE_EMPTY = "No style set"
VOICE_TITLE = "Voice"
WRITER_ADD_HINT = "add a language model"
WRITER_USE_HINT = "use it to write drafts; the offline writer takes over if it fails"
WRITER_EDIT_HINT = "edit the voice and preview it on a real item"
ENDPOINT_PLACEHOLDER = "https://…/v1; empty: OpenAI or Anthropic"
FIELD_KEY = "key"
FIELD_MODEL = "model"
FIELD_PRICE = "price"
FIELD_PROTOCOL = "protocol"
FIELD_SPENDING = "this month"
FIELD_STRUCTURED = "structured output"
KEY_MISSING = "none"
KEY_PLACEHOLDER = "empty if none needed"
KEY_STORED = "stored"
MODEL_PLACEHOLDER = "name on the server"
PRICE_KNOWN = "in the settings"
PRICE_UNKNOWN = "unknown; add it to [prices] in the settings"
PROTOCOL_PLACEHOLDER = "openai (most servers) or anthropic"
REMOVE_WRITER = "remove"
WRITER_FORM_TITLE = "Add a language model and test it"
ADD_AND_TEST = "add and test"
WRITER_NAME_PLACEHOLDER = "any short name"
WRITER_BUILT_IN = "built in"
WRITER_NOT_ASKED = "not used"
WRITERS_TITLE = "Writers"
NOTHING_TO_TEST = "Only accounts and writers can be tested: open the section Accounts or Writers."
NOTHING_TO_REMOVE = "There is nothing to remove in this section."
NOTHING_TO_IMPORT = "Posts are imported in the sections Accounts and Voice."
NOTHING_TO_USE = "Only writers can be chosen: open the section Writers."
TEXT_ARRIVING = "The text as it arrives; it is checked once it is complete."
PROMPT_TITLE = "Prompt"
PROMPT_EMPTY = "No language model was used for this draft."
PROMPT_SYSTEM = "Instructions"
PROMPT_MATERIAL = "Material"
PROMPT_REPORT = "Report"
PROMPT_CLAIMS = "Claims, with the words of the source that the model names"
LEARNING_TITLE = "Learning"
RANKING_TITLE = "Ranking"
RULES_TITLE = "Rules"
WHY_TITLE = "Why is it not here?"
WHY_PROMPT = "Why is it not here? Address of its page"
RULE_FROM_REASON = "Make a rule from the reason"
MAKE_RULE = "make rule"
RULE_FORM = "Change a rule"
RULE_KIND_HINT = "exclude filters items out; avoid keeps the words out of drafts."
RULE_STATE_HINT = "The state is on, off or delete."
RULE_OFF = "switched off"
RULE_UNCHANGED = "unchanged"
RULE_EFFECTS = {"exclude": "excludes items", "avoid": "keeps out of drafts"}
RULE_DELETED = "Rule deleted."
FIELD_RULE, FIELD_TERM, FIELD_KIND, FIELD_STATE = "rule", "word or phrase", "effect", "state"
FIELD_INTERESTS, FIELD_INCLUDE, FIELD_EXCLUDE = "interests", "must have any", "must not have"
FIELD_MIN_SCORE, FIELD_MAX_DRAFTS = "lowest score", "drafts a run"
FIELD_WEIGHTS = "weights"
RANKING_NOT_SAVED = "These are the defaults, with what the settings file changes."
RANKING_SAVED = "Ranking saved. The next run uses it."
RANKING_RESET = "Ranking from the settings file"
RESET_RANKING_PROMPT = "Use the interests, filters and weights of the settings file again?"
RESET = "reset"
RANKING_FORM_TITLE = "Change ranking"
RANKING_PREVIEW_TITLE = "Ranking preview"
PREVIEW_RANKING = "preview"
PREVIEW_SAVED_SOURCES = "A new source has no items to preview with."
RANKING_FORM_HINT = (
    "Separate several by commas. The last seven lines are weights, 0 to 1. Enter shows what the change would do;"
    " nothing is saved before."
)
NO_APPROVALS_TO_COMPARE = "No approvals in these days to compare with."
WITH_CHANGE, WITHOUT_CHANGE, BY_RECENCY = "with the change", "as it is", "by recency alone"
GAINED, LOST = "Drafted only with the change", "Not drafted any more"


def story_told_by(title: str) -> str:
    return f"Its story is told by “{title}”."


def rank_without_interest(interest: str, rank: int | None) -> str:
    return f"Without the interest “{interest}”: {f'rank {rank}' if rank else 'no rank'}."


def rank_change(rank: int | None, now: int | None) -> str:
    """Return the rank of a story as it is, and with a change: `rank 14 → 3`."""
    return f"rank {now or 'none'} → {rank or 'none'}"


def ranking_saved(names: Iterable[str]) -> str:
    return f"Saved here, in place of the settings file: {', '.join(names)}."


def ranking_hints(*, is_saved: bool) -> str:
    edit = f"{key_label('setup.edit')} changes them, and shows first what the change would do."
    return f"{edit} {key_label('setup.remove')} uses the settings file again." if is_saved else edit


def ranking_preview_title() -> str:
    save, leave = key_label("ranking_preview.save"), key_label("ranking_preview.leave")
    return f"{RANKING_PREVIEW_TITLE} · {save} save · {leave} back"


def number_range(low: int, high: int) -> str:
    return f"takes a number from {low:,} to {high:,}"


def preview_days(days: int, items: int) -> str:
    return f"{days} days, {plural(items, 'item')}."


def preview_approvals(count: int, top: int) -> str:
    return f"Of your last {plural(count, 'approval')} among the top {top} of their day:"


def hits_with_interval(hits: int, count: int, low: float, high: float) -> str:
    return f"{hits} ({hits / count:.0%}, interval {low:.0%} to {high:.0%})"


def rules_empty() -> str:
    return f"No rules. {key_label('review.make_rule')} in Review makes one from the reason of a rejection."


def ranking_not_reset() -> str:
    """Return the refusal to reset a ranking that was not changed in the console or by a command."""
    return f"Nothing to reset: the ranking was not changed. {key_label('setup.edit')} changes it."


def rules_removed_by() -> str:
    """Return how a rule is removed."""
    return f"{key_label('setup.edit')} opens a rule; its state “delete” removes it."


def learning_keys() -> str:
    """Refuse to edit what is learnt from decisions."""
    return f"This is learnt from your decisions. {key_label('setup.remove')} forgets it."


def rule_made(term: str) -> str:
    return f"Rule made for “{term}”."


def ambiguous_rule(names: Sequence[str]) -> str:
    return f"is ambiguous: {' or '.join(names)}"


def rule_changed(term: str) -> str:
    return f"Rule for “{term}” changed."


def rule_hint(reason: str) -> str:
    return f"Reason: {reason}{'' if reason.endswith(('.', '!', '?', '…')) else '.'} {RULE_KIND_HINT}"


def rule_without_reason() -> str:
    """Return the refusal to make a rule of a draft that was not rejected, or without a reason."""
    return f"Only the reason that you give when you reject with {key_label('review.reject')} becomes a rule."


CONFIDENCE_TITLE = "Confidence"
CONFIDENCE_NOTE = "The chance that you approve a draft without editing it, learnt from your decisions."
RELIABILITY_COLUMNS = ("confidence", "drafts", "predicted", "approved unedited")
FORGET, RESTORE_LEARNING = "forget", "restore"
FORGET_PROMPT = "Forget what is learnt from your decisions? Only later ones will count; drafts and voice stay."
LEARNING_RESET = "Only decisions from now on count."
LEARNING_RESTORED = "All your decisions count again."


def learning_decisions(approved: int, rejected: int) -> str:
    return f"Learnt from {plural(approved + rejected, 'decision')}: {approved:,} approved, {rejected:,} rejected."


def learning_since(time: str | None) -> str:
    return f"Decisions before {time} do not count." if time else "All decisions count."


def forget_hint(*, is_reset: bool) -> str:
    return "count earlier decisions again" if is_reset else "forget what is learnt"


def confidence_unknown(decisions: int, needed: int) -> str:
    return f"Not known yet: {decisions} of {needed} decisions."


def brier_score(model: float, base_rate: float, count: int) -> str:
    """Return the error of the confidence beside that of predicting the same for every draft."""
    better = "better" if model < base_rate else "not better"
    return f"Brier score {model:.3f} over {plural(count, 'decision')}, {better} than {base_rate:.3f} of the base rate."


def share_or_dash(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


WRITER_TITLE = "Writer"
WRITER_FOLLOWS = "It follows your voice's phrases to avoid, lengths, hashtags, emoji and links."
WRITER_OFFLINE = "Copies sentences from the source. Needs no network and no API key, and costs nothing."
ZONE_EDIT_HINT = "change the time zone"
ZONE_NOTE = "Slots and times use this time zone."


def account_connected(label: str) -> str:
    return f"Connected {label}."


def account_keys() -> str:
    keys = {
        "setup.connect": "connect",
        "setup.check": "test",
        "setup.import": "import posts",
        "setup.remove": "disconnect",
    }
    return SEPARATOR.join(f"{key_label(action)} {effect}" for action, effect in keys.items())


def account_missing() -> str:
    return f"No account connected. {key_label('setup.connect')} connects one."


def account_removed(label: str) -> str:
    return f"Disconnected {label}. Revoke Copydesk's access in the account's settings, too."


def account_tested(ago: str) -> str:
    return f"tested {ago}"


def account_testing(server: str) -> str:
    return f"Testing the connection to {server}…"


def posts_reading(label: str) -> str:
    return f"Reading the posts of {label}…"


def posts_not_found(label: str) -> str:
    return f"{label} has no post that can be an example."


def posts_not_new(count: int) -> str:
    return f"Nothing to add: {plural(count, 'post')} found, all of them examples already, or there is no room for more."


def posts_import_title(label: str, new: int, found: int) -> str:
    """Return the title of the posts that an import adds: `Add 3 of 5 posts of bluesky:me · Ctrl+S add · q cancel`."""
    count = plural(new, "post") if new == found else f"{new:,} of {plural(found, 'post')}"
    return f"Add {count} of {label} · {key_label('import.save')} add · {key_label('import.leave')} cancel"


def examples_added(count: int) -> str:
    return f"Added {plural(count, 'example')}."


def import_account_title() -> str:
    return f"Import posts of · {key_label('list.open')} choose · {key_label('pick.leave')} cancel"


def account_works(label: str) -> str:
    return f"{label}: connection works."


def account_failed(label: str, error: str) -> str:
    return f"{label}: {error}"


def remove_writer_prompt(name: str) -> str:
    return f"Remove {name} and delete its key? Its drafts stay."


def spending(spent: "Spending", budget: float, format_cost: Callable[[float], str]) -> str:
    limit = f" of {format_cost(budget)}" if budget else ""
    unpriced = f", {spent.unpriced} of unknown cost" if spent.unpriced else ""
    return f"{format_cost(spent.cost)}{limit}, {plural(spent.requests, 'request')}{unpriced}"


def writer_added(test: "WriterTest", cost: str) -> str:
    return f"Added {writer_works(test, cost)} {key_label('setup.use')} lets it write drafts."


def offline_writer_tested() -> str:
    return f"The offline writer needs no test. {key_label('setup.connect')} adds a language model."


def offline_writer_removed() -> str:
    return f"The offline writer cannot be removed. {key_label('setup.connect')} adds a language model."


def writer_removed(name: str) -> str:
    return f"Removed {name}."


def writer_state(writer: "WriterInfo", tested: str) -> str:
    if writer.error:
        return "test failed"
    if writer.position is None:
        return WRITER_NOT_ASKED
    if writer.endpoint is None:
        return WRITER_BUILT_IN
    return account_tested(tested) if tested else ACCOUNT_NOT_TESTED


def writer_test_failed(name: str, error: str) -> str:
    return f"Added {name}, but it wrote no post: {error}"


def writer_works(test: "WriterTest", cost: str) -> str:
    return f"{test.name}: {test.answered_by} wrote a post in {test.seconds:.1f} s, cost {cost}."


def writers_chosen(names: Sequence[str]) -> str:
    return f"Drafts are written by {', else '.join(names)}."


def model_request_facts(request: "ModelRequest", cost: str) -> tuple[tuple[str, str], ...]:
    usage = request.usage
    return (
        ("writer", request.writer),
        (FIELD_MODEL, request.model),
        ("answered by", request.answered_by or "no model"),
        ("tokens", f"{format_count(usage.input_tokens)} in, {format_count(usage.output_tokens)} out"),
        ("cost", cost),
        ("time", f"{request.seconds:.1f} s"),
        ("attempts", f"{request.attempts}"),
        *((f"parameter {name}", f"{value}") for name, value in request.parameters.items()),
    )


def checks_passed(passed: int, total: int) -> str:
    return f"{passed} of {plural(total, 'check')} passed"


def connect_hint() -> str:
    from copydesk.desk.catalog import PLATFORMS  # noqa: PLC0415 - as in `source_type_label`

    return f"connect an account: {', '.join(info.label for info in PLATFORMS.values())}"


def connect_title(platform: str) -> str:
    return f"Connect an account · {platform_name(platform)}"


def credential_placeholder(question: str, *, optional: bool) -> str:
    return f"{question} {OPTIONAL}" if optional else question


def credentials_empty(storage: str) -> str:
    return f"none yet; to be stored in {storage}"


def delete_slot_prompt(slot: str) -> str:
    return f"Delete the weekly slot {slot}? Scheduled drafts keep their times."


def disconnect_prompt(label: str) -> str:
    return f"Disconnect {label} and delete its credentials? Posts stay online."


def platform_list_title() -> str:
    keys = (("list.open", "choose"), ("pick.narrow", "search"), ("pick.leave", "cancel"))
    return labelled_keys("Connect an account", keys)


def server_required(platform: str) -> str:
    return f"is missing: the address of your {platform_name(platform)} site or server, such as https://…"


def sign_in_failed(error: str) -> str:
    return f"{error} {key_label('line.take')} tries again."


def voice_preview_title(kind: str, writer: str) -> str:
    return f"{VOICE_PREVIEW}: {kind}, {writer} writer"


def voice_preview_waits(writer: str) -> str:
    return f"Asking {writer} for drafts of recent items…"


def voice_preview_hint(writer: str) -> str:
    return f"{key_label('voice.try')} asks {writer} what the change does."


def voice_unsupported(aspects: Sequence[str]) -> str:
    names = " and ".join(filter(None, (", ".join(aspects[:-1]), aspects[-1])))
    return f"The offline writer ignores {names}."


def zone_saved(zone: str) -> str:
    return f"Time zone set to {zone_name(zone)}."


# Help

CONFIDENCE_MEANING = "confidence: chance that you approve it unedited"
LETTERS = "Letters"
LOG_LETTERS = {"error": ("E", "bad"), "warning": ("W", "warn"), "information": ("i", "dim")}
"""Letter and style of a notification in the log, by its severity."""
NO_MESSAGES = "No messages"


def help_title() -> str:
    """Return the title of the help."""
    keys = (("help.close", "close"), ("help.filter", "search"), ("list.open", "run"), ("list.last", "letters"))
    return labelled_keys("Keys", keys)


def labelled_keys(title: str, keys: Iterable[tuple[str, str]]) -> str:
    """Return a title with keys and what they do."""
    return " · ".join([title, *(f"{key_label(action)} {effect}" for action, effect in keys)])
