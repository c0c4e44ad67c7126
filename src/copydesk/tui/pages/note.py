"""What stands in the queue's place when there is nothing in it."""

from textual.content import Content

from copydesk.tui.layout import Block, Paragraph, plain

Note = tuple[Block, ...]
OPENING: Note = (plain("Opening the desk …", "dim"),)
EMPTY: Note = (
    plain("Nothing to review.", "strong"),
    plain(),
    Paragraph(Content.assemble(("P", "key"), " runs the pipeline: it reads your sources and writes drafts.")),
)
NO_SOURCES: Note = (
    plain("There is no source yet.", "strong"),
    plain(),
    plain("Copydesk makes drafts of what it reads. Give it something to read, in another terminal:"),
    plain(),
    Paragraph(Content.styled("copydesk source add rss https://example.org/feed", "accent"), indent=2),
    plain(),
    Paragraph(Content.assemble("Then ", ("P", "key"), " here runs the pipeline.")),
)

NOTHING_FOUND: Note = (
    plain("There is no such draft in this tab.", "strong"),
    plain(),
    Paragraph(Content.assemble(("Esc", "key"), " shows all of it again, ", ("[ ]", "key"), " other tabs.")),
)


def nothing_in(tab: str) -> Note:
    """A tab without drafts."""
    keys = Paragraph(Content.assemble(("[ ]", "key"), " show the other tabs."))
    return (plain(f"{tab}: there is no draft.", "strong"), plain(), keys)


def trouble(message: str, hint: str) -> Note:
    """The desk could not be opened: what happened, and what to do."""
    from copydesk.text import clean  # noqa: PLC0415 - what the first paint does not need waits

    blocks: list[Block] = [plain("The desk could not be opened.", "bad"), plain(), plain(clean(message))]
    if hint:
        blocks.append(plain(clean(hint)))
    return (*blocks, plain(), Paragraph(Content.assemble((".", "key"), " tries again, ", ("q", "key"), " quits.")))
