"""All keys of the console in one table, from which bindings, the key line and the help are made.

Sentences name keys by their labels, which follow the user's own key assignments.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from textual.binding import Binding, BindingType

from copydesk.model.transitions import POSTING_HINT, RESTORE_HINT
from copydesk.tui.terminal.private_api import active_app


class KeyContext(StrEnum):
    """The part of the console that must be on screen, or focused, for a key to work.

    The value is the title in the help. Names of members that are screens must match SCREEN_NAMES.
    """

    LIST = "List"
    PAGE = "Text"
    REVIEW = "Review"
    NEEDS_YOU = "Needs you"
    COMMENTS = "Comments"
    SEARCH = "Search"
    FILTER = "Filter"
    SOURCES = "Sources"
    SOURCE_FORM = "Source form"
    CHOICE = "Choice field"
    SOURCE_TEST = "Source test"
    FEED_IMPORT = "Feed import"
    SCHEDULE = "Schedule"
    PLAN = "Automatic schedule preview"
    DRAFT_PICKER = "Picker"
    EXPERIMENTS = "Experiments"
    ENGAGEMENT = "Engagement"
    SETUP = "Setup"
    VOICE = "Voice form"
    SIGN_IN = "Browser sign-in"
    COMPOSE = "New draft"
    FIELDS = "Form"
    CONSOLE = "Everywhere"
    RANKING_PREVIEW = "Ranking preview"
    POST_IMPORT = "Import of posts"
    HELP = "Help"
    HELP_SEARCH = "Help search"
    PROMPT = "Prompt"
    CONFIRM = "Confirmation"
    JUMP = "Jump"
    EDIT = "Editor"
    WAIT = "Waiting for the editor"


class Key(NamedTuple):
    """An action and its keys."""

    id: str
    """The id under which a user can configure other keys."""
    context: KeyContext
    keys: str
    """Separated by commas; the first one is displayed."""
    action: str
    description: str
    """Shown in the help and the command palette, in sentence case."""
    footer: str = ""
    """One word for the key line; empty to leave the action out. Adjacent actions with the same word share it."""


SCREEN_NAMES = ("review", "schedule", "sources", "experiments", "engagement", "setup")
"""The screens in the order of their number keys."""
MOVE = "move"
"""The word of the keys that move in a list."""
_LEAVE = "Cancel; asks before discarding changes"

KEYS = (
    Key("list.down", KeyContext.LIST, "j,down", "move(1)", "Next row", MOVE),
    Key("list.up", KeyContext.LIST, "k,up", "move(-1)", "Previous row", MOVE),
    Key("list.first", KeyContext.LIST, "g,home", "first", "First row"),
    Key("list.last", KeyContext.LIST, "G,end", "last", "Last row"),
    Key("list.page_down", KeyContext.LIST, "ctrl+d,pagedown", "half_page(1)", "Half a page down"),
    Key("list.page_up", KeyContext.LIST, "ctrl+u,pageup", "half_page(-1)", "Half a page up"),
    Key("list.open", KeyContext.LIST, "enter", "open", "Open the row", "open"),
    Key("page.down", KeyContext.PAGE, "j,down", "move(1)", "Scroll down", "scroll"),
    Key("page.up", KeyContext.PAGE, "k,up", "move(-1)", "Scroll up", "scroll"),
    Key("page.top", KeyContext.PAGE, "g,home", "first", "Go to the top"),
    Key("page.bottom", KeyContext.PAGE, "G,end", "last", "Go to the end"),
    Key("page.half_down", KeyContext.PAGE, "ctrl+d,pagedown", "half_page(1)", "Half a page down"),
    Key("page.half_up", KeyContext.PAGE, "ctrl+u,pageup", "half_page(-1)", "Half a page up"),
    Key("review.approve", KeyContext.REVIEW, "a", "approve", "Approve", "approve"),
    Key("review.reject", KeyContext.REVIEW, "r", "reject", "Reject, with an optional reason", "reject"),
    Key("review.regenerate", KeyContext.REVIEW, "R", "regenerate", "Regenerate, with optional instructions"),
    Key("review.edit", KeyContext.REVIEW, "e", "edit", "Edit here", "edit"),
    Key("review.edit_outside", KeyContext.REVIEW, "E", "edit_outside", "Edit in $EDITOR"),
    Key("review.schedule", KeyContext.REVIEW, "s", "schedule", "Schedule in the next free slot", "schedule"),
    Key("review.schedule_at", KeyContext.REVIEW, "S", "schedule_at", "Schedule at a time: tomorrow 9, fri 14:30"),
    Key("review.cancel_schedule", KeyContext.REVIEW, "T", "cancel_schedule", "Unschedule: return to Approved"),
    Key("review.unapprove", KeyContext.REVIEW, "U", "unapprove", "Unapprove: return to review"),
    Key("review.post", KeyContext.REVIEW, "p", "post", "Post now; asks for confirmation"),
    Key("review.mark_posted", KeyContext.REVIEW, "m", "mark_posted", "Mark as posted, if the outcome is unknown"),
    Key("review.archive", KeyContext.REVIEW, "x", "archive", "Archive"),
    Key("review.restore", KeyContext.REVIEW, "Z", "restore", "Restore from the archive"),
    Key("review.undo", KeyContext.REVIEW, "u", "undo", "Undo the last change", "undo"),
    Key("review.redo", KeyContext.REVIEW, "ctrl+r", "redo", "Redo the last undone change"),
    Key("review.merge_stories", KeyContext.REVIEW, "M", "merge_stories", "Merge the stories of the marked drafts"),
    Key("review.split_story", KeyContext.REVIEW, "B", "split_story", "Split the draft's item from its story"),
    Key("review.attach_image", KeyContext.REVIEW, "i", "attach_image", "Attach the proposed image, or remove it again"),
    Key("review.why", KeyContext.REVIEW, "w", "why", "Why is an item not here? Asks for its address"),
    Key("review.make_rule", KeyContext.REVIEW, "W", "make_rule", "Make a rule from the reason of a rejection"),
    Key("review.copy_text", KeyContext.REVIEW, "y", "copy_text", "Copy the text"),
    Key("review.copy_link", KeyContext.REVIEW, "Y", "copy_link", "Copy the source's link"),
    Key("review.difference", KeyContext.REVIEW, "d", "difference", "Show changes between versions, or your edit"),
    Key("review.history", KeyContext.REVIEW, "H", "history", "Show the history"),
    Key("review.comments", KeyContext.REVIEW, "@", "comments", "Show the comments on the draft, and add one"),
    Key("review.stats", KeyContext.REVIEW, "%", "decision_stats", "Show how fast you decide, and what you undid"),
    Key("review.prompt", KeyContext.REVIEW, "I", "prompt", "Show the prompt that the draft was written from"),
    Key("review.mark", KeyContext.REVIEW, "space", "mark", "Mark the draft and move down"),
    Key("review.mark_range", KeyContext.REVIEW, "v", "mark_range", "Start or end a range of marks"),
    Key("review.mark_all", KeyContext.REVIEW, "*", "mark_all", "Mark all drafts of the list"),
    Key("review.previous_tab", KeyContext.REVIEW, "[", "tab(-1)", "Previous tab"),
    Key("review.next_tab", KeyContext.REVIEW, "]", "tab(1)", "Next tab"),
    Key("review.search", KeyContext.REVIEW, "/", "search", "Search this tab"),
    Key("review.order", KeyContext.REVIEW, "O", "order", "Sort by score, age, confidence or source"),
    Key("review.filter", KeyContext.REVIEW, "f", "filter", "Filter by source, tag or format"),
    Key("review.next_pane", KeyContext.REVIEW, "tab", "pane(1)", "Next pane"),
    Key("review.previous_pane", KeyContext.REVIEW, "shift+tab", "pane(-1)", "Previous pane"),
    Key("review.next", KeyContext.REVIEW, "J,n", "step(1)", "Next draft, from any pane"),
    Key("review.previous", KeyContext.REVIEW, "K,N", "step(-1)", "Previous draft, from any pane"),
    Key("review.full_screen", KeyContext.REVIEW, "+", "full_screen", "Show only this pane, or all panes again"),
    Key("review.open_link", KeyContext.REVIEW, "o", "open_link", "Open the source's link"),
    Key("review.run", KeyContext.REVIEW, "P", "run_pipeline", "Run the pipeline"),
    Key("review.cancel_run", KeyContext.REVIEW, "X", "cancel_run", "Cancel the run"),
    Key("review.refresh", KeyContext.REVIEW, ".", "refresh", "Refresh"),
    Key("review.back", KeyContext.REVIEW, "escape", "back", "Clear marks, search or filter; focus the queue"),
    Key("needs_you.posted", KeyContext.NEEDS_YOU, "m", "mark_posted", "It is there: mark as posted", "posted"),
    Key("needs_you.again", KeyContext.NEEDS_YOU, "p", "send_again", "Send again; asks for confirmation", "send again"),
    Key("needs_you.drop", KeyContext.NEEDS_YOU, "D", "drop", "Drop: neither send nor check it again", "drop"),
    Key("needs_you.sign_in", KeyContext.NEEDS_YOU, "A", "sign_in", "Sign in to the account", "sign in"),
    Key("needs_you.profile", KeyContext.NEEDS_YOU, "o", "open_profile", "Open the account's profile", "profile"),
    Key("needs_you.previous_tab", KeyContext.NEEDS_YOU, "[", "tab(-1)", "Previous tab"),
    Key("needs_you.next_tab", KeyContext.NEEDS_YOU, "]", "tab(1)", "Next tab"),
    Key("needs_you.pane", KeyContext.NEEDS_YOU, "tab,shift+tab", "pane", "Switch between the list and the delivery"),
    Key("needs_you.refresh", KeyContext.NEEDS_YOU, ".", "refresh", "Refresh"),
    Key("needs_you.back", KeyContext.NEEDS_YOU, "escape", "back", "Go back to the drafts"),
    Key("comments.add", KeyContext.COMMENTS, "A", "add", "Add a comment, on words or on the whole draft", "add"),
    Key("comments.resolve", KeyContext.COMMENTS, "space", "resolve", "Resolve the comment, or open it", "resolve"),
    Key("comments.delete", KeyContext.COMMENTS, "D", "delete", "Delete the comment or the text; asks", "delete"),
    Key("comments.pane", KeyContext.COMMENTS, "tab,shift+tab", "pane", "Switch between the list and the text", "pane"),
    Key("comments.leave", KeyContext.COMMENTS, "q,escape", "leave", "Close", "close"),
    Key("search.results", KeyContext.SEARCH, "enter,down", "results", "Go to the results", "results"),
    Key("search.leave", KeyContext.SEARCH, "escape", "leave", "Clear search", "clear"),
    Key("filter.take", KeyContext.FILTER, "space", "take", "Toggle", "toggle"),
    Key("filter.show", KeyContext.FILTER, "enter", "show", "Apply the filter", "apply"),
    Key("filter.narrow", KeyContext.FILTER, "/", "narrow", "Search the list", "search"),
    Key("filter.clear", KeyContext.FILTER, "x", "clear", "Clear filter", "clear"),
    Key("filter.save_tab", KeyContext.FILTER, "ctrl+s", "save_tab", "Save the filter as a tab", "save"),
    Key("filter.rename_tab", KeyContext.FILTER, "e", "change_tab('rename')", "Rename this saved tab"),
    Key("filter.remove_tab", KeyContext.FILTER, "D", "change_tab('remove')", "Remove this saved tab; asks"),
    Key("filter.tab_left", KeyContext.FILTER, "<", "change_tab('left')", "Move this saved tab to the left"),
    Key("filter.tab_right", KeyContext.FILTER, ">", "change_tab('right')", "Move this saved tab to the right"),
    Key("filter.leave", KeyContext.FILTER, "escape,q", "leave", "Cancel", "cancel"),
    Key("sources.new", KeyContext.SOURCES, "A", "new_source", "Add a source", "add"),
    Key("sources.edit", KeyContext.SOURCES, "e", "edit_source", "Edit the source", "edit"),
    Key("sources.test", KeyContext.SOURCES, "t", "test_source", "Test the source without saving anything", "test"),
    Key("sources.switch", KeyContext.SOURCES, "space", "switch_source", "Enable or disable the source"),
    Key(
        "sources.delete",
        KeyContext.SOURCES,
        "D",
        "delete_source",
        "Delete the source with its items and drafts",
        "delete",
    ),
    Key("sources.import", KeyContext.SOURCES, "ctrl+o", "import_feeds", "Import feeds from an OPML file"),
    Key("sources.export", KeyContext.SOURCES, "L", "export_feeds", "Export the sources to an OPML file"),
    Key("sources.search", KeyContext.SOURCES, "/", "search", "Find a source by its name"),
    Key("sources.run", KeyContext.SOURCES, "P", "run_pipeline", "Run the pipeline", "run"),
    Key("sources.cancel_run", KeyContext.SOURCES, "X", "cancel_run", "Cancel the run"),
    Key("sources.next_pane", KeyContext.SOURCES, "tab,shift+tab", "pane", "Switch between sources and runs", "pane"),
    Key("sources.refresh", KeyContext.SOURCES, ".", "refresh", "Refresh"),
    Key("sources.back", KeyContext.SOURCES, "escape", "back", "Close the run panel, or go back to the list"),
    *(
        Key(
            f"sources.example_{name}",
            KeyContext.SOURCES,
            key,
            f"add_example({at})",
            "Add an example source (new desk only)",
        )
        for at, (name, key) in enumerate(zip("abc", "789", strict=True))
    ),
    Key("source_form.go_on", KeyContext.SOURCE_FORM, "enter", "go_on", "Test the feed, then save", "test, save"),
    Key("source_form.save", KeyContext.SOURCE_FORM, "ctrl+s", "save", "Save without testing", "save untested"),
    Key("source_form.preview", KeyContext.SOURCE_FORM, "ctrl+r", "preview", "Preview the filters on 30 days"),
    Key("source_form.next", KeyContext.SOURCE_FORM, "tab,down", "next_field", "Next field", "next"),
    Key("source_form.previous", KeyContext.SOURCE_FORM, "shift+tab,up", "previous_field", "Previous field"),
    Key("source_form.leave", KeyContext.SOURCE_FORM, "escape", "leave", _LEAVE, "cancel"),
    Key("choice.next", KeyContext.CHOICE, "right,l,space", "step(1)", "Next value"),
    Key("choice.previous", KeyContext.CHOICE, "left,h", "step(-1)", "Previous value"),
    Key("trial.close", KeyContext.SOURCE_TEST, "q,escape,enter", "close", "Close", "close"),
    Key("feeds.close", KeyContext.FEED_IMPORT, "q,escape", "close", "Stop the import and close", "close"),
    Key("feeds.add_failed", KeyContext.FEED_IMPORT, "A", "add_failed", "Add failed feeds anyway"),
    Key("schedule.left", KeyContext.SCHEDULE, "h,left", "move(-1,0)", "Previous day"),
    Key("schedule.down", KeyContext.SCHEDULE, "j,down", "move(0,1)", "Next hour"),
    Key("schedule.up", KeyContext.SCHEDULE, "k,up", "move(0,-1)", "Previous hour"),
    Key("schedule.right", KeyContext.SCHEDULE, "l,right", "move(1,0)", "Next day"),
    Key("schedule.first", KeyContext.SCHEDULE, "g,home", "hour(0)", "First hour"),
    Key("schedule.last", KeyContext.SCHEDULE, "G,end", "hour(-1)", "Last hour"),
    Key("schedule.next_thing", KeyContext.SCHEDULE, "tab", "next_entry", "Next entry in this hour"),
    Key(
        "schedule.shift_left",
        KeyContext.SCHEDULE,
        "<,shift+left",
        "shift(-1,0)",
        "Move draft a day earlier",
        "move it",
    ),
    Key(
        "schedule.shift_right",
        KeyContext.SCHEDULE,
        ">,shift+right",
        "shift(1,0)",
        "Move draft a day later",
        "move it",
    ),
    Key(
        "schedule.shift_up",
        KeyContext.SCHEDULE,
        "{,shift+up",
        "shift(0,-1)",
        "Move draft an hour earlier",
        "move it",
    ),
    Key(
        "schedule.shift_down",
        KeyContext.SCHEDULE,
        "},shift+down",
        "shift(0,1)",
        "Move draft an hour later",
        "move it",
    ),
    Key("schedule.new_slot", KeyContext.SCHEDULE, "A", "new_slot", "Add a weekly slot", "slot"),
    Key("schedule.delete_slot", KeyContext.SCHEDULE, "D", "delete_slot", "Delete the slot; asks for confirmation"),
    Key("schedule.fill", KeyContext.SCHEDULE, "s", "fill", "Schedule an approved draft at this time", "schedule"),
    Key("schedule.auto", KeyContext.SCHEDULE, "Q", "auto", "Auto-schedule approved drafts, after a preview", "auto"),
    Key("schedule.cancel", KeyContext.SCHEDULE, "T", "cancel", "Unschedule the draft"),
    Key("schedule.open", KeyContext.SCHEDULE, "enter", "open", "Open the draft in Review"),
    Key("schedule.week_before", KeyContext.SCHEDULE, "[", "week(-1)", "Previous week", "week"),
    Key("schedule.week_after", KeyContext.SCHEDULE, "]", "week(1)", "Next week", "week"),
    Key("schedule.today", KeyContext.SCHEDULE, "b", "today", "Go to the current hour"),
    Key("schedule.undo", KeyContext.SCHEDULE, "u", "undo", "Undo the last change", "undo"),
    Key("schedule.redo", KeyContext.SCHEDULE, "ctrl+r", "redo", "Redo the last undone change"),
    Key("schedule.zone", KeyContext.SCHEDULE, "z", "zone", "Change the time zone"),
    Key("schedule.accept_clock", KeyContext.SCHEDULE, "!", "accept_clock", "Accept the clock after a jump"),
    Key("plan.do", KeyContext.PLAN, "enter", "answer(True)", "Schedule these drafts", "confirm"),
    Key("plan.leave", KeyContext.PLAN, "escape,q,n", "answer(False)", "Cancel", "cancel"),
    Key("pick.take", KeyContext.DRAFT_PICKER, "enter", "take", "Choose", "choose"),
    Key("pick.narrow", KeyContext.DRAFT_PICKER, "/", "narrow", "Search the list", "search"),
    Key("pick.leave", KeyContext.DRAFT_PICKER, "escape,q", "leave", "Cancel", "cancel"),
    Key("experiments.new", KeyContext.EXPERIMENTS, "A", "new", "Add an experiment", "add"),
    Key("experiments.conclude", KeyContext.EXPERIMENTS, "C", "conclude", "Conclude the experiment", "conclude"),
    Key("experiments.archive", KeyContext.EXPERIMENTS, "x", "archive", "Archive a concluded experiment", "archive"),
    Key(
        "experiments.next_pane",
        KeyContext.EXPERIMENTS,
        "tab,shift+tab",
        "pane",
        "Next pane",
        "pane",
    ),
    Key("experiments.refresh", KeyContext.EXPERIMENTS, ".", "refresh", "Refresh"),
    Key("experiments.back", KeyContext.EXPERIMENTS, "escape", "back", "Go back to the list"),
    Key("engagement.shorter", KeyContext.ENGAGEMENT, "[,-", "period(-1)", "Shorter period", "period"),
    Key("engagement.longer", KeyContext.ENGAGEMENT, "],=", "period(1)", "Longer period", "period"),
    Key("engagement.metric", KeyContext.ENGAGEMENT, "V", "metric", "Compare by rate or by interactions", "metric"),
    Key("engagement.record", KeyContext.ENGAGEMENT, "m", "record", "Record metrics by hand", "record"),
    Key("engagement.fetch", KeyContext.ENGAGEMENT, "F", "fetch", "Fetch metrics now", "fetch"),
    Key("engagement.open_link", KeyContext.ENGAGEMENT, "o", "open_link", "Open the post in the browser"),
    Key("engagement.next_pane", KeyContext.ENGAGEMENT, "tab", "pane(1)", "Next pane", "pane"),
    Key("engagement.previous_pane", KeyContext.ENGAGEMENT, "shift+tab", "pane(-1)", "Previous pane"),
    Key("engagement.refresh", KeyContext.ENGAGEMENT, ".", "refresh", "Refresh"),
    Key("engagement.back", KeyContext.ENGAGEMENT, "escape", "back", "Go back to the metrics"),
    Key("setup.edit", KeyContext.SETUP, "e", "edit", "Edit the voice, ranking, a rule or the time zone", "edit"),
    Key("setup.connect", KeyContext.SETUP, "A", "connect", "Connect an account, or add a language model", "connect"),
    Key("setup.check", KeyContext.SETUP, "t", "check", "Test the connection", "test"),
    Key("setup.use", KeyContext.SETUP, "space", "use", "Let the writer write drafts"),
    Key(
        "setup.import",
        KeyContext.SETUP,
        "ctrl+o",
        "import_posts",
        "Import an account's posts as examples",
    ),
    Key("setup.remove", KeyContext.SETUP, "D", "remove", "Disconnect, remove or forget what is selected", "remove"),
    Key("setup.next_pane", KeyContext.SETUP, "tab", "pane(1)", "Next pane", "pane"),
    Key("setup.previous_pane", KeyContext.SETUP, "shift+tab", "pane(-1)", "Previous pane"),
    Key("setup.refresh", KeyContext.SETUP, ".", "refresh", "Refresh and check the files again"),
    Key("setup.back", KeyContext.SETUP, "escape", "back", "Go back to the sections"),
    Key("voice.save", KeyContext.VOICE, "ctrl+s", "save", "Save", "save"),
    Key("voice.try", KeyContext.VOICE, "ctrl+t,f9", "try_now", "Preview now", "preview"),
    Key("voice.next", KeyContext.VOICE, "tab", "next_field(1)", "Next field", "next"),
    Key("voice.previous", KeyContext.VOICE, "shift+tab", "next_field(-1)", "Previous field"),
    Key("voice.leave", KeyContext.VOICE, "escape", "leave", _LEAVE, "cancel"),
    Key("sign_in.leave", KeyContext.SIGN_IN, "escape", "leave", "Cancel the sign-in", "cancel"),
    Key("compose.save", KeyContext.COMPOSE, "ctrl+s", "save", "Create the draft", "create"),
    Key("compose.next", KeyContext.COMPOSE, "tab", "next_field(1)", "Next field", "next"),
    Key("compose.previous", KeyContext.COMPOSE, "shift+tab", "next_field(-1)", "Previous field"),
    Key("compose.clear", KeyContext.COMPOSE, "ctrl+n,f8", "clear", "Clear the form; asks for confirmation", "clear"),
    Key("compose.leave", KeyContext.COMPOSE, "escape", "leave", _LEAVE, "cancel"),
    Key("fields.save", KeyContext.FIELDS, "enter,ctrl+s", "save", "Save", "save"),
    Key("fields.next", KeyContext.FIELDS, "tab,down", "next_field(1)", "Next field", "next"),
    Key("fields.previous", KeyContext.FIELDS, "shift+tab,up", "next_field(-1)", "Previous field"),
    Key("fields.leave", KeyContext.FIELDS, "escape", "leave", _LEAVE, "cancel"),
    Key("hold.leave", KeyContext.WAIT, "escape", "leave", "Cancel", "cancel"),
    Key("ranking_preview.save", KeyContext.RANKING_PREVIEW, "ctrl+s", "save", "Save the change", "save"),
    Key("ranking_preview.leave", KeyContext.RANKING_PREVIEW, "q,escape", "leave", "Go back without saving", "back"),
    Key("import.save", KeyContext.POST_IMPORT, "ctrl+s", "save", "Add the posts to the examples", "add"),
    Key("import.leave", KeyContext.POST_IMPORT, "q,escape", "leave", "Cancel; nothing is added", "cancel"),
    Key("help.close", KeyContext.HELP, "q,escape,?,enter", "close", "Close", "close"),
    Key("help.filter", KeyContext.HELP_SEARCH, "/", "filter", "Search the keys; Enter runs the selected one", "search"),
    *(
        Key(
            f"console.{name}",
            KeyContext.CONSOLE,
            str(number),
            f"show_screen('{name}')",
            f"Go to {name.capitalize()}",
        )
        for number, name in enumerate(SCREEN_NAMES, 1)
    ),
    Key("console.needs_you", KeyContext.CONSOLE, "0", "show_screen('needs_you')", "Go to Needs you"),
    Key("line.take", KeyContext.PROMPT, "enter", "take", "Confirm", "confirm"),
    Key("line.leave", KeyContext.PROMPT, "escape", "leave", "Cancel", "cancel"),
    *(
        # Only while the line is empty; later a digit is typed. Terminals keep Alt with a digit for their tabs.
        Key(f"line.offer_{number}", KeyContext.PROMPT, f"{number}", f"offer({number})", "Earlier answer; Enter uses it")
        for number in range(1, 10)
    ),
    Key("yes.yes", KeyContext.CONFIRM, "y", "answer(True)", "Confirm"),
    # Enter declines, so that a key typed by accident confirms nothing.
    Key("yes.no", KeyContext.CONFIRM, "n,enter,escape,q", "answer(False)", "Cancel"),
    Key("edit.save", KeyContext.EDIT, "ctrl+s", "save", "Save", "save"),
    Key("edit.leave", KeyContext.EDIT, "escape", "leave", _LEAVE, "cancel"),
    Key("console.compose", KeyContext.CONSOLE, "c,ctrl+n", "compose", "Write a new draft"),
    Key(
        "console.palette",
        KeyContext.CONSOLE,
        ":,ctrl+p",
        "command_palette",
        "Find commands, drafts and sources",
        "commands",
    ),
    Key("console.jump", KeyContext.CONSOLE, ";", "jump", "Jump to a tab, pane or row by its letters", "jump"),
    Key("console.help", KeyContext.CONSOLE, "?", "help", "Show the keys of this screen", "help"),
    Key("jump.leave", KeyContext.JUMP, "escape", "leave", "Cancel", "cancel · type letters to go there"),
    Key("console.log", KeyContext.CONSOLE, "ctrl+l", "log", "Show the log"),
    Key("console.suspend", KeyContext.CONSOLE, "ctrl+z", "suspend_process", "Suspend to the shell; fg returns"),
    Key("console.quit", KeyContext.CONSOLE, "q,ctrl+c", "leave", "Quit", "quit"),
)
"""A key in two contexts acts on the focused one, which is the first that Textual asks."""

_LABELS = {
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
}
"""The keys whose label is not their capitalized name."""
_NAMES = {label.lower(): name for name, label in _LABELS.items()}
"""The names of these keys by their label in lower case."""


def bindings(context: KeyContext) -> list[BindingType]:
    """Return Textual's bindings for one context."""
    return [
        Binding(key.keys, key.action, key.description, id=key.id, show=False) for key in KEYS if key.context is context
    ]


_OPENING_CONTEXTS = {KeyContext.NEEDS_YOU, *(context for context in KeyContext if context.name.lower() in SCREEN_NAMES)}
"""The screens, whose lists open a row in another pane."""


def footer_entries(
    contexts: Iterable[KeyContext], keys: Iterable[Key] = KEYS, *, typing: bool = False
) -> list[tuple[str, str]]:
    """Return (keys, word) for the actions of these contexts, in the order of the table."""
    active = frozenset(contexts)
    labels_by_word: dict[str, list[str]] = {}
    for key in keys:
        name = footer_key(key, typing=typing) if key.footer and key.context in active else ""
        # Dialogs have words of their own for what opening a row does.
        if name and (key.id != "list.open" or active & _OPENING_CONTEXTS):
            labels_by_word.setdefault(key.footer, []).append(_format_key(name))
    return [(" ".join(labels), word) for word, labels in labels_by_word.items()]


def footer_key(key: Key, *, typing: bool) -> str:
    """Return the key that the footer names for an action: the first; while the user is typing, one that types nothing.

    Empty if all of them are typed.
    """
    names = key.keys.split(",")
    return next((name for name in names if not typing or (len(name) > 1 and name != "space")), "")


def format_keys(key: Key) -> list[str]:
    """Return the labels of the action's keys."""
    return [_format_key(name) for name in key.keys.split(",")]


def _format_key(name: str) -> str:
    """Return a key's label: `Ctrl+S`, `Shift+←`, `Space`, `G`."""
    *modifiers, key = name.split("+") if len(name) > 1 else [name]
    label = _LABELS.get(key) or (key.capitalize() if len(key) > 1 else key)
    # Terminals send the same for either case of the letter; Alt+s and Alt+S are two keys.
    if "ctrl" in modifiers:
        label = label.upper() if len(label) == 1 else label
    return "+".join((*map(str.capitalize, modifiers), label))


def parse_key(text: str) -> str:
    """Return the name of a key that is written as its name or its label: `ctrl+s` for `Ctrl+S`, `down` for `↓`."""
    text = text.strip()
    *modifiers, key = text.split("+") if len(text) > 1 else [text]
    modifiers = [modifier.lower() for modifier in modifiers]
    # The case of a single letter matters: `a` and `A` are two keys, but not with Ctrl.
    lower = key.lower() if len(key) > 1 or "ctrl" in modifiers else key
    return "+".join((*modifiers, _NAMES.get(lower, lower)))


def key_label(action_id: str) -> str:
    """Return the label of the first key of an action in the running console."""
    return first_key_label(getattr(active_app.get(None), "keys", KEYS), action_id)


def first_key_label(keys: Iterable[Key], action_id: str) -> str:
    """Return the label of the first key of an action in a key table."""
    return next(format_keys(action)[0] for action in keys if action.id == action_id)


# Compiled by `re` when they are first needed, after the first paint.
_ALTERNATIVES = r"Use ([a-z]+(?:(?:, | or )[a-z]+)*) instead\."
"""The hint of a refused action, see `transitions.alternatives_hint`."""
_ALTERNATIVE_KEYS = {
    "approve": ("review.approve", "approves"),
    "reject": ("review.reject", "rejects"),
    "regenerate": ("review.regenerate", "regenerates"),
    "schedule": ("review.schedule", "schedules"),
    "reschedule": ("review.schedule_at", "reschedules"),
    "unschedule": ("review.cancel_schedule", "unschedules"),
    "unapprove": ("review.unapprove", "unapproves"),
    "post": ("review.post", "posts now"),
    "archive": ("review.archive", "archives"),
}
"""Command name -> the key of the review screen that does the same, and its verb."""


def _alternative_keys(hint: re.Match[str]) -> str:
    names = re.split(", | or ", hint[1])
    alternatives = [_ALTERNATIVE_KEYS[name] for name in names if name in _ALTERNATIVE_KEYS]
    return f"{', '.join(f'{key_label(action)} {verb}' for action, verb in alternatives)}." if alternatives else hint[0]


_CONNECT_COMMAND = r"(?<!there: )(?<!there: `)`?copydesk account connect [a-z]+(?: --url \S*[\w/])?`?"
"""A command that connects an account, unless it is for another machine."""


def replace_commands_with_keys(text: str) -> str:
    """Replace a command mentioned in `text` by the keys that do the same in the console."""
    text = re.sub(_ALTERNATIVES, _alternative_keys, text)
    text = text.replace(RESTORE_HINT, f"{key_label('review.restore')} restores it.")
    needs_you = f"Press {key_label('console.needs_you')} for those that wait for you."
    text = text.replace(POSTING_HINT, f"Unfinished deliveries continue. {needs_you}")
    if "copydesk account" in text:
        text = re.sub(_CONNECT_COMMAND, f"{key_label('console.setup')}, then {key_label('setup.connect')}", text)
    if "copydesk slot" not in text:
        return text
    from copydesk.model.schedule import SET_SLOTS_COMMAND  # noqa: PLC0415 - not for the first paint

    return text.replace(SET_SLOTS_COMMAND, f"{key_label('console.schedule')}, then {key_label('schedule.new_slot')}")
