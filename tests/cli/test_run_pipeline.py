"""Tests for `copydesk --run-pipeline`: output, exit codes and signals."""

import asyncio
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len

from cli_runner import COMMAND, make_environment, run_command, run_in_process
from copydesk.desk.pipeline import stages
from copydesk.ingest.sources import rss
from desk_fixtures import entry, execute_sql, feed, integrity_errors, open_desk_at, query_db, story_title
from feed_server import FeedServer, Page, Request

STAGES = ["ingest", "filter", "rank", "draft"]


@pytest.fixture
def server():
    with FeedServer("0.0.0.0") as server:
        now = datetime.now(UTC)
        for name in ("one", "two"):
            numbers = range(3) if name == "one" else range(3, 6)
            server.serve(f"/{name}", feed(*(entry(number, now=now) for number in numbers), title=name))
        yield server


@pytest.fixture
def home(tmp_path, server):
    """A desk with two sources."""
    for name in ("one", "two"):
        assert run_in_process(tmp_path, "source", "add", "rss", server.url(f"/{name}")).code == 0
    server.requests.clear()
    return tmp_path


def drafted_titles(home) -> list[str]:
    """Return the titles that have drafts, sorted."""
    return sorted(str(name) for (name,) in query_db(home, "SELECT title FROM item JOIN draft ON item_id = item.id"))


def source_ids(home) -> list[str]:
    return [source["id"] for source in json.loads(run_in_process(home, "source", "list", "--json").out)]


@contextmanager
def hold_page(server: FeedServer, path: str) -> Iterator[Callable[[], None]]:
    """Hold the response at `path` until the block ends; yield a function that waits for requests to it."""
    page, release = server._routes[path], threading.Event()
    assert isinstance(page, Page)

    async def delayed_page(request: Request, writer) -> bool:
        await asyncio.to_thread(release.wait)
        return await page(request, writer)

    def wait_for_requests(number: int = 1) -> None:
        wait_until(lambda: len(server.requests_for(path)) >= number)

    server.route(path, delayed_page)
    try:
        yield wait_for_requests
    finally:
        release.set()


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until `condition` is true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def start_process(home, *args: str) -> "subprocess.Popen[str]":
    """Start `copydesk` without waiting for it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *args], env=make_environment(home), text=True, **pipes)


def test_json_prints_only_the_run(home):
    result = run_command(home, "--run-pipeline", "--json")

    assert (result.code, result.err) == (0, "")
    run = json.loads(result.out)
    assert result.out.count("\n") == 1
    assert (run["status"], run["error"], run["stage"]) == ("succeeded", None, None)
    assert list(run["stats"]["stageTiming"]) == STAGES
    assert (run["stats"]["itemsIngested"], run["stats"]["draftsCreated"]) == (6, 6)
    assert run["duration"] > 0


@pytest.mark.parametrize("command", [("--run-pipeline",), ("run", "start")])
def test_formats_of_a_run(home, server, command):
    text = (
        "Ferries carry 40 passengers to the island each day. Sailors repair the engines at night in the old dock. "
        "Tickets cost two euros for adults and nothing for children. The council paid half of the price of both ships."
    )
    server.serve(
        "/one", feed(entry(1, title="Ferries to the island carry 40 passengers", text=text, now=datetime.now(UTC)))
    )
    result = run_in_process(home, *command, "--format", "thread", "--format", "SHORT", "--json")
    assert (result.code, json.loads(result.out)["status"]) == (0, "succeeded")
    assert set(query_db(home, "SELECT format FROM draft")) == {("SHORT",), ("THREAD",)}


def test_started_run_is_shown(home):
    started = json.loads(run_in_process(home, "run", "start", "--json").out)
    assert json.loads(run_in_process(home, "run", "show", started["id"], "--json").out) == started
    shown = run_in_process(home, "run", "show", started["id"])
    assert shown.code == 0
    rows = dict(line.split("  ", 1) for line in shown.out.splitlines())
    assert {name: rows[name].strip() for name in ("status", "sources", "items", "drafts")} == {
        "status": "succeeded",
        "sources": "2 fetched, 0 failed",
        "items": "6, of them 6 new",
        "drafts": "6",
    }
    assert run_in_process(home, "run", "list").out.startswith(started["id"][-6:])


def test_run_is_cancelled_by_command(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "run", "start")
        wait_for_requests()
        ((run_id,),) = query_db(home, "SELECT id FROM run")
        waiting = start_process(home, "run", "start", "--json")
        wait_until(lambda: query_db(home, "SELECT count(*) FROM run") == [(2,)])
        ((queued_id,),) = query_db(home, "SELECT id FROM run WHERE status = 'queued'")
        assert run_in_process(home, "run", "cancel", queued_id).out == f"Cancelled {queued_id[-6:]}.\n"
        cancelled = json.loads(waiting.communicate(timeout=60)[0])
        assert (cancelled["id"], cancelled["status"]) == (queued_id, "cancelled")
        assert run_in_process(home, "run", "cancel", run_id).out == f"{run_id[-6:]} stops in a moment.\n"
        _, err = process.communicate(timeout=60)

    assert (process.returncode, err.splitlines()[-1]) == (
        1,
        "Run cancelled. Fetched items and finished drafts are kept.",
    )
    ended = run_in_process(home, "run", "cancel", run_id, "--json")
    assert (ended.code, json.loads(ended.err)["currentStatus"]) == (4, "cancelled")
    assert run_in_process(home, "run", "cancel", "nothing").code == 3
    assert run_in_process(home, "run", "show", "nothing").code == 3


def test_progress_without_terminal_is_line_per_stage(home):
    result = run_in_process(home, "--run-pipeline")

    assert result.code == 0
    *stages, next_step = result.err.splitlines()
    assert stages == ["ingest  2/2", "filter  6/6", "rank    6/6", "draft   6/6"]
    assert next_step == "Review them in the console, or here: copydesk draft list"
    assert re.fullmatch(r"6 new drafts from 6 items, 6 stories, 6 ranked, in \d+\.\d s\.\n", result.out)


def test_declined_items_are_reported(home, server):
    now = datetime.now(UTC)
    pages = [entry(number, title=f"Open thread {number}", text="Talk.", now=now) for number in (21, 22)]
    server.serve("/two", feed(*pages, entry(23, now=now)))
    result = run_in_process(home, "--run-pipeline")
    run_id = json.loads(run_in_process(home, "run", "list", "--json").out)["runs"][0]["id"]

    assert result.out.splitlines()[1:] == ["2 items had nothing to quote."]
    assert re.search(r"\nnot drafted +2 items had nothing to quote\n", run_in_process(home, "run", "show", run_id).out)
    stats = json.loads(run_in_process(home, "run", "show", run_id, "--json").out)["stats"]
    assert stats["itemsDeclined"] == {"nothing_to_quote": 2}


def test_old_items_of_first_fetch_are_reported(home, server):
    old = datetime.now(UTC) - timedelta(days=3)
    for path in ("/one", "/two"):
        server.serve(path, feed(entry(len(path), now=old), entry(9, now=old)))
    result = run_in_process(home, "--run-pipeline")
    again = run_in_process(home, "--run-pipeline")

    assert result.out.splitlines()[1:] == ["4 items were too old when their source was first fetched."]
    assert "drafts items of the last 48 hours (pipeline.first_fetch_hours); later runs draft what is new." in result.err
    assert again.out.startswith("0 new drafts from 0 items")
    assert again.err.splitlines()[-1] == "Nothing new since the last run."


def test_failed_source_does_not_fail_run(home, server):
    server.fail("/two", 500)
    result = run_in_process(home, "--run-pipeline")

    assert result.code == 0
    assert "1 of 2 sources failed. Details: `copydesk source list`.\n" in result.err
    with_home = run_in_process(home, "--home", str(home), "--run-pipeline")
    assert f"Details: `copydesk --home {home} source list`.\n" in with_home.err
    assert drafted_titles(home) == sorted(story_title(number) for number in range(3))


def test_skipped_named_source_is_reported(home, server):
    server.fail("/two", 429)
    sources = json.loads(run_in_process(home, "source", "list", "--json").out)
    throttled = next(source for source in sources if source["url"].endswith("/two"))
    run_in_process(home, "--run-pipeline")

    result = run_in_process(home, "--run-pipeline", "--source", throttled["id"])
    assert f"Skipped, because not due or the site asked to wait: {throttled['name']}.\n" in result.err


def test_run_without_sources_says_how_to_add_one(tmp_path):
    result = run_in_process(tmp_path, "--run-pipeline")

    assert result == (0, "", "No sources to fetch. Add one: copydesk source add https://example.com\n")


def test_run_fails_when_all_sources_fail(home, server):
    server.fail("/one", 500)
    server.fail("/two", 500)

    result = run_in_process(home, "--run-pipeline")
    assert (result.code, result.out) == (1, "")
    assert "Run failed: All sources failed (2). First error: 127.0.0.1" in result.err
    result = run_in_process(home, "--run-pipeline", "--json")
    assert (result.code, result.err) == (1, "")
    assert json.loads(result.out)["status"] == "failed"


def test_run_limited_to_sources_and_drafts(home, server):
    first_id, _ = source_ids(home)
    result = run_in_process(home, "--run-pipeline", "--source", first_id, "--max-drafts", "2", "--json")

    assert json.loads(result.out)["stats"]["draftsCreated"] == 2
    assert [request.path for request in server.requests] == ["/one"]
    assert set(drafted_titles(home)) < {story_title(number) for number in range(3)}
    run_in_process(home, "--run-pipeline", *(arg for source_id in source_ids(home) for arg in ("--source", source_id)))
    assert len(drafted_titles(home)) == 6
    assert run_in_process(home, "--run-pipeline", "--max-drafts", "0").out.startswith("0 new drafts")


def test_sample_prints_drafts(tmp_path):
    result = run_command(tmp_path, "--sample")

    assert result.code == 0
    assert result.err.splitlines()[0] == "ingest  10/10"
    assert result.out.startswith("10 new drafts from ")
    assert result.out.count("\nScore: ") == result.out.count("Checks: ") == 10
    assert "Reported by " in result.out
    assert "\nClaims\n  supported    " in result.out
    assert "[red]" in result.out
    assert "\x1b" not in result.out + result.err
    listing = run_in_process(tmp_path, "--sample", "draft", "list", "--json")
    assert len(json.loads(listing.out)["drafts"]) == 10
    assert run_in_process(tmp_path, "draft", "list", "--json").out == '{"drafts":[],"nextCursor":null}\n'


def test_terminal_shows_progress_bars(home):
    code, output = run_on_terminal(home, "--run-pipeline")

    assert code == 0
    finished = _last_bars(output)
    assert [line.split()[0] for line in finished] == STAGES
    assert all(re.fullmatch(r"\w+ +━{30} (\d)/\1\s*", line) for line in finished), finished
    assert "6 new drafts" in output


def test_bars_are_left_out_without_colours(home):
    """On a terminal that can only be written to there is a bar per stage at the end, without control sequences."""
    _, output = run_on_terminal(home, "--run-pipeline", TERM="dumb", NO_COLOR="1")
    assert [line.split()[0] for line in _last_bars(output)] == STAGES
    assert "\x1b" not in output


def test_import_shows_bar_on_terminal_only(home, tmp_path):
    feeds = "".join(f'<outline xmlUrl="https://a.example/{number}"/>' for number in range(7))
    (tmp_path / "list.opml").write_text(f"<opml>{feeds}</opml>", encoding="utf-8")
    _, output = run_on_terminal(home, "source", "import", str(tmp_path / "list.opml"))
    (bar,) = _last_bars(output)
    assert re.fullmatch(r"import +━{30} 7/7\s*", bar)
    assert "7 added" in output
    result = run_in_process(home, "source", "import", str(tmp_path / "list.opml"))
    assert (result.out, result.err) == ("0 added, 7 already present, 0 failed.\n", "")


def test_rich_is_not_loaded_in_a_pipe():
    code = "import sys, copydesk.cli.run, copydesk.cli.source; print({'rich.progress', 'textual'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_draft_list_fits_terminal_width(home):
    run_in_process(home, "--run-pipeline")
    text = "One 漢字 and all of the ferries that leave at dawn on Monday for islands "
    execute_sql(home, "UPDATE draft SET text = ? || id", text)
    _, output = run_on_terminal(home, "draft", "list", columns=90)

    lines = output.split("\r\n")[:-1]
    assert len(lines) == 6
    assert all(cell_len(line) <= 90 and line.endswith("…") for line in lines)
    piped = run_in_process(home, "draft", "list").out.splitlines()
    assert all(text in line for line in piped)  # not shortened
    _, output = run_on_terminal(home, "draft", "list", columns=20)
    lines = output.split("\r\n")[:-1]
    # An id of another length may push the text to the third line.
    assert all(cell_len(line) <= 60 and line.endswith("…") for line in lines)


@pytest.mark.parametrize("environment", [{}, {"COLUMNS": "80"}], ids=["", "terminal made smaller"])
def test_progress_bar_fits_on_one_line(home, server, environment):
    """A long source name once wrapped the bar, and each step left a line behind."""
    execute_sql(home, "UPDATE source SET name = ?", "\x1b[31m漢字[red]" * 40)
    with ExitStack() as held:
        held.enter_context(hold_page(server, "/two"))

        def release_page(output: bytes) -> None:
            # Only a bar that is displayed for a while shows a name.
            if "漢".encode() in output:
                held.close()

        _, output = run_on_terminal(home, "--run-pipeline", columns=60, on_output=release_page, **environment)

    lines = [part for part in re.split(r"\r|\n", _without_sequences(output)) if "━" in part or "╺" in part]
    assert any("漢" in line for line in lines)
    assert [line for line in lines if _cells(line.rstrip()) > 60] == []
    assert "\x1b[31m漢" not in output


def _without_sequences(output: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)


def _last_bars(output: str) -> list[str]:
    """Return the bars of the last frame: those after the last one of the first stage."""
    bars = [line for line in re.split(r"[\r\n]+", _without_sequences(output)) if "━" in line]
    stages = [line.split()[0] for line in bars]
    return bars[len(stages) - 1 - stages[::-1].index(stages[0]) :]


def _cells(text: str) -> int:
    return sum(2 if char >= "\u1100" and char not in "━╺╸" else 1 for char in text)


def run_on_terminal(
    home, *args: str, columns: int = 100, on_output: Callable[[bytes], object] = bytes, **variables: str
) -> tuple[int, str]:
    """Run `copydesk` on a pseudo-terminal; return its exit code and output. `on_output` is given the output so far."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    # The size of the terminal counts, not one that the tests were given.
    env = {name: value for name, value in make_environment(home).items() if name not in {"COLUMNS", "LINES"}}
    env |= {"TERM": "xterm"} | variables
    process = subprocess.Popen([*COMMAND, *args], env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    output = b""
    while True:
        assert select.select([master], [], [], 60)[0], output
        try:
            output += os.read(master, 65536)
            on_output(output)
        except OSError:  # the slave is closed
            break
    os.close(master)
    return process.wait(), output.decode()


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_cancels_run_and_keeps_data(home, server, signal_number, code):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "--run-pipeline", "--json")
        wait_for_requests()
        wait_until(lambda: query_db(home, "SELECT count(*) FROM item") == [(3,)])
        process.send_signal(signal_number)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, json.loads(err)["detail"]) == (code, "", "Interrupted.")
    assert query_db(home, "SELECT status, error_category FROM run") == [("cancelled", "cancelled")]
    assert integrity_errors(home) == []
    assert json.loads(run_in_process(home, "--run-pipeline", "--json").out)["stats"]["draftsCreated"] == 6


def test_interrupted_run_reports_what_is_kept(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "--run-pipeline")
        wait_for_requests()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert err.splitlines()[-2:] == ["Fetched items and finished drafts are kept.", "Error: Interrupted."]


def test_interrupted_generation_says_who_continues(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "draft", "new", "--url", server.url("/two"))
        wait_for_requests()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    note, end = err.splitlines()[-2:]
    assert re.fullmatch("Texts that are not generated yet are left to `copydesk.*daemon` or the open console.", note)
    assert end == "Error: Interrupted."
    assert query_db(home, "SELECT status FROM draft") == [("pending_generation",)]


def test_second_process_waits_for_first(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        first = start_process(home, "--run-pipeline", "--json")
        wait_for_requests()
        second = start_process(home, "--run-pipeline", "--json")
        wait_until(lambda: len(query_db(home, "SELECT id FROM run")) == 2)
        assert query_db(home, "SELECT status FROM run ORDER BY id") == [("running",), ("queued",)]
    runs = [json.loads(process.communicate(timeout=60)[0]) for process in (first, second)]

    assert [process.returncode for process in (first, second)] == [0, 0]
    assert [run["status"] for run in runs] == ["succeeded", "succeeded"]
    assert [run["stats"]["itemsNew"] for run in runs] == [6, 0]
    assert runs[0]["endedAt"] <= runs[1]["startedAt"]
    assert len(drafted_titles(home)) == 6


def test_concurrent_first_calls_create_one_desk(tmp_path):
    processes = [start_process(tmp_path, "run", "list", "--json") for _ in range(4)]
    outputs = [process.communicate(timeout=60) for process in processes]

    assert outputs == [('{"runs":[],"nextCursor":null}\n', "")] * 4
    assert query_db(tmp_path, "SELECT count(*) FROM user") == [(1,)]


async def test_run_can_be_cancelled_from_another_process(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "--run-pipeline")
        wait_for_requests()
        async with open_desk_at(home) as desk:
            (run,) = (await desk.pipeline.list()).items
            await desk.pipeline.cancel(run.id)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (1, "")
    assert err.endswith("Run cancelled. Fetched items and finished drafts are kept.\n")


def test_killed_run_is_marked_interrupted(home, server):
    with hold_page(server, "/two") as wait_for_requests:
        process = start_process(home, "--run-pipeline")
        wait_for_requests()
        process.kill()
        process.communicate()

    (run,) = json.loads(run_in_process(home, "run", "list", "--json").out)["runs"]
    assert (run["status"], run["stage"]) == ("interrupted", None)
    assert "The process was stopped during the run; stored items are kept." in run["error"]


def test_reader_that_closes_pipe_early(home):
    run_in_process(home, "--run-pipeline")
    command = " ".join([*COMMAND, "draft", "list"]) + " | head -1"
    result = subprocess.run(
        command, shell=True, env=make_environment(home), capture_output=True, text=True, check=False
    )

    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


@pytest.mark.parametrize("args", [["source", "list"], ["draft", "list"], ["--run-pipeline"]])
def test_closed_pipe_prints_no_traceback(home, args):
    run_in_process(home, "--run-pipeline")
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [*COMMAND, *args], env=make_environment(home), stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)

    assert b"Traceback" not in result.stderr
    assert b"BrokenPipe" not in result.stderr


def test_unencodable_characters_are_escaped(home):
    result = run_command(home, "--sample", PYTHONIOENCODING="latin-1")

    assert result.code == 0
    assert "\\u201c" in result.out


def test_unexpected_error_is_one_line_without_debug(home, monkeypatch):
    monkeypatch.setattr(stages, "select_stories", None)
    result = run_in_process(home, "--run-pipeline")
    assert (result.code, result.out) == (1, "")
    assert re.search(
        r"Error: Unexpected error: TypeError\(.*\)\. Run it again with --debug for the traceback\.\n$", result.err
    )
    assert query_db(home, "SELECT status FROM run") == [("failed",)]

    # Python prints the traceback of an error that leaves the program.
    with pytest.raises(TypeError):
        run_in_process(home, "--debug", "--run-pipeline")


def test_debug_shows_traceback_of_expected_error(tmp_path):
    result = run_command(tmp_path, "--debug", "draft", "show", "nobody")

    assert result.code == 1
    assert "Traceback (most recent call last):" in result.err
    assert "DraftNotFoundError" in result.err


def test_traceback_is_redacted_whatever_hook_the_system_has(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.excepthook = lambda *_: sys.stderr.write('as it is')\n")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    result = run_command(tmp_path, "--debug", "draft", "show", "nobody", PYTHONPATH=path)
    assert "Traceback (most recent call last):" in result.err


def test_log_is_printed_only_with_debug(home, monkeypatch):
    """An unexpected error in one source once printed its traceback on the terminal."""
    monkeypatch.setattr(rss, "fetch_body", None)
    for flags, code in ((["--run-pipeline"], 1), (["--debug", "--run-pipeline"], 1)):
        result = run_in_process(home, *flags)
        assert result.code == code
        assert ("Traceback" in result.err) is ("--debug" in flags)
    (source, _) = query_db(home, "SELECT last_error FROM source")
    assert "an unexpected error" in str(source)


def test_due_fetches_only_due_sources(home):
    assert run_in_process(home, "--sample", "--run-pipeline", "--json").code == 0

    result = run_in_process(home, "--sample", "--run-pipeline", "--due", "--json")

    assert result.code == 0
    assert json.loads(result.out)["stats"]["sourcesFetched"] == 0
