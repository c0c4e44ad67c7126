"""What stands in the queue's place when there is nothing in it."""

from textual.content import Content

from copydesk.errors import CopydeskError
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key

Note = tuple[Block, ...]
OPENING: Note = (plain("Opening the desk …", "dim"),)


def _tabs() -> tuple[str, str]:
    return f"{key('review.previous_tab')} {key('review.next_tab')}", "key"


def nothing_found() -> Note:
    """What is looked for is not in the tab."""
    again = (key("review.back"), "key"), " shows all of it again, ", _tabs(), " other tabs."
    return plain("There is no such draft in this tab.", "strong"), plain(), Paragraph(Content.assemble(*again))


def empty() -> Note:
    """Nothing waits."""
    runs = " runs the pipeline: it reads your sources and writes drafts."
    return (
        plain("Nothing to review.", "strong"),
        plain(),
        Paragraph(Content.assemble((key("review.run"), "key"), runs)),
    )


def no_sources() -> Note:
    """There is nothing to read yet: the shortest way to the first draft."""
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
        Table([(Content.styled(key(action), "key"), Content(words)) for action, words in steps]),
    )


def nothing_in(tab: str) -> Note:
    """A tab without drafts."""
    keys = Paragraph(Content.assemble(_tabs(), " show the other tabs."))
    return (plain(f"{tab}: there is no draft.", "strong"), plain(), keys)


def trouble(error: CopydeskError, *, is_open: bool) -> Note:
    """The desk could not be opened, or not be read: what happened, and what to do."""
    from copydesk.text import clean  # noqa: PLC0415 - what the first paint does not need waits

    what, by_itself = ("read", " It is tried again by itself, too.") if is_open else ("opened", "")
    blocks: list[Block] = [plain(f"The desk could not be {what}.", "bad"), plain(), plain(clean(error.message))]
    if error.hint:
        blocks.append(plain(clean(error.hint)))
    again = (key("review.refresh"), "key"), " tries again, ", (key("console.quit"), "key"), f" quits.{by_itself}"
    return (*blocks, plain(), Paragraph(Content.assemble(*again)))
