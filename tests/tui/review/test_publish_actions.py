"""Tests for scheduling and posting from the review, with a real desk and a fake platform."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from console_driver import wait_until_idle
from copydesk.desk import Desk, open_desk
from copydesk.desk.drafts.source_changes import hold_drafts
from copydesk.errors import ConflictError
from copydesk.model.draft import Format, Status
from copydesk.model.platform import Limits
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import Account, Post, Problem
from copydesk.store import accounts
from copydesk.tui.app import Console
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.setup.screen import SetupScreen
from desk_fixtures import NOW, Watch, settings_at
from posting_fixtures import connect_account
from review_driver import ReviewDriver, open_review

HOUR = timedelta(hours=1)


async def test_schedule_to_next_slot_undoes_in_two_steps(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.desk.schedule.set_slots([review.desk.schedule.parse_slot("wed 09:00")])
        first = review.current
        await review.press("s")
        assert await review.get_status(first.id) is Status.SCHEDULED
        assert review.current.id != first.id
        assert review.toasts[-1] == "Approved and scheduled for Wed 11 Feb 09:00 · u undo"
        await review.press("u")
        assert await review.get_status(first.id) is Status.APPROVED
        await review.press("u")
        assert await review.get_status(first.id) is first.status


async def test_schedule_without_slot_approves_nothing(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("s")
        assert await review.get_status(first.id) is first.status
        assert review.find_row(first.id).status is first.status
        assert review.current.id == first.id
        assert "No weekly slots. Add some: 2, then A." in review.toasts[-1]
        assert "problem" not in review.lines[0]


@pytest.mark.parametrize(
    ("keys", "at"), [(("s",), NOW + HOUR), (("S", *"tomorrow 9", "enter"), datetime(2026, 2, 11, 9, tzinfo=UTC))]
)
async def test_held_draft_is_scheduled(tmp_path: Path, keys: tuple[str, ...], at: datetime) -> None:
    async with open_review(tmp_path, texts=("The ferry sails at dawn.",)) as review:
        desk, draft = review.desk, review.current
        await desk.schedule.set_slots([desk.schedule.parse_slot("wed 10:00")])
        await desk.drafts.approve(draft.id)
        await desk.drafts.schedule(draft.id, NOW + HOUR)
        await desk._context.write(hold_drafts, [draft.item_id], "Held: its source deleted it.", NOW)
        await review.press(".", *keys)
        scheduled = await desk.drafts.get(draft.id)
        assert (scheduled.status, scheduled.scheduled_at) == (Status.SCHEDULED, at)


async def test_failed_undo_keeps_first_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ConflictError("It cannot be undone.")

    async with open_review(tmp_path) as review:
        monkeypatch.setattr(review.desk.drafts, "undo", fail)
        await review.press("s")
        assert "No weekly slots." in review.toasts[-1]


async def test_time_is_parsed_while_typed(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("S", *"tomorrow")
        await review.press(" ", "9")
        assert "Wed 11 Feb 2026 09:00" in review.text
        await review.press("enter")
        drafts = review.desk.drafts
        assert (await drafts.get(first.id)).scheduled_at is not None
        assert await review.get_status(first.id) is Status.SCHEDULED
        await review.press("K", "S", *"someday", "enter")
        assert "Schedule “" in review.text
        await review.press("escape")
        assert await review.get_status(first.id) is Status.SCHEDULED


async def test_posting_confirms_account_and_reports_result(tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "posted.jsonl")

    def open_fake_desk() -> object:
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": FakePlatform(server)})

    async with open_fake_desk() as desk:  # type: ignore[attr-defined]
        await desk.drafts.create({"text": "To be posted."})
        await desk.accounts.connect("fake", {"name": "me"})
    app = Console(open_fake_desk, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        assert isinstance(app.screen, ReviewScreen)
        first = review.current
        await review.press("p")
        assert "Post “To be posted.” now to fake:me?" in review.text
        await review.press("enter")
        assert await review.get_status(first.id) is first.status
        await review.press("p", "y")
        assert await review.get_status(first.id) is Status.POSTED
        # Not that it was approved: that cannot be undone any more.
        assert [message.partition(" http")[0] for message in review.toasts] == ["fake:me: Posted:"]
        review.app.show_draft(first.id)
        await review.wait()
        assert "fake:me  https://fake.example/" in review.text
        assert "posted · just now" in review.text


async def test_text_changed_while_the_question_is_open_is_not_posted(tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "posted.jsonl")

    def open_fake_desk() -> AbstractAsyncContextManager[Desk]:
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": FakePlatform(server)})

    async with open_fake_desk() as desk:
        (draft,) = (await desk.drafts.create({"text": "To be posted."})).drafts
        await desk.drafts.approve(draft.id)
        await desk.accounts.connect("fake", {"name": "me"})
    app = Console(open_fake_desk, clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        review.app.show_draft(draft.id)
        await review.wait()
        await review.press("p")
        assert "Post “To be posted.” now to fake:me?" in review.text
        await review.desk.drafts.edit(draft.id, "Something else.")
        await review.press("y")
        assert "changed in the meantime" in review.toasts[-1]
        assert not server.posts
        await review.press("p", "y")
        assert [post.text for post in server.posts] == ["Something else."]


async def test_posting_without_account_is_refused(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("p")
        assert review.toasts == ["No account connected. Press 6 for Setup, then A to connect one."]
        # There is nothing to answer: the key that it names works.
        await review.press("6")
        assert isinstance(review.app.screen, SetupScreen)
        assert await review.get_status(first.id) is first.status


@pytest.mark.usefixtures("quick_check")
async def test_missing_account_is_told_once(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        note = "No account is connected for this draft. 6, then A connects one."
        await review.press("a")
        await review.wait_for(lambda: note in review.toasts)
        await review.press("a")
        assert review.toasts.count(note) == 1


@pytest.mark.usefixtures("quick_check")
async def test_approval_warns_about_posting_blocker(tmp_path: Path) -> None:
    def open_fake_desk() -> object:
        platform = FakePlatform(FakeServer(tmp_path / "posted.jsonl"))
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": platform})

    async with open_fake_desk() as desk:  # type: ignore[attr-defined]
        await desk.drafts.create({"text": "Too long. " * 200})
        await desk.accounts.connect("fake", {"name": "me"})
    app = Console(open_fake_desk, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        await review.press("a")
        await review.wait_for(lambda: any("cannot be posted to fake:me" in message for message in review.toasts))


class PickyPlatform(FakePlatform):
    """Its account `picky` takes no draft, and `pickier` none with a comma."""

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        refused = account.name == "picky" or (account.name == "pickier" and "," in post.parts[0])
        return [Problem(message="Takes only haiku.")] if refused else []


async def test_question_before_posting_names_only_accounts_that_take_the_draft(tmp_path: Path) -> None:
    def open_picky_desk() -> object:
        platform = PickyPlatform(FakeServer(tmp_path / "posted.jsonl"))
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": platform})

    async with open_picky_desk() as desk:  # type: ignore[attr-defined]
        (plain,) = (await desk.drafts.create({"text": "A plain sentence."})).drafts
        (refused,) = (await desk.drafts.create({"text": "With a comma, that is."})).drafts
        for name in ("picky", "pickier"):
            await desk.accounts.connect("fake", {"name": name})
    app = Console(open_picky_desk, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        review.app.show_draft(plain.id)
        await review.wait()
        await review.press("p")
        assert "Post “A plain sentence.” now to fake:pickier?" in review.text
        assert "Not to fake:picky: Takes only haiku." in review.text
        await review.press("n")
        review.app.show_draft(refused.id)
        await review.wait()
        await review.press("p")
        assert "“With a comma, that is.” cannot be posted as it is." in review.text
        assert "Not to fake:pickier: Takes only haiku." in review.text
        await review.press("y")
        assert "cannot be posted as it is" in review.text
        await review.press("n")
        assert await review.get_status(refused.id) is refused.status


async def test_question_before_posting_names_an_account_that_needs_a_login(tmp_path: Path) -> None:
    def open_fake_desk() -> object:
        platform = FakePlatform(FakeServer(tmp_path / "posted.jsonl"))
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": platform})

    async with open_fake_desk() as desk:  # type: ignore[attr-defined]
        await desk.drafts.create({"text": "A plain sentence."})
        account = await desk.accounts.connect("fake", {"name": "me"})
        await desk._context.write(accounts.set_error, account, "The password was changed.")
    app = Console(open_fake_desk, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        await review.press("p")
        assert "Post “A plain sentence.” now to fake:me?" in review.text
        assert "To fake:me after you sign in again: The password was changed." in review.text


class Blog(FakePlatform):
    """A platform that takes articles only."""

    info = replace(FakePlatform.info, name="blog", limits=Limits(formats=frozenset({Format.BLOG})))


@asynccontextmanager
async def open_posting_review(
    home: Path, *names: tuple[str, str], texts: Sequence[str] = ("A plain sentence.",), **platforms: FakePlatform
) -> AsyncIterator[tuple[ReviewDriver, Desk]]:
    """Open the review of a desk with accounts on these servers."""

    def open_fake_desk() -> AbstractAsyncContextManager[Desk]:
        return open_desk(settings_at(home), clock=Watch(), platforms=platforms)

    async with open_fake_desk() as desk:
        for platform, server in names:
            await connect_account(desk, "me", platform=platform, server=f"https://{server}")
        for text in texts:
            await desk.drafts.create({"text": text})
        app = Console(open_fake_desk, clock=lambda: NOW)
        async with app.run_test(size=(120, 32), notifications=True) as pilot:
            await wait_until_idle(pilot)
            yield ReviewDriver(app, pilot), desk


async def test_question_before_posting_tells_accounts_apart_and_names_no_blog(tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "posted.jsonl")
    accounts = ("fake", "one.test"), ("fake", "two.test"), ("blog", "three.test")
    platforms = {"fake": FakePlatform(server), "blog": Blog(server)}
    async with open_posting_review(tmp_path, *accounts, **platforms) as (review, _):
        await review.press("p")
        assert "now to fake:me (one.test) and fake:me (two.test)?" in " ".join(review.text.split())
        assert "blog" not in review.text


async def test_draft_is_not_posted_where_no_account_takes_its_format(tmp_path: Path) -> None:
    platforms = {"blog": Blog(FakeServer(tmp_path / "posted.jsonl"))}
    async with open_posting_review(tmp_path, ("blog", "one.test"), **platforms) as (review, _):
        await review.press("p")
        assert "No connected account takes this format (short)." in review.text


async def test_question_before_posting_names_a_target_without_account(tmp_path: Path) -> None:
    platforms = {"fake": FakePlatform(FakeServer(tmp_path / "posted.jsonl"))}
    async with open_posting_review(tmp_path, ("fake", "one.test"), texts=(), **platforms) as (review, desk):
        for text, targets in (("Some go out.", ["fake", "mastodon"]), ("None goes out.", ["mastodon"])):
            created = await desk.drafts.create({"text": text, "targetPlatforms": targets})
            review.app.show_draft(created.drafts[0].id)
            await review.wait()
            await review.press("p")
            if text == "Some go out.":
                assert "Post “Some go out.” now to fake:me?" in review.text
                assert "Not to mastodon: No such account is connected." in review.text
            else:
                assert "No account is connected for this draft." in review.text
            await review.press("n")


async def test_draft_that_may_be_posted_is_not_offered_to_be_posted(tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "posted.jsonl")
    server.faults.append(Fault.LATE)
    platforms = {"fake": FakePlatform(server)}
    async with open_posting_review(tmp_path, ("fake", "one.test"), **platforms) as (review, desk):
        draft_id = review.current.id
        await desk.drafts.approve(draft_id)
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        await desk.posting.give_up(report.id)
        review.app.show_draft(draft_id)
        await review.wait_for(lambda: review.current.status is Status.APPROVED)
        await review.press("p")
        assert "The last request may still arrive. Try again in" in review.text
        await review.press("escape")
        await desk.accounts.connect("fake", {"name": "you"})
        await review.press("p")
        assert "Post “A plain sentence.” now to fake:you?" in review.text
        assert "Not to fake:me: it may be there already. m marks it as posted." in review.text


async def test_undo_skips_posted_draft(tmp_path: Path) -> None:
    def open_fake_desk() -> object:
        platform = FakePlatform(FakeServer(tmp_path / "posted.jsonl"))
        return open_desk(settings_at(tmp_path), clock=Watch(), platforms={"fake": platform})

    async with open_fake_desk() as desk:  # type: ignore[attr-defined]
        for text in ("One thing.", "Another thing.", "A third thing."):
            await desk.drafts.create({"text": text})
        await desk.accounts.connect("fake", {"name": "me"})
    app = Console(open_fake_desk, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        review = ReviewDriver(app, pilot)
        first = review.current
        await review.press("a")
        second = review.current
        await review.press("a")
        third = review.current
        await review.press("p", "y")
        await review.press("u")
        assert (
            "The last change (it was approved) cannot be undone: it was sent in the meantime. "
            "u undoes the change before it." in review.toasts
        )
        assert await review.get_status(second.id) is Status.APPROVED
        await review.press("u")
        assert await review.get_status(second.id) is second.status
        assert review.toasts[-1].startswith(f"Undid approval of “{second.text}”")
        await review.press("u")
        assert await review.get_status(first.id) is first.status
        assert await review.get_status(third.id) is Status.POSTED


async def test_header_says_that_no_account_is_connected(tmp_path: Path) -> None:
    async with open_review(tmp_path, size=(132, 32)) as review:
        await review.wait_for(lambda: "6 no account connected" in review.lines[0])
        review.app.has_account = True
        await review.wait_for(lambda: "no account connected" not in review.lines[0])
