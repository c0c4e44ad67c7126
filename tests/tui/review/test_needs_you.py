"""Tests for the tab Needs you: what it shows, and the key of each answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from console_driver import ConsoleDriver, type_text, wait_until_idle
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.tui.app import Console
from copydesk.tui.review import needs_you
from delayed_responses import wait_until
from desk_fixtures import NOW
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk

LATER = NOW + timedelta(minutes=5)
NO_LOOKUP = DeliveryGuarantees(can_read_back=False)


class NeedsYouDriver(ConsoleDriver):
    """The console on a desk with deliveries that need the user."""

    server: FakeServer

    @property
    def situations(self) -> list[str]:
        """The situations of the listed deliveries."""
        return [question.delivery.situation for question in self.app.screen.questions.rows]


@asynccontextmanager
async def open_needs_you(
    home: Path, *, login: bool = False, size: tuple[int, int] = (120, 32), key: str = "0", now: datetime = LATER
) -> AsyncIterator[NeedsYouDriver]:
    """Open the tab Needs you; with `login` the account needs one, too."""
    server = FakeServer()
    platforms = fake_platforms(server, guarantees=NO_LOOKUP)
    async with open_posting_desk(home, platforms) as desk:
        await connect_account(desk)
        cases = [("Unknown.", [Fault.CUT_BEFORE] * 2), ("Rejected.", [Fault.REFUSED]), ("Waits.", [Fault.LOGIN])]
        for text, faults in cases if login else cases[:2]:
            server.faults.extend(faults)
            await desk.posting.post(await create_approved_draft(desk, text), wait=60)
    app = Console(lambda: open_posting_desk(home, platforms, clock=lambda: now), clock=lambda: now)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = NeedsYouDriver(app, pilot)
        ui.server = server
        await ui.press(key)
        yield ui


async def test_click_on_the_count_in_the_top_line_opens_the_tab(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, key="2") as ui:
        assert ui.app.current_mode == "schedule"
        await ui.pilot.click(offset=(ui.lines[0].index("0 Needs you (2)"), 0))
        await ui.wait()
        assert ui.app.current_mode == "needs_you"


async def test_tab_shows_what_is_known_with_a_key_for_each_answer(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, login=True) as ui:
        assert ui.lines[0].rstrip().endswith("0 Needs you (3)")
        assert "All 3  Needs you 3" in ui.lines[1]
        assert ui.situations == ["cannot_check", "rejected", "needs_login"]
        for text in (
            "Unknown whether it was posted. The connection was interrupted. Copydesk cannot check Fake Social.",
            "o  open the profile https://fake.example/me",
            "m  it is there: mark as posted",
            "p  send again",
            "D  drop: neither send nor check it again",
            "A  sign in",
        ):
            assert text in ui.text
        await ui.press("j")
        assert "Not posted: The platform rejected the post." in ui.text


async def test_every_screen_counts_them(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, key="4") as ui:
        assert (ui.app.current_mode, ui.lines[0].rstrip().endswith("0 Needs you (2)")) == ("experiments", True)


async def test_mark_as_posted_takes_a_url(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("m")
        await type_text(ui, "https://fake.example/me/7")
        await ui.press("enter")
        assert (ui.toasts[-1], ui.situations) == ("fake:me: marked as posted", ["rejected"])
        assert ui.lines[0].rstrip().endswith("0 Needs you (1)")
        (unknown, _) = (await ui.app.desk.drafts.list()).items[::-1]
        (report,) = await ui.app.desk.posting.list_deliveries(unknown.id)
        assert report.posts[0].url == "https://fake.example/me/7"
        await ui.press("m", "escape")
        assert ui.situations == ["rejected"]


async def test_mark_as_posted_asks_again_for_an_invalid_url(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("m")
        await type_text(ui, "fake.example/me/7")
        await ui.press("enter")
        assert "The URL must start with https:// or http://. It may stay empty." in ui.text
        await ui.press("home")
        await type_text(ui, "https://")
        await ui.press("enter")
        assert ui.toasts == ["fake:me: marked as posted"]


async def test_url_that_is_refused_is_reported_on_another_screen(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        screen = ui.app.screen
        await ui.press("2")
        screen._answers.mark_posted(screen.questions.rows[0].delivery, "fake.example", "The URL is refused.")
        await ui.wait()
        assert (ui.app.current_mode, ui.toasts) == ("schedule", ["The URL is refused."])


async def test_send_again_warns_and_asks(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("p")
        assert "fake:me may have it already. Send it again?" in ui.text
        await ui.press("enter")
        assert ui.server.posts == ()
        await ui.press("p", "y")
        assert [post.text for post in ui.server.posts] == ["Unknown."]
        assert (ui.toasts[-1], ui.situations) == ("fake:me: Posted: https://fake.example/me/1", ["rejected"])
        await ui.press("p")
        assert "Send it to fake:me again?" in ui.text


async def test_send_again_is_refused_before_the_question_while_the_request_may_arrive(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, now=NOW + timedelta(seconds=20)) as ui:
        await ui.press("p")
        assert ui.toasts == ["The last request may still arrive. Try again in 2 minutes."]
        assert "Send it again?" not in ui.text
        await ui.press("j", "p")
        assert "Send it to fake:me again?" in ui.text


async def test_failed_post_names_the_key_of_the_tab(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        ui.server.faults.append(Fault.REFUSED)
        await ui.press("p", "y")
        assert ui.toasts[-1] == ("fake:me: Not posted: The platform rejected the post. Press 0 to answer.")


async def test_drop_asks_only_while_something_would_still_be_done(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("D", "n")
        assert ui.situations == ["cannot_check", "rejected"]
        await ui.press("D", "y")
        assert ui.toasts[-1] == "fake:me: dropped. On the draft, m marks it as posted, p sends it again."
        assert ui.situations == ["rejected"]
        await ui.press("D")
        assert (ui.toasts[-1], ui.situations) == ("fake:me: dropped", [])
        assert "Nothing needs you" in ui.text
        assert "need" not in ui.lines[0]


@asynccontextmanager
async def open_dropped(home: Path, *, now: datetime = LATER) -> AsyncIterator[NeedsYouDriver]:
    """Open the page of a draft whose delivery of unknown outcome was dropped."""
    async with open_needs_you(home, now=now) as ui:
        draft_id = ui.app.screen.questions.current.delivery.draft_id
        await ui.press("D", "y")
        ui.app.show_draft(draft_id)
        await ui.wait()
        assert (ui.app.current_mode, ui.app.screen.queue.current.text) == ("review", "Unknown.")
        yield ui


async def test_page_of_a_dropped_draft_names_the_keys_that_resolve_it(tmp_path: Path) -> None:
    async with open_dropped(tmp_path) as ui:
        page = " ".join(ui.text.split())
        assert "Unknown whether it was posted to fake:me. m marks it as posted," in page
        ui.app.show_draft((await ui.app.desk.drafts.list()).items[0].id)
        await ui.wait()
        assert "Unknown whether" not in ui.text
        await ui.press("m")
        assert ui.toasts[-1] == "“Rejected.”: no delivery has an unknown outcome."


@pytest.mark.usefixtures("quick_check")
async def test_approval_of_a_dropped_draft_names_keys_instead_of_commands(tmp_path: Path) -> None:
    async with open_dropped(tmp_path) as ui:
        await ui.press("U", "a")
        await wait_until(lambda: ui.toasts[-1].startswith("“Unknown.”: "), ui.pilot.pause)
        assert ui.toasts[-1] == (
            "“Unknown.”: Unknown whether it was posted to fake:me. m marks it as posted, p sends it again."
        )


async def test_dropped_delivery_is_marked_as_posted(tmp_path: Path) -> None:
    async with open_dropped(tmp_path) as ui:
        await ui.press("m")
        await type_text(ui, "https://fake.example/me/7")
        await ui.press("enter")
        assert ui.toasts[-1] == "fake:me: marked as posted"
        assert "Unknown whether" not in ui.text
        draft_id = (await ui.app.desk.drafts.list()).items[-1].id
        (report,) = await ui.app.desk.posting.list_deliveries(draft_id)
        assert (report.situation, report.posts[0].url) == ("confirmed_by_user", "https://fake.example/me/7")


async def test_dropped_delivery_is_sent_again_after_a_warning(tmp_path: Path) -> None:
    async with open_dropped(tmp_path) as ui:
        await ui.press("p")
        assert "fake:me may have it already. Send it again?" in ui.text
        await ui.press("enter")
        assert ui.server.posts == ()
        await ui.press("p", "y")
        assert [post.text for post in ui.server.posts] == ["Unknown."]
        assert ui.toasts[-1] == "fake:me: Posted: https://fake.example/me/1"
        assert "Unknown whether" not in ui.text


async def test_dropped_delivery_is_not_sent_again_with_too_few_approvals(tmp_path: Path) -> None:
    async with open_dropped(tmp_path) as ui:
        await ui.app.desk.accounts.require_approvals("fake:me", 2)
        await ui.press("p")
        page = " ".join(ui.text.split())
        assert ("cannot be posted yet" in page, "Send it again?" in page) == (True, False)
        await ui.press("y")
        assert ui.server.posts == ()


async def test_dropped_delivery_is_not_sent_again_while_the_request_may_arrive(tmp_path: Path) -> None:
    async with open_dropped(tmp_path, now=NOW + timedelta(seconds=20)) as ui:
        await ui.press("p")
        assert "The last request may still arrive. Try again in 2 minutes." in ui.text
        await ui.press("y")
        assert ui.server.posts == ()


class ServerPlatform(FakePlatform):
    """A platform that asks for the server of an account."""

    info = replace(FakePlatform.info, default_server="")


async def test_sign_in_opens_the_form_with_the_server_of_the_account(tmp_path: Path) -> None:
    server = FakeServer()
    platforms = {"fake": ServerPlatform(server)}
    async with open_posting_desk(tmp_path, platforms) as desk:
        # Two accounts with the same label.
        servers = {await connect_account(desk, server=url): url for url in ("https://one.test", "https://two.test")}
        server.faults.extend([Fault.LOGIN] * 2)
        await desk.posting.post(await create_approved_draft(desk), wait=60)
    app = Console(lambda: open_posting_desk(tmp_path, platforms, clock=lambda: LATER), clock=lambda: LATER)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = NeedsYouDriver(app, pilot)
        await ui.press("0")
        account_ids = [question.account_id for question in app.screen.questions.rows]
        assert sorted(account_ids) == sorted(servers)
        for key, account_id in zip("gG", account_ids, strict=True):
            await ui.press("0", key, "A")
            assert (app.current_mode, ui.toasts) == ("setup", [])
            assert any(line.split()[-2:] == ["Server", f"▌{servers[account_id]}"] for line in ui.lines), ui.text
            await ui.press("escape")


async def test_impossible_answer_says_why(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, login=True) as ui:
        await ui.press("G", "m")
        assert ui.toasts[-1].startswith("Not possible: nothing was sent yet")
        await ui.press("p")
        assert ui.toasts[-1].startswith("Not possible while Copydesk still sends or checks it")


async def test_profile_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def open_link(_: object, url: str) -> None:
        opened.append(url)

    monkeypatch.setattr(needs_you, "open_or_show_link", open_link)
    async with open_needs_you(tmp_path) as ui:
        await ui.press("o")
    assert opened == ["https://fake.example/me"]


async def test_tab_follows_the_last_one_and_precedes_the_first(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("left_square_bracket")
        assert (ui.app.current_mode, ui.app.screen.queue_pane.tab) == ("review", "archived")
        await ui.press("right_square_bracket")
        assert ui.app.current_mode == "needs_you"
        await ui.press("right_square_bracket")
        assert (ui.app.current_mode, ui.app.screen.queue_pane.tab) == ("review", "to_review")
        await ui.press("left_square_bracket")
        assert ui.app.current_mode == "needs_you"
        await ui.press("escape")
        assert ui.app.current_mode == "review"


async def test_enter_shows_the_draft(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path) as ui:
        await ui.press("enter")
        assert (ui.app.current_mode, ui.app.screen.queue.current.text) == ("review", "Unknown.")


async def test_missing_account_says_what_waits_and_opens_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(FakeServer())) as desk:
        await connect_account(desk)
        await create_approved_draft(desk, "A toot.", targetPlatforms=["mastodon"])
    opened: list[str] = []
    monkeypatch.setattr("copydesk.tui.setup.screen.SetupScreen.connect", lambda _, *account: opened.extend(account))
    app = Console(lambda: open_posting_desk(tmp_path, fake_platforms(FakeServer())), clock=lambda: LATER)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = NeedsYouDriver(app, pilot)
        await ui.press("0")
        assert "0 Needs you (1)" in ui.lines[0]
        for text in (
            "no account for Mastodon",
            "No account for Mastodon is connected: 1 approved draft cannot be posted.",
            "A      connect an account of Mastodon",
            "Connect one: 6, then A. Post it elsewhere: copydesk draft post",
        ):
            assert text in ui.text
        assert "A connect an account" in ui.lines[-1]
        await ui.press("p")
        assert ui.toasts[-1] == "Nothing was sent: an account is missing. A connects one."
        await ui.press("A")
        assert (opened, ui.app.current_mode) == (["mastodon", ""], "setup")


async def test_tab_fits_a_small_terminal(tmp_path: Path) -> None:
    async with open_needs_you(tmp_path, size=(40, 12)) as ui:
        assert "0 Needs (2)" in ui.lines[0]
        assert ui.lines[1].strip() == "Needs you 2"
        assert "fake:me" in ui.text
