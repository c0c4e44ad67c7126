"""Tests for the pages of the review: draft with checks and score, source item, queue row, diff."""

import re
from datetime import UTC, datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

import msgspec
import pytest
from rich.cells import cell_len
from textual.content import Content

from console_driver import NOW, FakeDesk, make_draft, make_item, make_score, open_console, screen_text, wait_until_idle
from copydesk.desk.drafts.versions import Difference
from copydesk.drafting.diff import Piece, PieceKind
from copydesk.errors import CopydeskError
from copydesk.model.confidence import DecisionProgress
from copydesk.model.delivery import DeliveredPost, DeliveryReport, DeliverySituation, DeliveryState, Evidence, NextBy
from copydesk.model.draft import (
    MANUAL,
    Agent,
    AgentSource,
    Checks,
    Claim,
    ClaimSource,
    ClaimVerdict,
    DraftSource,
    Field,
    Finding,
    Format,
    ListedDraft,
    Severity,
    Status,
    Trace,
)
from copydesk.settings import Console as Display
from copydesk.settings import QueueColumn
from copydesk.tui import labels
from copydesk.tui.app import Console
from copydesk.tui.empty_states import desk_error
from copydesk.tui.layout import Block, Paragraph, lay_out_blocks
from copydesk.tui.preferences import Preferences
from copydesk.tui.review.draft_row import detail_line, draft_row, first_line, has_source, title_line
from copydesk.tui.review.pages import MAX_ARTICLE_LENGTH, DraftDetails, Post, diff_page, draft_page, item_page
from copydesk.tui.review.row_style import RowStyle

URL = "https://bsky.example/2"
TO_REVIEW = RowStyle(usual_status=Status.PENDING_REVIEW)


def render(blocks: list[Block]) -> str:
    return "\n".join(line.plain.rstrip() for line in lay_out_blocks(blocks, 72))


def spans_in_role(blocks: list[Block], role: str) -> list[str]:
    """Return the pieces of text with this style."""
    contents = [block.content for block in blocks if isinstance(block, Paragraph | Post)]
    return [
        content.plain[span.start : span.end] for content in contents for span in content.spans if span.style == role
    ]


def finding(severity: Severity, start: int, end: int) -> Finding:
    return Finding(rule="rule", severity=severity, message="Look here.", start=start, end=end)


def test_draft_headline() -> None:
    head = render(draft_page(make_draft(0), NOW)).split("\n")[0]
    assert head == "short · new · confidence 93% · offline, 7 min ago"


def test_own_draft_headline() -> None:
    assert render(draft_page(make_draft(0, writer="user"), NOW)).split("\n")[0].endswith(" · written by you, 7 min ago")


def test_draft_page_names_the_agent() -> None:
    source = AgentSource(url="https://one.example/a", text="The ferry is\x1b back.", start=3, end=20)
    proposed = Agent(name="scout", model="m-1", prompt_hash="3f2a", sources=(source,), token="scout token")
    page = render(draft_page(make_draft(0, agent=proposed), NOW))
    assert "Proposed by scout (model m-1, prompt 3f2a) with the token “scout token”" in page
    assert "Source: https://one.example/a 3–20 “The ferry is" in page
    assert "\x1b" not in page


def test_draft_page_lists_the_items_of_a_roundup() -> None:
    items = tuple(
        DraftSource(id=name, title=f"Title {name}\x1b", url=None, source_name=f"Paper {name}", source_type="rss")
        for name in "ab"
    )
    page = render(draft_page(make_draft(0, items=items), NOW))
    assert "Sources\nPaper a  Title a" in page
    assert "\x1b" not in page
    assert "Sources" not in render(draft_page(make_draft(0), NOW))


def test_draft_page_lists_score_parts() -> None:
    page = render(draft_page(make_draft(0), NOW))
    assert "Score  0.64" in page
    assert "novelty        ━━━━━━━━━━  0.10  nothing like it in the last 60 days" in page
    assert "Reported by The Lighthouse and Paper Trail" in page


def test_manual_draft_has_no_score() -> None:
    assert "picked" not in render(draft_page(make_draft(0, score=None), NOW))


def test_findings_are_sorted_by_severity() -> None:
    found = (finding(Severity.INFO, 0, 1), finding(Severity.ERROR, 2, 3))
    page = render(draft_page(make_draft(0, checks=Checks(ran=12, findings=found)), NOW))
    assert "Checks  11 of 12 passed\n!  Look here.\ni  Look here." in page


def test_finding_range_is_highlighted() -> None:
    checks = Checks(ran=1, findings=(finding(Severity.WARNING, 4, 7), finding(Severity.ERROR, 6, 9)))
    page = draft_page(make_draft(0, text="one two three", checks=checks), NOW)
    assert spans_in_role(page, "mark-warn") == ["tw"]
    assert spans_in_role(page, "mark-bad") == ["o", " t"]


@pytest.mark.parametrize("span", [(0, 10_000), (-5, 3), (50, 60)])
def test_range_outside_text_is_ignored(span: tuple[int, int]) -> None:
    checks = Checks(ran=1, findings=(finding(Severity.ERROR, *span),))
    assert "one two three" in render(draft_page(make_draft(0, text="one two three", checks=checks), NOW))


def test_thread_is_split_into_posts_with_highlights() -> None:
    thread = "first post\n\n---\n\nsecond post"
    checks = Checks(ran=1, findings=(finding(Severity.ERROR, 17, 23),))
    page = draft_page(make_draft(0, format=Format.THREAD, text=thread, checks=checks), NOW)
    assert "▏ 1 of 2\n▏ first post\n▏\n▏ 2 of 2\n▏ second post" in render(page)
    assert spans_in_role(page, "mark-bad") == ["second"]


def test_hidden_characters_are_displayed() -> None:
    page = draft_page(make_draft(0, text="pay\u202ednuof\x1b[2Jok"), NOW)
    assert "pay⟨U+202E⟩dnuof⟨U+001B⟩[2Jok" in render(page)
    assert "⟨U+202E⟩" in spans_in_role(page, "bad")


def test_all_line_breaks_are_equal() -> None:
    assert "▏ one\n▏ two\n▏ three\n▏ four" in render(draft_page(make_draft(0, text="one\r\ntwo\rthree\u2028four"), NOW))


def test_headline_has_schedule_on_users_clock() -> None:
    due = make_draft(0, status=Status.SCHEDULED, scheduled_at=datetime(2026, 3, 9, 8, 0, tzinfo=UTC))
    assert " · scheduled · Mon 9 Mar 09:00 · " in render(
        draft_page(due, NOW, details=DraftDetails(ZoneInfo("Europe/Oslo")))
    )
    assert " · scheduled · confidence 93%" in render(draft_page(due, NOW))
    late = make_draft(0, status=Status.MISSED, scheduled_at=datetime(2025, 12, 31, 8, 0, tzinfo=UTC))
    assert " · missed · Wed 31 Dec 2025 08:00" in render(draft_page(late, NOW, details=DraftDetails(ZoneInfo("UTC"))))


def test_headline_tells_when_confidence_will_be_known() -> None:
    def headline(progress: DecisionProgress | None) -> str:
        draft = make_draft(0, confidence_known=False)
        return render(draft_page(draft, NOW, details=DraftDetails(progress=progress))).split("\n")[0] + " · "

    assert " · confidence not known yet (7 of 20 decisions)" in headline(DecisionProgress(decisions=7, needed=20))
    # All are made, and the next refresh computes it.
    assert " · confidence not known yet · " in headline(DecisionProgress(decisions=20, needed=20))
    assert " · confidence not known yet · " in headline(None)


def report(*posts: DeliveredPost, account: str) -> DeliveryReport:
    return DeliveryReport(
        id=account,
        draft_id="draft-0",
        account=account,
        state=DeliveryState.SENT,
        situation=DeliverySituation.POSTED,
        next_by=NextBy.NOBODY,
        in_doubt=False,
        says="",
        due_at=NOW,
        posts=posts,
        parts=len(posts),
        attempts=1,
        retry_after=None,
        sent_at=NOW,
        gone_at=None,
    )


def test_posted_draft_lists_time_and_addresses() -> None:
    posts = (
        DeliveredPost(id="1", url=None, evidence=Evidence.ANSWERED),
        DeliveredPost(id="2", url=URL, evidence=Evidence.ANSWERED),
    )
    reports = report(*posts, account="bluesky:me"), report(posts[0], account="webhook:bell")
    posted = make_draft(0, status=Status.POSTED, posted_at=NOW - timedelta(hours=2))
    page = render(draft_page(posted, NOW, details=DraftDetails(reports=reports))).split("\n")
    assert " · posted · 2 h ago · " in page[0]
    assert page[2:4] == [f"bluesky:me  {URL}", ""]


def test_writer_error_is_displayed() -> None:
    assert "The endpoint said no." in render(draft_page(make_draft(0, last_error="The endpoint said no."), NOW))


def test_item_page_lists_origin() -> None:
    page = render(item_page(make_item(3), NOW))
    assert "Source     Hacker News\n" in page
    assert "Published  4 h 21 min ago · Wed 11 Feb 05:09" in page
    assert "Reactions  212 points · 48 comments" in page
    assert "Link       https://lighthouse.example/3" in page


def test_nearly_empty_item_is_displayed() -> None:
    bare = {"title": "", "url": None, "summary": "", "text": "", "author": None, "points": None, "comments": None}
    assert render(item_page(make_item(0, **bare), NOW)).startswith("Untitled\n\nSource")


def test_summary_that_starts_text_is_omitted() -> None:
    page = render(item_page(make_item(0, summary="It begins …", text="It begins like this."), NOW))
    assert page.count("It begins") == 1


def test_unsafe_link_is_not_clickable() -> None:
    (facts,) = [
        block for block in item_page(make_item(0, url="javascript:alert(1)"), NOW) if not isinstance(block, Paragraph)
    ]
    assert facts.rows[-1][1].spans == []
    assert facts.rows[-1][1].plain == "javascript:alert(1)"


def test_long_article_is_truncated() -> None:
    page = render(item_page(make_item(0, text="word " * 10_000), NOW))
    assert len(page) < MAX_ARTICLE_LENGTH * 1.1
    assert "(30,000 more characters)" in page


def test_narrow_row_columns() -> None:
    assert draft_row(make_draft(0), NOW, 40, TO_REVIEW).plain == "   93%  2h The Lig… A missing index mad…"
    assert draft_row(make_draft(1), NOW, 80, TO_REVIEW).plain.startswith(" ~ 89%  2h @quarrystonedb   Quarrystone")
    thread = make_draft(1, format=Format.THREAD, status=Status.APPROVED)
    row = draft_row(thread, NOW, 80, TO_REVIEW)
    assert row.plain.startswith("A~ 89%  2h @quarrystonedb   approved · thread · Quarrystone")
    assert row.cell_length == 80
    # A tab of all states has a column of them.
    assert draft_row(thread, NOW, 80, RowStyle()).plain[28:].startswith("approved  thread · Quarrystone")
    assert draft_row(make_draft(1), NOW, 80, RowStyle()).plain[28:].startswith("new       Quarrystone")
    assert draft_row(thread, NOW, 59, TO_REVIEW).plain.startswith("A~ 89%  2h @quarrysto… Quarrystone")


def test_row_without_text_has_the_title_of_its_item() -> None:
    waiting = make_draft(1, text="", status=Status.PENDING_GENERATION)
    assert title_line(waiting, 60, TO_REVIEW).plain.rstrip().endswith(f" {waiting.item.title}")
    assert waiting.item.title in draft_row(waiting, NOW, 80, TO_REVIEW).plain


def test_row_leaves_out_what_all_rows_share() -> None:
    style = RowStyle(usual_status=Status.PENDING_REVIEW, shows_format=False)
    unknown = make_draft(1, confidence_known=False)
    assert draft_row(unknown, NOW, 40, style).plain.startswith(" ~  2h @quarry… Quarrystone")
    assert draft_row(make_draft(1, status=Status.APPROVED), NOW, 40, style).plain.startswith("A~")


def test_row_has_no_column_for_sources_where_no_draft_has_one() -> None:
    draft = make_draft(1, score=None)
    draft = msgspec.structs.replace(draft, item=msgspec.structs.replace(draft.item, source_type=MANUAL))
    row = draft_row(draft, NOW, 80, TO_REVIEW._replace(shows_source=False)).plain
    assert not has_source(draft)
    assert "No source" in draft_row(draft, NOW, 80, TO_REVIEW).plain
    assert "No source" not in row
    assert "No source" not in detail_line(draft, NOW, 80, TO_REVIEW._replace(shows_source=False)).plain


def test_row_without_confidence_keeps_its_place_beside_others() -> None:
    style = TO_REVIEW._replace(shows_confidence=True)
    known, unknown = (draft_row(make_draft(1, confidence_known=known), NOW, 80, style).plain for known in (True, False))
    assert known.index("@quarrystonedb") == unknown.index("@quarrystonedb")


def test_name_of_a_draft_has_single_quotes_in_double_ones() -> None:
    assert labels.draft_name("“It opens,” she said") == "“‘It opens,’ she said”"


def test_row_of_two_lines_has_the_whole_title_and_its_facts_below() -> None:
    draft = make_draft(3, tags=("open-source",))
    assert title_line(draft, 90, TO_REVIEW).plain.rstrip() == f" ! {first_line(draft.text)}"
    facts = "   claim · Hacker News · 4h · 82% · interest · #open-source"
    assert detail_line(draft, NOW, 80, TO_REVIEW).plain == facts
    approved = msgspec.structs.replace(draft, status=Status.APPROVED)
    assert detail_line(approved, NOW, 80, TO_REVIEW).plain.startswith("   approved · claim · Hacker News")


def test_row_of_two_lines_cuts_the_source_only_for_the_facts_after_it() -> None:
    name = "The Quarterly of Harbour Engineering and Ferries"
    draft = make_draft(0, score=make_score(name, "rss", 0), tags=())
    assert detail_line(draft, NOW, 90, TO_REVIEW).plain == f"   {name} · 2h · 93% · interest"
    assert detail_line(draft, NOW, 68, TO_REVIEW).plain == f"   {name[:42]}… · 2h · 93% · interest"
    assert detail_line(draft, NOW, 50, TO_REVIEW).plain == f"   {name[:27]}… · 2h · 93%"


def test_row_shows_the_users_columns_in_their_order() -> None:
    draft = make_draft(1, agent=Agent(name="Scout", token="scout"))
    style = TO_REVIEW._replace(columns=("source", "confidence", "agent", "state", "check"))
    row = draft_row(draft, NOW, 80, style).plain
    assert row.startswith("@quarrystonedb    89% scout       ~ Quarrystone 4.2")
    assert draft_row(draft, NOW, 80, style._replace(columns=())).plain.startswith("Quarrystone 4.2")
    facts = style._replace(details=("agent", "length", "writer", "tags", "score"))
    assert detail_line(draft, NOW, 80, facts).plain == "   scout · 144c · offline · #open-source · interest"
    assert detail_line(draft, NOW, 80, style._replace(details=())).plain.strip() == ""


@pytest.mark.parametrize("name", get_args(QueueColumn))
def test_every_column_has_one_width_and_leaves_room_for_the_text(name: str) -> None:
    drafts = (make_draft(0), make_draft(3, tags=("x" * 50,), agent=Agent(name="家族" * 20), score=None))
    style = TO_REVIEW._replace(columns=(name,), details=(name,))
    for width in (12, 40, 99):
        rows = [draft_row(draft, NOW, width, style) for draft in drafts]
        assert {row.cell_length for row in rows} == {width}
        heads = [row.plain.split(draft.text[:5])[0] for row, draft in zip(rows, drafts, strict=True)]
        assert len({cell_len(head) for head in heads}) == 1
        assert all(detail_line(draft, NOW, width, style).cell_length <= width for draft in drafts)


def test_columns_without_room_are_left_out() -> None:
    row = draft_row(make_draft(0), NOW, 30, TO_REVIEW._replace(columns=get_args(QueueColumn)))
    assert "A missi" in row.plain


async def test_queue_shows_the_users_columns_in_both_kinds_of_rows() -> None:
    display = Display(columns=("length",), details=("writer", "age"))
    for width, expected in ((99, r"▌ 1\d\dc +A missing"), (100, r"A missing[^\n]*\n[^\n]*offline · 2h")):
        desk = FakeDesk(3)
        app = Console(desk.open, clock=lambda: NOW, preferences=Preferences(display=display))  # type: ignore[arg-type]
        async with app.run_test(size=(width, 32)) as pilot:
            await wait_until_idle(pilot)
            assert re.search(expected, screen_text(app))


def test_archived_row_has_its_letter_in_the_archive() -> None:
    archived = make_draft(0, archived_at=NOW)
    assert draft_row(archived, NOW, 60, RowStyle(is_archive=True)).plain.startswith("X ")
    assert draft_row(archived, NOW, 60, TO_REVIEW).plain.startswith("X ")


async def test_row_has_two_lines_from_100_columns() -> None:
    for width, lines in ((99, 1), (100, 2)):
        async with open_console(FakeDesk(3), size=(width, 32)) as ui:
            row = next(index for index, line in enumerate(ui.lines) if "A missing" in line)
            assert ("The Lighthouse" in ui.lines[row + lines - 1], lines) == (True, lines)


@pytest.mark.parametrize(("number", "suffix"), [(0, ""), (1, " · check warning"), (3, " · failed check")])
def test_headline_names_check_severity(number: int, suffix: str) -> None:
    listed_draft = make_draft(number)
    head = render(draft_page(listed_draft, NOW)).replace("\n", " ")
    assert f"short · new · confidence {listed_draft.confidence:.0%}{suffix} · offline" in head


def test_hostile_tags_are_harmless_and_fit() -> None:
    hostile = ("[red]x[/]", "\x1b[31mred\u202e", "e\u0301\u0301\u0301", "家族" * 400, "a\nb")
    row = detail_line(make_draft(0, tags=hostile[:2]), NOW, 160, TO_REVIEW)
    assert "#[red]x[/]" in row.plain
    assert not set("\x1b\u202e\n") & set(row.plain)
    for width in range(20, 200):
        assert detail_line(make_draft(0, tags=hostile), NOW, width, TO_REVIEW).cell_length <= width
        assert title_line(make_draft(0, text=" ".join(hostile)), width, TO_REVIEW).cell_length == width


def test_row_has_posting_time_in_same_width() -> None:
    oslo = ZoneInfo("Europe/Oslo")
    due = make_draft(0, status=Status.SCHEDULED, scheduled_at=NOW + timedelta(days=1))
    style = RowStyle(oslo, Status.SCHEDULED)
    assert draft_row(due, NOW, 40, style).plain == "   93% Thu 10:30 The Lig… A missing ind…"
    posted = msgspec.structs.replace(due, status=Status.POSTED, posted_at=NOW + timedelta(minutes=1))
    assert " 10:31 The Lig…" in draft_row(posted, NOW, 40, style).plain
    # Unscheduled: the age replaces the time.
    assert "        2h The Lig…" in draft_row(make_draft(0), NOW, 40, style).plain
    assert all(draft_row(due, NOW, width, style).cell_length == width for width in range(40, 200))


@pytest.mark.parametrize("width", [1, 5, 12, 21, 40, 72, 200])
def test_row_has_requested_width(width: int) -> None:
    assert draft_row(make_draft(0), NOW, width, TO_REVIEW).cell_length <= max(width, 21)


def test_row_without_score_names_source_type() -> None:
    assert "Reddit" in draft_row(make_draft(4, score=None), NOW, 80, TO_REVIEW).plain


def test_first_line_skips_blank_lines() -> None:
    assert first_line("\n \n\u200b\nHello\nthere") == "Hello"
    assert first_line("") == ""


def test_error_flag_takes_precedence_over_warning() -> None:
    def flagged(*severities: Severity) -> ListedDraft:
        return msgspec.structs.replace(
            make_draft(0), checks=Checks(ran=9, findings=tuple(finding(severity, 0, 1) for severity in severities))
        )

    rows = [
        draft_row(flagged(*found), NOW, 40, TO_REVIEW).plain[:2] for found in ((Severity.WARNING,), tuple(Severity))
    ]
    assert rows == [" ~", " !"]


def test_error_page_has_hint() -> None:
    error = CopydeskError("The disk is full.", hint="Free some space.")
    page = render(list(desk_error(error, is_open=False)))
    assert "The disk is full.\nFree some space.\n\n. retry · q quit" in page


def test_content_is_never_markup() -> None:
    page = draft_page(make_draft(0, text="[red]x[/] [/foo] [@click=app.quit]y[/]"), NOW)
    assert "[red]x[/] [/foo] [@click=app.quit]y[/]" in render(page)
    assert all(isinstance(block.content, Content) for block in page if isinstance(block, Paragraph))


def render_diff(*pieces: Piece) -> str:
    return render(diff_page(Difference(old="1", new="2", pieces=pieces, better=(), worse=())))


def test_diff_marks_all_changed_lines() -> None:
    page = render_diff(
        Piece(kind=PieceKind.SAME, text="900 lines"),
        Piece(kind=PieceKind.REMOVED, text=" (long)\n\nMore on"),
        Piece(kind=PieceKind.ADDED, text=" Via"),
        Piece(kind=PieceKind.SAME, text=" it."),
    )
    assert page == "900 lines[- (long)-]\n\n[-More on-]{+ Via+} it."


def test_diff_shows_versions_beside_each_other() -> None:
    pieces = (
        Piece(kind=PieceKind.SAME, text="The ferry is"),
        Piece(kind=PieceKind.REMOVED, text=" late."),
        Piece(kind=PieceKind.ADDED, text=" on time."),
    )
    page = diff_page(Difference(old="1", new="2", pieces=pieces, better=(), worse=()))
    rows = [[cell.strip() for cell in line.plain.split("│")] for line in lay_out_blocks(page, 90)]
    assert rows == [["Before", "After"], ["The ferry is[- late.-]", "The ferry is{+ on time.+}"]]


def test_diff_marks_changed_line_breaks() -> None:
    page = render_diff(
        Piece(kind=PieceKind.SAME, text="one"),
        Piece(kind=PieceKind.REMOVED, text="\n\n"),
        Piece(kind=PieceKind.ADDED, text=" "),
        Piece(kind=PieceKind.SAME, text="two"),
    )
    assert page == "one[-¶-]\n\n{+ +}two"


def test_claims_stand_beside_their_source() -> None:
    source = ClaimSource(text="It lends 1,200 tools.", field=Field.TEXT, start=0, end=21)
    claims = (
        Claim(start=0, end=20, verdict=ClaimVerdict.CONTRADICTS, reason="The source says “1,200”.", source=source),
        Claim(start=21, end=31, verdict=ClaimVerdict.CANNOT_TELL),
    )
    draft = make_draft(0, text="It lends 1,300 tools It is open", checks=Checks(ran=2, claims=claims))
    page = render(draft_page(draft, NOW))
    assert "Claims  1 contradicts, 1 cannot tell" in page
    assert "! contradicts  least certain  It lends 1,300 tools" in page
    assert "The source says “1,200”." in page
    assert "Text: It lends 1,200 tools." in page
    assert "? cannot tell  It is open" in page


def claim_of(verdict: ClaimVerdict, text: str, sentence: str, source: str) -> Claim:
    start = text.index(sentence)
    evidence = ClaimSource(text=source, field=Field.TEXT, start=0, end=len(source))
    return Claim(start=start, end=start + len(sentence), verdict=verdict, source=evidence)


@pytest.mark.parametrize(
    ("verdicts", "role", "sentence"),
    [
        ((ClaimVerdict.SUPPORTED, ClaimVerdict.CANNOT_TELL), "mark-warn", "Six boats sank."),
        ((ClaimVerdict.CONTRADICTS, ClaimVerdict.CANNOT_TELL), "mark-bad", "It rained."),
        # Of supported ones the one that is less like its source.
        ((ClaimVerdict.SUPPORTED, ClaimVerdict.SUPPORTED), "mark-dim", "Six boats sank."),
    ],
)
def test_least_certain_sentence_is_underlined(
    verdicts: tuple[ClaimVerdict, ClaimVerdict], role: str, sentence: str
) -> None:
    text = "It rained. Six boats sank."
    claims = (
        claim_of(verdicts[0], text, "It rained.", "It rained."),
        claim_of(verdicts[1], text, "Six boats sank.", "Some six of the boats went down."),
    )
    page = draft_page(make_draft(0, text=text, checks=Checks(ran=2, claims=claims)), NOW)
    assert spans_in_role(page, role) == [sentence]


def test_source_shows_the_sentences_that_the_draft_uses_with_their_verdicts() -> None:
    item = make_item(3)
    text = "The ferry is late.\n\n  It  carries 40 people. Nobody was hurt."
    item = msgspec.structs.replace(item, entry=msgspec.structs.replace(item.entry, summary="", text=text))
    start = text.index("It  carries")
    source = ClaimSource(text="It  carries 40 people.", field=Field.TEXT, start=start, end=start + 22)
    late = Trace(text="The ferry is late.", field=Field.TEXT, start=0, end=18)
    draft = make_draft(3, item_id=item.id, sentences=(late,))
    claim = Claim(start=0, end=5, verdict=ClaimVerdict.SUPPORTED, source=source)
    draft = msgspec.structs.replace(draft, checks=Checks(ran=1, claims=(claim,)))
    page = item_page(item, NOW, draft)
    assert spans_in_role(page, "mark-good") == ["It  carries 40 people."]
    assert spans_in_role(page, "mark-dim") == ["The ferry is late."]
    assert "It  carries 40 people. [= supported] Nobody was hurt." in render(page)
    other = msgspec.structs.replace(draft, item_id="another", checks=Checks(), sentences=())
    assert not spans_in_role(item_page(item, NOW, other), "mark-good")


def test_words_that_the_source_does_not_show_are_not_underlined() -> None:
    item = make_item(3)
    source = ClaimSource(text="gone", field=Field.TEXT, start=900, end=904)
    claim = Claim(start=0, end=5, verdict=ClaimVerdict.SUPPORTED, source=source)
    draft = make_draft(3, item_id=item.id, checks=Checks(ran=1, claims=(claim,)))
    assert render(item_page(item, NOW, draft)) == render(item_page(item, NOW))


def test_draft_without_claims_has_no_heading() -> None:
    assert "Claims" not in render(draft_page(make_draft(0, checks=Checks(ran=2)), NOW))
