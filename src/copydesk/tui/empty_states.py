"""Notes shown in place of an empty or unavailable list."""

from textual.content import Content

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Block, Facts, Table, paragraph

Note = tuple[Block, ...]


def opening(text: str) -> Note:
    """Return the note for data that is still loading; `text` is the app's `opening_text`."""
    return (paragraph(text, "dim"),)


def _tab_keys() -> str:
    return f"{key_label('review.previous_tab')} {key_label('review.next_tab')}"


def _hints(*hints: tuple[str, str]) -> Facts:
    """Return keys and what they do."""
    return Facts([Content.assemble((keys, "key"), f" {effect}") for keys, effect in hints])


def no_matches() -> Note:
    """Return the note for a search or filter without a match in the tab."""
    keys = _hints((key_label("review.back"), labels.CLEAR_FILTER), (_tab_keys(), labels.SWITCH_TAB))
    return paragraph(labels.EMPTY_MATCHES, "strong"), paragraph(), keys


def nothing_to_review() -> Note:
    """Return the note for an empty review queue: there are sources, but nothing waits for review."""
    run_hint = _hints((key_label("review.run"), labels.RUN_PIPELINE))
    return paragraph(labels.EMPTY_QUEUE, "strong"), paragraph(), run_hint


def no_sources() -> Note:
    """Return the note for a desk without sources, with the keys that lead to the first draft."""
    steps = labels.FIRST_STEPS.items()
    return (
        paragraph(labels.EMPTY_SOURCES, "strong"),
        paragraph(),
        paragraph(labels.EMPTY_SOURCES_HINT),
        paragraph(),
        Table([(Content.styled(key_label(action), "key"), Content(description)) for action, description in steps]),
    )


def empty_tab(tab: str, name: str) -> Note:
    """Return the note for the tab `name` without drafts: how a draft gets there, if it is one of Copydesk's own."""
    explanation = labels.empty_tab_explanation(tab)
    return (
        paragraph(labels.empty_tab(name), "strong"),
        paragraph(),
        *((paragraph(explanation), paragraph()) if explanation else ()),
        _hints((_tab_keys(), labels.SWITCH_TAB)),
    )


def desk_error(error: CopydeskError, *, is_open: bool) -> Note:
    """Return the note for a desk that could not be opened or, if `is_open`, not be read: the error and what to do."""
    blocks: list[Block] = [
        paragraph(labels.DESK_NOT_READABLE if is_open else labels.DESK_NOT_OPENED, "bad"),
        paragraph(),
        paragraph(clean(error.message)),
    ]
    if error.hint:
        blocks.append(paragraph(clean(error.hint)))
    keys = _hints((key_label("review.refresh"), labels.RETRY), (key_label("console.quit"), labels.QUIT))
    retry_note = (paragraph(labels.RETRIED_AUTOMATICALLY, "dim"),) if is_open else ()
    return (*blocks, paragraph(), keys, *retry_note)
