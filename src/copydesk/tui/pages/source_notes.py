"""What stands in the place of the sources while there are none: ways to begin, examples among them."""

from typing import NamedTuple

from textual.content import Content

from copydesk.model.source import SourceType
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key


class Example(NamedTuple):
    """A source that anybody may read, to begin with."""

    action: str
    """The id of the action that takes it."""
    type: SourceType
    url: str
    name: str
    config: dict[str, object]
    words: str


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


def first_steps(taken: frozenset[str] = frozenset()) -> list[Block]:
    """How to begin; `taken` are the addresses of examples that are sources by now."""
    left = [example for example in EXAMPLES if example.url not in taken]
    ways = [
        ("sources.new", "a source of yours: its address is enough"),
        ("sources.import", "the feeds of another reader: an OPML file"),
    ]
    blocks: list[Block] = [
        plain("There is no source yet.", "strong"),
        plain("Copydesk makes drafts of what it reads. Give it something to read:"),
        plain(),
        Table([(Content.styled(key(action), "key"), Content(words)) for action, words in ways]),
        plain(),
    ]
    return blocks + examples(left)


def next_steps(taken: frozenset[str]) -> list[Block]:
    """What to do when there is the first source."""
    run = Content.assemble(
        (key("sources.run"), "key"), " runs the pipeline: it reads your sources and writes the first drafts."
    )
    left = [example for example in EXAMPLES if example.url not in taken]
    return [Paragraph(run), plain(), *([*examples(left), plain()] if left else ())]


def examples(left: list[Example]) -> list[Block]:
    """The examples, and by which key they are taken."""
    rows = [
        (Content.styled(key(example.action), "key"), Content(example.name), Content.styled(example.words, "dim"))
        for example in left
    ]
    return [plain(f"Or an example. Nothing is fetched before you press {key('sources.run')}."), Table(rows)]
