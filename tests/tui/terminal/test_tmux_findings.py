"""Tests in a real terminal for what a new user of the console stumbles over: what is shown, refused and asked."""

import asyncio
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from copydesk.desk import open_desk
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import load
from fake_model_server import FakeChatCompletions, draft_answer
from feed_server import FeedServer, Request, response_head
from sample_desks import SAMPLE_DRAFTS
from tmux_terminal import Terminal, open_terminal

SIZES = [(80, 24), (100, 30), (200, 50)]


@pytest.fixture(scope="session")
def history_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of a sample desk with a past, as `make run` opens it."""
    home = tmp_path_factory.mktemp("history")

    async def create() -> None:
        async with open_sample(sample_settings(load({}, home / "sample")), with_history=True):
            pass

    asyncio.run(create())
    return home


@pytest.fixture
def history_home(history_template: Path, tmp_path: Path) -> Path:
    """Return a sample desk with a history, of the test's own."""
    return Path(shutil.copytree(history_template, tmp_path / "home"))


@pytest.fixture
def home_without_account(tmp_path: Path) -> Path:
    """Return a desk with drafts, slots and no account."""

    async def create() -> None:
        async with open_desk(load({}, tmp_path)) as desk:
            await desk.schedule.set_slots([desk.schedule.parse_slot(f"{day} 09:00") for day in ("mon", "tue")])
            for text in ("One harbour.", "Two harbours.", "Three harbours."):
                await desk.drafts.create({"text": text})

    asyncio.run(create())
    return tmp_path


def open_sample_console(terminal: Terminal, home: Path) -> None:
    """Open the console on the sample desk and wait for its rows."""
    terminal.start_console(home)
    terminal.wait_for(r"Queue · \d+[\s\S]*▌ ")


@contextmanager
def serve_model(text: str, may_finish: threading.Event) -> Iterator[FeedServer]:
    """Serve a model that writes half of the text, and the rest once it may finish."""
    answer = draft_answer(text)
    events = FakeChatCompletions("").stream(answer).split("\n\n")
    # One event opens the answer, the others have seven characters each.
    half = 1 + (answer.index(text) + len(text) // 2) // 7

    async def write(_: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(response_head(200, {"Content-Type": "text/event-stream", "Connection": "close"}))
        for number, event in enumerate(events):
            if number == half:
                await asyncio.to_thread(may_finish.wait)
            writer.write(f"{event}\n\n".encode())
            await writer.drain()
            # As a model does: what arrives at once is shown at once.
            await asyncio.sleep(0.02)
        return False

    with FeedServer() as server:
        server.route("/v1/chat/completions", write)
        try:
            yield server
        finally:
            may_finish.set()


async def use_model(home: Path, url: str) -> None:
    """Let a model write the drafts of this desk."""
    async with open_desk(load({}, home)) as desk:
        await desk.writers.add({"name": "local", "model": "test", "baseUrl": f"{url}/v1"})
        await desk.writers.use(["local"])


def test_new_version_is_watched_while_written_and_one_key_away(home_without_account: Path) -> None:
    may_finish = threading.Event()
    text = "The harbour opens again, and the ferry sails at nine every morning of the week."
    with serve_model(text, may_finish) as server, open_terminal((80, 24)) as terminal:
        asyncio.run(use_model(home_without_account, server.url("")))
        terminal.start_copydesk("--home", str(home_without_account))
        terminal.wait_for(r"▌ .*Three harbours")
        terminal.press("R")
        terminal.wait_for("Regenerate: what should change")
        terminal.press("Enter")
        # The cursor is on the next draft; the words arrive in the row of the one before.
        terminal.wait_for(r"Writing… The h[\s\S]*▌ .*Two harbours")
        may_finish.set()
        terminal.wait_for(r"New version of[\s\S]*shows it")
        terminal.press(".")
        terminal.wait_for(r"▌ .*The harbour opens again")
        terminal.press("d")
        terminal.wait_for(r"Before +│ After[\s\S]*\[-Three harbours")
        terminal.press("q", "q")
        terminal.wait_for(r"ended=\d")


def test_what_is_impossible_is_known_before_it_is_asked(sample_home: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        open_sample_console(terminal, sample_home)
        # No toast covers the row at the bottom that the cursor is on.
        terminal.press("G", "y")
        assert re.search(r"^▌ [^▌]*$", terminal.wait_for("Copied"), re.MULTILINE)
        terminal.press("g", "a", "a", "a", "]")
        terminal.wait_for(r"Queue · 3 ─")
        terminal.press("R")
        assert "Regenerate: what" not in terminal.wait_for("Cannot regenerate a draft with the")
        terminal.press("*", "S")
        terminal.wait_for("Schedule 3 drafts for")
        terminal.type_text("tomorrow 9")
        terminal.press("Enter")
        terminal.wait_for("3 scheduled")
        terminal.press("]", "*", "S")
        terminal.wait_for("Schedule 3 drafts for")
        terminal.type_text("tomorrow 15")
        terminal.press("Enter")
        terminal.wait_for(r"(15:00 [\s\S]*){3}")
        terminal.press("T")
        terminal.wait_for("Scheduled 2")
        # The drafts that were scheduled have left this tab.
        terminal.press("[")
        terminal.wait_for(r"Queue · 1 ─")
        terminal.press("U")
        terminal.wait_for(rf"To review {SAMPLE_DRAFTS - 2} ")
        assert "Traceback" not in terminal.quit_console()


def test_plan_that_is_longer_than_the_screen_warns_before_its_drafts(home_without_account: Path) -> None:
    async def approve_many() -> None:
        async with open_desk(load({}, home_without_account)) as desk:
            for number in range(30):
                created = await desk.drafts.create({"text": f"Harbour {number}."})
                await desk.drafts.approve(created.drafts[0].id)

    asyncio.run(approve_many())
    with open_terminal((80, 24)) as terminal:
        terminal.start_copydesk("--home", str(home_without_account))
        terminal.wait_for(r"Approved 30[\s\S]*▌ ")
        terminal.press("2")
        terminal.wait_for(r"─ Mon \d+ ")
        terminal.press("Q")
        terminal.wait_for(
            r"Schedule 30 drafts · [^\n]*\n No account is connected for these drafts\. 6, then A connects one\."
        )
        # `q` cancels the plan, then quits.
        terminal.press("q", "q")
        terminal.wait_for(r"ended=\d")


def test_missing_account_is_said_everywhere(home_without_account: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        terminal.start_copydesk("--home", str(home_without_account))
        terminal.wait_for(r"6 no account[\s\S]*Queue · 3 ─[\s\S]*▌ ")
        terminal.press("Enter")
        terminal.wait_for("Accounts  no account connected")
        terminal.press("a")
        terminal.wait_for("No account is connected for")
        terminal.wait_for(r"6 Setup +0 Needs you \(1\)")
        # It waits for an account, and is listed with what helps.
        terminal.press("0")
        terminal.wait_for(r"▌no account connected[\s\S]*Three harbours")
        terminal.press("2", "Q")
        terminal.wait_for(r"Schedule 1 draft[\s\S]*[Nn]o account")
        terminal.press("Enter")
        terminal.wait_for("Scheduled 1 draft")
        terminal.press("1", "q")
        assert "Traceback" not in terminal.quit_console()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_rows_say_what_differs_and_are_sorted(history_home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        open_sample_console(terminal, history_home)
        screen = terminal.screen
        if size[0] < 100:
            assert re.search(r"▌ +~? +\d\d% +\d+[hd] \S+", screen)
        else:
            # The story's source and age are below its title, of which a wide terminal shows more.
            assert re.search(r"▌ .*\n▌ +.* · \d+[hd]( · |  )", screen)
        titles = [line for line in screen.split("\n") if "Quarrystone" in line or "Lighthouse: " in line]
        assert max(len(title.split("│")[0].rstrip("… ")) for title in titles) > size[0] // 3
        for order in ("newest draft first", "oldest draft first", "by confidence", "by source"):
            terminal.press("O")
            terminal.wait_for(rf"Queue · \d+ · {order}")
        terminal.press("*", "a")
        terminal.wait_for(r"\d+ approved · u undo")
        terminal.press("5")
        # Interactions are counted for platforms that report no impressions, too.
        terminal.wait_for(r"per post[\s\S]*(Mastodon: no|see By platform)")
        if size[0] < 100:
            terminal.press("Tab")
        terminal.wait_for(r"Posts · \d+ · by interactions[\s\S]* (Bluesky|Mastodon) ")
        # Enter on a form that was not changed closes it.
        terminal.press("m")
        terminal.wait_for("Empty fields stay unchanged")
        terminal.press("Enter")
        terminal.wait_for(r"\A(?![\s\S]*Empty fields stay)")
        terminal.press("4")
        terminal.wait_for(r"Experiments · 2[\s\S]*▌.* Short or long[\s\S]*still needed")
        terminal.press("j")
        terminal.wait_for(r"How many hashtags[\s\S]*No impressions from Bluesky, Mastodon: ")
        assert "Traceback" not in terminal.quit_console()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
def test_first_undo_leaves_the_week_of_the_sample(history_home: Path, size: tuple[int, int]) -> None:
    with open_terminal(size) as terminal:
        open_sample_console(terminal, history_home)
        before = re.findall(r"Sched\w*\.? (\d+)", terminal.screen)
        terminal.press("u")
        assert re.findall(r"Sched\w*\.? (\d+)", terminal.wait_for("Nothing to undo")) == before
        assert len(before) == 1
        assert "Traceback" not in terminal.quit_console()


def test_commands_and_keys_are_found_by_words(sample_home: Path) -> None:
    with open_terminal((100, 30)) as terminal:
        open_sample_console(terminal, sample_home)
        terminal.press(":")
        terminal.wait_for("🔎")
        terminal.type_text("iran")
        assert "Mark a range" not in terminal.wait_for("No matches found")
        terminal.press("Escape")
        terminal.wait_for(r"\A(?![\s\S]*🔎)")
        terminal.press("6")
        terminal.wait_for("Accounts")
        terminal.press(":")
        terminal.wait_for("🔎")
        terminal.type_text("approve")
        assert not re.search(r"^ +Approve ", terminal.wait_for("Auto-schedule approved drafts"), re.MULTILINE)
        terminal.press("Escape")
        terminal.wait_for(r"\A(?![\s\S]*🔎)")
        terminal.press("1", "?")
        terminal.wait_for("q close")
        terminal.press("/")
        terminal.type_text("sort by")
        terminal.wait_for(r"\A(?![\s\S]*Next tab)[\s\S]*Sort by score")
        terminal.press("Enter", "Enter")
        terminal.wait_for(r"Queue · \d+ · newest draft first")
        assert "Traceback" not in terminal.quit_console()


@pytest.mark.parametrize("is_pasted", [False, True], ids=["typed", "pasted"])
def test_palette_runs_what_was_typed_before_its_list_is_there(sample_home: Path, is_pasted: bool) -> None:
    with open_terminal((80, 24)) as terminal:
        open_sample_console(terminal, sample_home)
        # Whatever the list shows of the text when Enter arrives.
        for text, result in (
            ("next tab", "No drafts in Approved"),
            ("previous tab", r"Queue · \d+ ─"),
            ("show how fast", "Undone within 10 minutes"),
        ):
            if is_pasted:
                terminal.tmux(
                    "set-buffer", text, ";", "send-keys", ":", ";", "paste-buffer", "-p", ";", "send-keys", "Enter"
                )
            else:
                terminal.tmux("send-keys", "-l", f":{text}", ";", "send-keys", "Enter")
            terminal.wait_for(result)
        terminal.press("q")
        assert "Traceback" not in terminal.quit_console()


def test_keys_without_a_row_say_what_to_press(tmp_path: Path) -> None:
    with open_terminal((80, 24)) as terminal:
        terminal.start_copydesk("--home", str(tmp_path))
        terminal.wait_for("No sources yet")
        terminal.press("a")
        terminal.wait_for("There is no draft in this list")
        terminal.press("]")
        terminal.wait_for(r"No drafts in Approved[\s\S]*a approves a draft in To review")
        terminal.press("3", "t")
        terminal.wait_for("No sources yet. A adds one.")
        terminal.press("4", "C")
        terminal.wait_for("No experiments yet. A adds one.")
        terminal.press("2", "Q")
        terminal.wait_for("No approved drafts to schedule")
        assert "Traceback" not in terminal.quit_console()


def test_slots_edits_and_forms_ask_and_keep(history_home: Path) -> None:
    with open_terminal((100, 30), TZ="UTC") as terminal:
        open_sample_console(terminal, history_home)
        # An edit that changes nothing is no error; `d` shows one's own edit.
        terminal.press("e")
        terminal.wait_for("Ctrl.S save")
        terminal.press("C-s")
        terminal.wait_for(r"\A(?![\s\S]*Ctrl.S save)")
        terminal.press("e")
        terminal.wait_for("Ctrl.S save")
        terminal.type_text("Really: ")
        terminal.press("Escape")
        terminal.wait_for(r"Discard your changes\?[\s\S]*y discard · n keep editing")
        terminal.press("n")
        terminal.wait_for("Ctrl.S save")
        terminal.press("C-s")
        terminal.wait_for(r"\A(?![\s\S]*Ctrl.S save)[\s\S]*[^\n]*eally:")
        terminal.press("d")
        terminal.wait_for(r"Changes[\s\S]*eally:")
        terminal.press("q")
        terminal.press("f")
        terminal.wait_for("Filter · Space toggle")
        terminal.press("/")
        terminal.type_text("thread")
        terminal.wait_for(r"\A(?![\s\S]*format  blog)[\s\S]*format  thread")
        terminal.press("Escape")
        terminal.wait_for("format  blog")
        terminal.press("Escape")
        terminal.wait_for(r"\A(?![\s\S]*format  blog)")
        # The week: deleting a slot asks, and the cursor follows a draft whose move is undone.
        terminal.press("2")
        terminal.wait_for(r"─ Mon \d+ ")
        terminal.press("]", "g")
        terminal.wait_for("02:00–02:59")
        terminal.press("A")
        terminal.wait_for("Weekly slots: 02:30")
        terminal.press("Enter")
        terminal.wait_for(r"02:00 .*▌\[:00 ")
        terminal.press("D")
        terminal.wait_for(r"Delete[\s\S]*y delete · n cancel")
        terminal.press("n")
        terminal.wait_for(r"\A(?![\s\S]*y delete)[\s\S]*02:00 .*▌\[:00 ")
        terminal.press("s")
        terminal.wait_for("Enter choose")
        terminal.press("Enter")
        terminal.wait_for(r"▌:00 S")
        terminal.press("}")
        terminal.wait_for(r"03:00 .*▌:00 S")
        terminal.press("u")
        # The cursor is on the draft again, not where it was moved to.
        terminal.wait_for(r"02:00 .*▌:00 S")
        assert "Traceback" not in terminal.quit_console()


def test_feeds_that_fail_say_why_in_full_and_alt_is_no_key(sample_home: Path, tmp_path: Path) -> None:
    names = ("reason-of-a-feed-that-has-a-long-name", "another")
    lines = "".join(f'<outline text="{name}" xmlUrl="http://127.0.0.1:1/{name}"/>' for name in names)
    (tmp_path / "feeds.opml").write_text(f"<opml version='2.0'><body>{lines}</body></opml>", encoding="utf-8")
    with open_terminal((80, 24)) as terminal:
        open_sample_console(terminal, sample_home)
        # Terminals take Alt and a digit for themselves: the digit alone switches.
        terminal.press("3")
        # The letters of the rows are explained where they are, and none means something else in another list.
        terminal.wait_for("─ Sources · 10 · 1 failing · H healthy · D failing ─")
        terminal.press("Tab")
        terminal.wait_for(r"─ Runs · ✓ succeeded ─[\s\S]*▌✓ ")
        terminal.press("Tab")
        terminal.wait_for("─ Sources · 10 · 1 failing")
        terminal.press("C-o")
        terminal.wait_for("Import feeds from OPML file")
        terminal.type_text(str(tmp_path / "feeds.opml"))
        terminal.press("Enter")
        terminal.wait_for(r"127\.0\.0\.1[\s\S]*\.[\s\S]*A add failed feeds anyway")
        assert "Traceback" not in terminal.screen
