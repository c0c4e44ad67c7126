"""Deciding in the console, before a real desk: the next draft is there at once, and the desk hears behind it."""

import asyncio
from pathlib import Path

import pytest

from copydesk.desk.review import Review as DeskReview
from copydesk.drafting.fake import FakeWriter
from copydesk.errors import StoreFullError
from copydesk.model.draft import Status
from copydesk.tui.chosen import these
from copydesk.tui.deciding import acting
from deciding_fixtures import reviewing
from desk_fixtures import open_at


async def test_approving_shows_the_next_draft_and_the_desk_has_it(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        review.app.simulate_key("a")
        await review.until(lambda: review.current.id != first.id)
        await review.wait()
        assert await review.status(first.id) is Status.APPROVED
        assert review.row(first.id).status is Status.APPROVED
        assert review.toasts == ["Approved · u undo"]


async def test_the_next_draft_does_not_wait_for_the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reviewing(tmp_path) as review:
        first, asked = review.current, []

        async def slow(self: object, *given: object, **named: object) -> object:
            asked.append(review.current.id)
            raise StoreFullError

        monkeypatch.setattr(DeskReview, "change", slow)
        await review.press("a")
        assert asked == [review.current.id]
        assert review.current.id != first.id


async def test_a_decision_that_fails_brings_the_row_back_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current

        async def full(self: object, *given: object, **named: object) -> object:
            raise StoreFullError

        monkeypatch.setattr(DeskReview, "change", full)
        await review.press("a")
        assert review.row(first.id) == first
        (said,) = review.toasts
        assert said.startswith("“A postmortem that names no culprit.”: The disk is full")


async def test_what_another_process_edited_is_not_approved_unseen(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        async with open_at(tmp_path) as other:
            await other.drafts.edit(first.id, "Other words.")
        review.app.simulate_key("a")
        await review.wait()
        assert await review.status(first.id) is not Status.APPROVED
        assert any("was changed meanwhile" in said for said in review.toasts)


async def test_undo_takes_decisions_back_one_after_the_other_and_redo_brings_them_again(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        await review.press("a")
        second = review.current
        await review.press("x", "u")
        assert (await review.desk.drafts.get(second.id)).archived_at is None
        assert (
            review.toasts[-1] == "Took back the archiving of “Two of three newsletters lose readers a…” · Ctrl+r redo"
        )
        await review.press("u")
        assert await review.status(first.id) is first.status
        assert review.row(first.id).status is first.status
        await review.press("ctrl+r")
        assert await review.status(first.id) is Status.APPROVED
        assert review.row(first.id).status is Status.APPROVED
        assert review.toasts[-1] == "Did again the approval of “A postmortem that names no culprit.” · u undo"


async def test_without_anything_to_undo_it_says_so(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        await review.press("u")
        assert review.toasts == ["There is nothing to be undone."]


async def test_keys_that_are_pressed_faster_than_the_desk_writes_are_all_carried_out_in_order(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        for key in ("a", "a", "u", "a"):
            review.app.simulate_key(key)
        await review.wait()
        counts = await review.desk.drafts.counts()
        assert counts.by_status[Status.APPROVED] == 2
        assert await review.status(first.id) is Status.APPROVED


async def test_decisions_in_a_row_are_one_toast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "IN_A_ROW", 600)
    async with reviewing(tmp_path) as review:
        said, say = [], review.app.say
        monkeypatch.setattr(review.app, "say", lambda words: (said.append(words), say(words)))
        for key in ("a", "a", "x"):
            review.app.simulate_key(key)
        await review.until(lambda: review.screen.deciding._row.total() == 3)
        assert said == ["Approved · u undo"]
        review.screen.deciding._say_rest()  # as when the time has passed
        await review.until(lambda: review.toasts == ["2 approved, 1 archived · u undo"])


async def test_rejecting_asks_why_and_offers_the_reasons_used_before(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        await review.press("r", *"Old", "enter")
        second = review.current
        assert (await review.desk.drafts.get(first.id)).rejection_feedback == "Old"
        await review.press("r")
        assert "Alt+1 Old" in review.text
        assert "Why is “Two of three newsletters" in review.text
        await review.press("alt+1", "r", "enter")
        assert (await review.desk.drafts.get(second.id)).rejection_feedback == "Old"
        assert (await review.desk.drafts.counts()).by_status[Status.REJECTED] == 3


async def test_a_rejection_that_is_left_is_none(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        await review.press("r", *"No", "escape")
        assert review.current == first
        assert await review.status(first.id) is first.status


async def test_a_bulk_says_what_could_not_be_done_and_leaves_it_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reviewing(tmp_path) as review:
        ids = [row.id for row in (await review.desk.drafts.list()).items]
        await review.desk.drafts.archive(ids[1])
        kept: list[tuple[str, ...]] = []
        chosen = these(ids)._replace(keep=lambda left: kept.append(tuple(left)))
        monkeypatch.setattr(review.screen, "chosen", lambda: chosen)
        await review.press("a")
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 4
        assert kept == [(ids[1],)]
        assert review.toasts[0].startswith(
            "4 approved, 1 not: “Two of three newsletters lose readers a…”: This draft is"
        )
        assert review.toasts[0].endswith("· u undo")
        await review.press("u")
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 0


async def test_a_decision_is_carried_out_though_the_user_quits(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        review.app.simulate_key("a")
        await review.until(lambda: review.current.id != first.id)
        review.app.exit()
    async with open_at(tmp_path) as desk:
        assert (await desk.drafts.get(first.id)).status is Status.APPROVED


@pytest.mark.usefixtures("impatient")
async def test_one_who_quits_in_the_middle_of_a_bulk_is_told_what_is_waited_for_and_how_far_it_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.desk.review.MOST_IDS", 2)
    monkeypatch.setattr("copydesk.tui.asking.LAST_BULKS", 0)
    going_on = asyncio.Event()
    async with reviewing(tmp_path) as review:
        review.choose(*(row.id for row in (await review.desk.drafts.list()).items))

        async def before_it(_: object) -> None:
            await going_on.wait()

        review.app.carry_out(before_it)
        review.app.simulate_key("a")
        review.app.simulate_key("q")
        try:
            await review.until(lambda: "Finishing what you decided …" in review.text)
            review.app.simulate_key("x")
            await review.until(lambda: review.app.hurries and not review.app.type_ahead.busy)
        finally:
            going_on.set()
        await review.until(lambda: review.app._exit)
        assert review.app.last_words.startswith("2 approved; 3 more drafts were left as they were.")
        assert review.app.return_code == 0
    async with open_at(tmp_path) as desk:
        counts = (await desk.drafts.counts()).by_status
        assert (counts[Status.APPROVED], counts[Status.AWAITING_REVIEW]) == (2, 3)


@pytest.mark.usefixtures("impatient")
async def test_one_who_quits_in_the_middle_of_an_undo_is_told_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.desk.undoing.MOST_IDS", 2)
    monkeypatch.setattr("copydesk.tui.asking.LAST_BULKS", 0)
    going_on = asyncio.Event()
    async with reviewing(tmp_path) as review:
        review.choose(*(row.id for row in (await review.desk.drafts.list()).items))
        await review.press("a")

        async def before_it(_: object) -> None:
            await going_on.wait()

        review.app.carry_out(before_it)
        review.app.simulate_key("u")
        review.app.simulate_key("q")
        try:
            await review.until(lambda: review.app.hurries and not review.app.type_ahead.busy)
        finally:
            going_on.set()
        await review.until(lambda: review.app._exit)
        words = "Took back the approval of 2 drafts, then you quit. `copydesk draft undo` goes on with the other 3."
        assert review.app.last_words == words
    async with open_at(tmp_path) as desk:
        counts = (await desk.drafts.counts()).by_status
        assert (counts[Status.APPROVED], counts[Status.AWAITING_REVIEW]) == (3, 2)


async def test_history_and_copies(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        await review.press("a", "K", "H")
        assert "History · q closes" in review.text
        assert "you approved it (look again → approved)" in review.text
        assert "awaiting_review" not in review.text
        await review.press("q", "y")
        assert review.app.clipboard == first.text
        await review.press("Y")
        assert review.toasts[-1] == "Its source has no link to copy."


async def test_a_new_version_is_told_of_and_the_difference_is_one_key_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = FakeWriter()
    writer.answers = ["A postmortem without culprits."]
    monkeypatch.setattr("copydesk.drafting.writer.choose_writer", lambda: writer)
    async with reviewing(tmp_path) as review:
        await review.press("d")
        assert "has no other version" in review.toasts[-1]
        first = review.current
        await review.press("R", *"Shorter", "enter")
        await review.until(lambda: any("new version" in said for said in review.toasts))
        assert review.current.id != first.id
        await review.press("d")
        assert "What changed" not in review.text
        assert "has no other version" in review.toasts[-1]
        await review.press("K", "d")
        assert "What changed · q closes · “A postmortem that names no culprit" in review.text
        assert "{+without culprits+}" in review.text


async def test_what_is_archived_elsewhere_is_not_lost_by_a_decision_here(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first = review.current
        async with open_at(tmp_path) as other:
            await other.drafts.archive(first.id)
        await review.press("a")
        assert (await review.desk.drafts.get(first.id)).archived_at is not None
        assert any("archived" in said for said in review.toasts)


async def test_why_is_asked_of_one_and_of_many_in_grammar(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        await review.press("r")
        assert "Why is “A postmortem that names no culprit.” turned down?" in review.text
        await review.press("escape", "asterisk", "r")
        assert "Why are 5 drafts turned down?" in review.text
