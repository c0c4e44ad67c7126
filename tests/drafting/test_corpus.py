"""Tests of the corpus of judged drafts, and of the drafts that the pipeline writes from its feeds."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from copydesk.model.draft import Format
from copydesk.text import sentences
from copydesk.text.links import mask_links
from draft_corpus import (
    CORPUS,
    EARLIER_CORPUS,
    FEEDS,
    MIN_DRAFTS,
    Record,
    read_records,
)
from drafting_fixtures import letters_and_digits
from feed_fixtures import parse_sample
from judged_drafts import (
    MAX_PER_FEED,
    DraftedItems,
    draft_id,
    format_draft,
    read_feeds,
    sample,
    sheet_order,
    write_drafts,
)

# A quotation may contain another one in single marks. German closes with the mark that opens an English one.
QUOTATION = re.compile(r"„([^“]+)“|“([^”]+)”|«([^»]+)»|「([^」]+)」|^> (.+)$", re.MULTILINE)


def feed_files() -> list[Path]:
    return sorted(FEEDS.glob("*.xml"))


def quoted_sentences(text: str) -> Iterator[str]:
    """Yield the sentences that a draft quotes."""
    for match in QUOTATION.finditer(mask_links(text)):
        quotation = next(filter(None, match.groups()))
        for start, end in sentences.spans(quotation):
            yield quotation[start:end]


def assert_quoted(text: str, source: str) -> None:
    """Assert that each sentence quoted in `text` is in `source`, apart from marks and spaces."""
    words = letters_and_digits(source)
    for sentence in quoted_sentences(text):
        assert letters_and_digits(sentence) in words, sentence


def source_text(drafted: DraftedItems) -> str:
    """Return titles and texts of the items of a draft."""
    entries = [item.entry for _, item in drafted.items]
    return "\n".join(f"{entry.title}\n{entry.summary}\n{entry.text}" for entry in entries)


@pytest.fixture(scope="module", params=Format)
def drafted(request: pytest.FixtureRequest) -> list[DraftedItems]:
    """Return the drafts of one format that the pipeline writes from the feeds in the repository."""
    return asyncio.run(write_drafts(read_feeds([FEEDS]), request.param)).drafts


def test_each_sentence_quoted_is_in_its_source(drafted: list[DraftedItems]) -> None:
    assert any(list(quoted_sentences(one.draft.text)) for one in drafted)
    for one in drafted:
        assert_quoted(one.draft.text, source_text(one))


def test_sample_takes_few_drafts_of_each_feed_and_none_twice(drafted: list[DraftedItems]) -> None:
    kind = drafted[0].draft.format
    chosen = sample(drafted, kind)
    assert len({one.id for one in chosen}) == len(chosen)
    assert chosen == sample(drafted[::-1], kind)
    if kind is Format.SHORT:
        assert max(sum(one.items[0][0] == path.name for one in chosen) for path in feed_files()) <= MAX_PER_FEED[kind]


def test_judges_see_the_same_drafts_in_different_order(drafted: list[DraftedItems]) -> None:
    first, *others = (sheet_order(drafted, judge) for judge in range(1, 9))
    assert len(drafted) == 1 or any(other != first for other in others)
    assert all(sorted(one.id for one in other) == sorted(one.id for one in first) for other in others)


def test_sheet_shows_draft_and_source(drafted: list[DraftedItems]) -> None:
    one = drafted[0]
    shown = format_draft(one)
    assert shown.startswith(f"# {one.id} {one.draft.format}\n")
    assert one.draft.text in shown
    assert f"> Title: {one.items[0][1].entry.title}\n" in shown


@pytest.mark.parametrize("path", feed_files(), ids=lambda path: path.stem)
def test_feed_has_entries_of_one_week(path: Path) -> None:
    entries = parse_sample(path.read_bytes()).entries
    assert 8 <= len(entries) <= 15
    published = [entry.published for entry in entries if entry.published]
    assert len(published) == len(entries)
    assert (max(published) - min(published)).days < 7


def test_quotation_that_is_not_in_the_source_is_found() -> None:
    assert_quoted("“A dog barked.” A dog (News)", "A dog barked, and a cat slept. A dog barked. It rained.")
    with pytest.raises(AssertionError, match=r"A cat barked\."):
        assert_quoted("> A dog barked. A cat barked.", "A dog barked.")


@pytest.fixture(scope="module", params=[CORPUS, EARLIER_CORPUS], ids=lambda path: path.stem)
def records(request: pytest.FixtureRequest) -> list[Record]:
    return read_records(request.param)


def test_corpus_has_enough_drafts_with_two_verdicts_each(records: list[Record], request: pytest.FixtureRequest) -> None:
    assert len(records) >= MIN_DRAFTS[request.node.callspec.id]
    assert {len(record.verdicts) for record in records} == {2}
    assert len({record.id for record in records}) == len(records)


def test_quotations_of_the_corpus_are_in_the_feeds(records: list[Record]) -> None:
    # A round-up also quotes items of other feeds, which may not be in the repository.
    of_one_item = [record for record in records if record.format is not Format.BLOG]
    in_repository = [record for record in of_one_item if (FEEDS / record.sources[0].feed).exists()]
    assert in_repository
    entries = [entry for path in feed_files() for entry in parse_sample(path.read_bytes()).entries]
    source = "\n".join(f"{entry.title}\n{entry.summary}\n{entry.text}" for entry in entries)
    for record in in_repository:
        assert_quoted(record.draft, source)


def test_ids_identify_the_judged_texts(records: list[Record]) -> None:
    for record in records:
        assert record.id == draft_id(record.sources[0].url, record.format, record.draft)
