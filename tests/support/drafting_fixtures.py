"""Briefs for the drafting tests, and the assertion that a draft's words come from its source."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from copydesk.desk.drafts.check_draft import platforms_of_draft
from copydesk.drafting.writer import Brief, Field, SourceItem, WriterResult
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import Format
from copydesk.model.voice import FormatVoice, Voice
from copydesk.posting.registry import PLATFORMS

NOW = datetime(2026, 2, 18, 9, 30, tzinfo=UTC)
FEEDS = Path(__file__).resolve().parents[2] / ".." / "shared" / "feeds"
"""Captured feeds, beside the checkout where available."""

SUMMARY = (
    "The city opened a library of things on Tuesday, where members find drills instead of books. "
    "Its first 400 members signed up within a week."
)
TEXT = """\
By Jane Doe

LYON, Feb. 17 (Reuters) - Residents of the river quarter can now borrow drills and tents for 2 euros a week.

The library keeps 1,200 objects in a former bakery. Members repair what comes back broken on Thursday evenings.

Twelve other towns have asked the library for its software, which is free. The city pays the rent until 2028. \
"We lend what people use once a year," said its founder, Ana Ruiz.

Subscribe to our newsletter for more stories like this one.

The post A library where you borrow drills appeared first on River News.
"""


def make_item(id: str, **changes: Any) -> SourceItem:
    """Return a further item of a brief, with `changes` applied."""
    defaults: dict[str, Any] = {
        "title": "Readers lend each other what they own",
        "url": f"https://paper{id}.example/vote",
        "text": "Eleven readers of a weekly club borrowed a cello and two canoes in May.",
        "language": "en",
        "source_name": f"Paper {id}",
        "source_type": SOURCE_TYPES["rss"],
        "published": NOW - timedelta(days=1),
    }
    return SourceItem(id=id, **defaults | changes)


OTHER_ITEMS = (
    make_item(
        "2",
        title="Councils vote on libraries of their own",
        text="Marl's councils set aside 20,000 euros for saws, lamps, ropes and tents on Monday evening.",
        author="Bo Lind",
    ),
    make_item(
        "3",
        title="A village in the hills lends ladders",
        text="Aldas keeps forty ladders in the town hall, beside the bell.",
    ),
    make_item("4", title="Repair cafés meet in Lyon", text="Forty repair cafés met in Lyon to exchange spare parts."),
)
"""What other sources say about the interest that the item of `make_brief` matches."""


def make_brief(format: Format = Format.SHORT, *, voice: Voice | None = None, **changes: Any) -> Brief:
    """Return a brief for an ordinary news item with `changes` applied."""
    defaults: dict[str, Any] = {
        "item_id": "0199-library",
        "title": "A library where you borrow drills",
        "url": "https://rivernews.example/library",
        "summary": SUMMARY,
        "text": TEXT,
        "language": "en",
        "source_name": "River News",
        "source_type": "rss",
        "author": "Jane Doe",
        "published": NOW,
        "tags": ("News", "Circular Economy", "Lyon"),
    }
    if format is Format.BLOG:
        defaults |= {"title": "Lyon opens a library of drills", "other_items": OTHER_ITEMS, "topic": "libraries"}
    values = defaults | changes
    # Tests name the source type and the platforms; their facts are those of the registries.
    values["source_type"] = SOURCE_TYPES.get(values["source_type"])
    voice = voice or Voice()
    values["platforms"] = platforms_of_draft(format, voice, (), PLATFORMS, values.get("platforms", ()))
    return Brief(format=format, voice=voice, **values)


def make_voice(format: Format = Format.SHORT, *, avoid: tuple[str, ...] = (), **settings: Any) -> Voice:
    """Return a voice with these settings for one format."""
    return Voice(avoid=avoid, formats={format: FormatVoice(**settings)})


def letters_and_digits(text: str) -> str:
    """Return `text` without punctuation, whitespace and underscores."""
    return re.sub(r"[\W_]", "", text)


def assert_traced(written: WriterResult, brief: Brief) -> None:
    """Assert that every word is traced and that words outside templates come from the source, in its order."""
    assert "".join(letters_and_digits(trace.text) for trace in written.sentences) == letters_and_digits(
        written.text.replace("\n---\n", "\n")
    )
    items = {item.id: item for item in brief.other_items}
    for trace in written.sentences:
        if trace.field is Field.TEMPLATE:
            assert trace.start is None
            continue
        assert trace.start is not None
        origin = brief if trace.item_id is None else items[trace.item_id]
        passage = getattr(origin, trace.field)[trace.start : trace.end]
        assert is_subsequence(letters_and_digits(trace.text), letters_and_digits(passage)), (trace.text, passage)


def is_subsequence(part: str, whole: str) -> bool:
    """Return whether `part` is `whole` with characters left out."""
    remaining = iter(whole)
    return all(character in remaining for character in part)
