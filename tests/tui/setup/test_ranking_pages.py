"""Tests for the pages of the ranking and of rules in a narrow pane."""

from datetime import UTC, datetime

from copydesk.model.ranking_preview import Hits, PreviewedStory, RankingPreview
from copydesk.model.rule import Rule, RuleKind
from copydesk.tui.layout import lay_out_blocks
from copydesk.tui.ranking_pages import ranking_preview_page, rules_page

NOW = datetime(2026, 2, 10, 14, tzinfo=UTC)
NO_HITS = Hits(hits=0, of=0, low=0.0, high=0.0)
TITLE = "The harbour authority opens a second line for ferries on Monday"


def test_rules_are_not_cut() -> None:
    rule = Rule(
        id="1",
        kind=RuleKind.AVOID,
        term="synergy of ferries",
        reason="We never say that.",
        draft_id=None,
        enabled=False,
        created_at=NOW,
        updated_at=NOW,
    )
    lines = [line.plain for line in lay_out_blocks(rules_page([rule], NOW), 58)]
    assert " ".join(" ".join(lines).split()) == (
        "keeps out of drafts synergy of ferries · switched off · Tue 10 Feb 14:00 · We never say that."
    )


def test_preview_has_whole_titles_and_counts_the_stories_that_are_not_listed() -> None:
    story = PreviewedStory(
        item_id="1",
        title=TITLE,
        source="Harbour",
        url=None,
        day=NOW,
        rank=3,
        rank_now=None,
        reason="excluded by a word",
    )
    preview = RankingPreview(30, 90, 20, 20, (story,), 25, (story,), 3, 20, NO_HITS, NO_HITS, NO_HITS)
    text = " ".join(" ".join(line.plain for line in lay_out_blocks(ranking_preview_page(preview), 76)).split())
    assert f"10 Feb rank none → 3 {TITLE} · so far: excluded by a word And 24 more." in text
    assert text.endswith(" And 2 more.")
