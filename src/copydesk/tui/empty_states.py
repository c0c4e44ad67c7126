"""Notes shown in place of an empty or unavailable list."""

from textual.content import Content

from copydesk.errors import CopydeskError
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Block, Paragraph, Table, paragraph

Note = tuple[Block, ...]
OPENING: Note = (paragraph("Opening the desk …", "dim"),)


def _tab_keys() -> tuple[str, str]:
    return f"{key_label('review.previous_tab')} {key_label('review.next_tab')}", "key"


def no_matches() -> Note:
    """Return the note for a search or filter without a match in the tab."""
    hint = (key_label("review.back"), "key"), " shows all of it again, ", _tab_keys(), " other tabs."
    return paragraph("There is no such draft in this tab.", "strong"), paragraph(), Paragraph(Content.assemble(*hint))


def nothing_to_review() -> Note:
    """Return the note for an empty review queue: there are sources, but nothing waits for review."""
    hint = " runs the pipeline: it reads your sources and writes drafts."
    return (
        paragraph("Nothing to review.", "strong"),
        paragraph(),
        Paragraph(Content.assemble((key_label("review.run"), "key"), hint)),
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
        paragraph("There is no source yet.", "strong"),
        paragraph(),
        paragraph("Copydesk makes drafts of what it reads. Give it something to read:"),
        paragraph(),
        Table([(Content.styled(key_label(action), "key"), Content(description)) for action, description in steps]),
    )


def empty_tab(tab: str) -> Note:
    """Return the note for a tab without drafts; `tab` is its label."""
    keys = Paragraph(Content.assemble(_tab_keys(), " show the other tabs."))
    return (paragraph(f"{tab}: there is no draft.", "strong"), paragraph(), keys)


def desk_error(error: CopydeskError, *, is_open: bool) -> Note:
    """Return the note for a desk that could not be opened or, if `is_open`, not be read: the error and what to do."""
    from copydesk.text import clean  # noqa: PLC0415 - not needed for the first paint

    action, auto_retry = ("read", " It is tried again by itself, too.") if is_open else ("opened", "")
    blocks: list[Block] = [
        paragraph(f"The desk could not be {action}.", "bad"),
        paragraph(),
        paragraph(clean(error.message)),
    ]
    if error.hint:
        blocks.append(paragraph(clean(error.hint)))
    hint = (
        (key_label("review.refresh"), "key"),
        " tries again, ",
        (key_label("console.quit"), "key"),
        f" quits.{auto_retry}",
    )
    return (*blocks, paragraph(), Paragraph(Content.assemble(*hint)))
