"""What stands in the place of the sources while there are none: ways to begin, examples among them."""

from typing import NamedTuple

from textual.content import Content

from copydesk.model.source import SourceType
from copydesk.tui.layout import Block, Paragraph, Table, plain


class Example(NamedTuple):
    """A source that anybody may read, to begin with."""

    key: str
    type: SourceType
    url: str
    name: str
    config: dict[str, object]
    words: str


EXAMPLES = (
    Example("a", SourceType.RSS, "https://lwn.net/headlines/rss", "LWN.net", {}, "a feed: Linux and free software"),
    Example(
        "b",
        SourceType.HACKERNEWS,
        "https://news.ycombinator.com/",
        "Hacker News: open source",
        {"query": "open source"},
        "a search in what Hacker News has",
    ),
    Example(
        "c",
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
    ways = [("n", "a source of yours: its address is enough"), ("i", "the feeds of another reader: an OPML file")]
    blocks: list[Block] = [
        plain("There is no source yet.", "strong"),
        plain("Copydesk makes drafts of what it reads. Give it something to read:"),
        plain(),
        Table([(Content.styled(key, "key"), Content(words)) for key, words in ways]),
        plain(),
    ]
    return blocks + examples(left)


def next_steps(taken: frozenset[str]) -> list[Block]:
    """What to do when there is the first source."""
    run = Content.assemble(("P", "key"), " runs the pipeline: it reads your sources and writes the first drafts.")
    left = [example for example in EXAMPLES if example.url not in taken]
    return [Paragraph(run), plain(), *([*examples(left), plain()] if left else ())]


def examples(left: list[Example]) -> list[Block]:
    """The examples, and by which key they are taken."""
    rows = [
        (Content.styled(example.key, "key"), Content(example.name), Content.styled(example.words, "dim"))
        for example in left
    ]
    return [plain("Or an example. Nothing is fetched before you press P."), Table(rows)]
