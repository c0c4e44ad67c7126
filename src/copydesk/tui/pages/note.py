"""Notes shown in place of an empty or unavailable list."""

from textual.content import Content

from copydesk.errors import CopydeskError
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key

Note = tuple[Block, ...]
OPENING: Note = (plain("Opening the desk …", "dim"),)


def _tab_keys() -> tuple[str, str]:
    return f"{key('review.previous_tab')} {key('review.next_tab')}", "key"


def nothing_found() -> Note:
    """Return the note for a search or filter without a match in the tab."""
    hint = (key("review.back"), "key"), " shows all of it again, ", _tab_keys(), " other tabs."
    return plain("There is no such draft in this tab.", "strong"), plain(), Paragraph(Content.assemble(*hint))


def empty() -> Note:
    """Return the note for an empty review queue: there are sources, but nothing waits for review."""
    hint = " runs the pipeline: it reads your sources and writes drafts."
    return (
        plain("Nothing to review.", "strong"),
        plain(),
        Paragraph(Content.assemble((key("review.run"), "key"), hint)),
    )


def no_sources() -> Note:
    """Return the note for a desk without sources, with the keys that lead to the first draft."""
    steps = (
        ("console.sources", "the screen Sources"),
        ("sources.new", "there adds a source of yours: its address is enough"),
        ("sources.example_a", "there takes an example, if you have none at hand"),
        ("sources.run", "runs the pipeline: it reads the source and writes the first drafts"),
    )
    return (
        plain("There is no source yet.", "strong"),
        plain(),
        plain("Copydesk makes drafts of what it reads. Give it something to read:"),
        plain(),
        Table([(Content.styled(key(action), "key"), Content(description)) for action, description in steps]),
    )


def nothing_in(tab: str) -> Note:
    """Return the note for a tab without drafts; `tab` is its label."""
    keys = Paragraph(Content.assemble(_tab_keys(), " show the other tabs."))
    return (plain(f"{tab}: there is no draft.", "strong"), plain(), keys)


def trouble(error: CopydeskError, *, is_open: bool) -> Note:
    """Return the note for a desk that could not be opened or, if `is_open`, not be read: the error and what to do."""
    from copydesk.text import clean  # noqa: PLC0415 - not needed for the first paint

    action, auto_retry = ("read", " It is tried again by itself, too.") if is_open else ("opened", "")
    blocks: list[Block] = [plain(f"The desk could not be {action}.", "bad"), plain(), plain(clean(error.message))]
    if error.hint:
        blocks.append(plain(clean(error.hint)))
    hint = (key("review.refresh"), "key"), " tries again, ", (key("console.quit"), "key"), f" quits.{auto_retry}"
    return (*blocks, plain(), Paragraph(Content.assemble(*hint)))
