"""Notes shown in place of the sources while there are none: ways to begin, and example sources."""

from typing import NamedTuple

from textual.content import Content

from copydesk.model.source import SourceType
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.naming import key_label


class Example(NamedTuple):
    """A public source to start with."""

    action: str
    """Id of the action, in the key table, that adds it."""
    type: SourceType
    url: str
    name: str
    config: dict[str, object]
    description: str


EXAMPLES = (
    Example(
        "sources.example_a",
        SourceType.RSS,
        "https://lwn.net/headlines/rss",
        "LWN.net",
        {},
        "a feed: Linux and free software",
    ),
    Example(
        "sources.example_b",
        SourceType.HACKERNEWS,
        "https://news.ycombinator.com/",
        "Hacker News: open source",
        {"query": "open source"},
        "a search in what Hacker News has",
    ),
    Example(
        "sources.example_c",
        SourceType.REDDIT,
        "https://www.reddit.com/r/opensource/",
        "r/opensource",
        {"listing": "new"},
        "a subreddit: what is new there",
    ),
)


def first_steps(added: frozenset[str] = frozenset()) -> list[Block]:
    """Return the note for a desk without sources; `added` are the addresses of examples that are sources already."""
    remaining = [example for example in EXAMPLES if example.url not in added]
    steps = [
        ("sources.new", "a source of yours: its address is enough"),
        ("sources.import", "the feeds of another reader: an OPML file"),
    ]
    blocks: list[Block] = [
        paragraph("There is no source yet.", "strong"),
        paragraph("Copydesk makes drafts of what it reads. Give it something to read:"),
        paragraph(),
        Table([(Content.styled(key_label(action), "key"), Content(words)) for action, words in steps]),
        paragraph(),
    ]
    return blocks + example_blocks(remaining)


def next_steps(added: frozenset[str]) -> list[Block]:
    """Return the note shown once the first source was added."""
    hint = Content.assemble(
        (key_label("sources.run"), "key"), " runs the pipeline: it reads your sources and writes the first drafts."
    )
    remaining = [example for example in EXAMPLES if example.url not in added]
    return [Paragraph(hint), paragraph(), *([*example_blocks(remaining), paragraph()] if remaining else ())]


def example_blocks(remaining: list[Example]) -> list[Block]:
    """Return a table of the examples with the keys that add them."""
    rows = [
        (
            Content.styled(key_label(example.action), "key"),
            Content(example.name),
            Content.styled(example.description, "dim"),
        )
        for example in remaining
    ]
    return [paragraph(f"Or an example. Nothing is fetched before you press {key_label('sources.run')}."), Table(rows)]
