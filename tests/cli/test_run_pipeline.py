"""`copydesk --run-pipeline`: what it prints and how it ends, called as users and their scripts do."""

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
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from command_line import COMMAND, call, call_here, environment
from desk_fixtures import change, damage, entry, feed, open_at, rows, title
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
        assert call_here(tmp_path, "source", "add", "rss", server.url(f"/{name}")).code == 0
    server.requests.clear()
    return tmp_path


def drafted(home) -> list[str]:
    """The titles of which there are drafts."""
    return sorted(str(name) for (name,) in rows(home, "SELECT title FROM item JOIN draft ON item_id = item.id"))


def ids(home) -> list[str]:
    return [source["id"] for source in json.loads(call_here(home, "source", "list", "--json").out)]


@contextmanager
def held(server: FeedServer, path: str) -> Iterator[Callable[[], None]]:
    """Let nobody have the page at `path` before the end; the value waits until somebody asked for it."""
    page, go = server._routes[path], threading.Event()
    assert isinstance(page, Page)

    async def wait(request: Request, writer) -> bool:
        await asyncio.to_thread(go.wait)
        return await page(request, writer)

    def asked(number: int = 1) -> None:
        until(lambda: len(server.asked(path)) >= number)

    server.route(path, wait)
    try:
        yield asked
    finally:
        go.set()


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def start(home, *args: str) -> "subprocess.Popen[str]":
    """Call `copydesk`, and do not wait."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *args], env=environment(home), text=True, **pipes)


def test_json_is_the_finished_run_and_nothing_else(home):
    said = call(home, "--run-pipeline", "--json")

    assert (said.code, said.err) == (0, "")
    run = json.loads(said.out)
    assert said.out.count("\n") == 1
    assert (run["status"], run["error"], run["stage"]) == ("succeeded", None, None)
    assert list(run["stats"]["stageTiming"]) == STAGES
    assert (run["stats"]["itemsIngested"], run["stats"]["draftsCreated"]) == (6, 6)
    assert run["duration"] > 0


def test_without_a_terminal_there_is_one_line_for_each_stage(home):
    said = call_here(home, "--run-pipeline")

    assert said.code == 0
    assert said.err.splitlines() == ["ingest  2/2", "filter  6/6", "rank    6/6", "draft   6/6"]
    assert re.fullmatch(r"6 new drafts from 6 items, 6 stories, 6 ranked, in \d+\.\d s\.\n", said.out)


def test_a_source_that_fails_is_counted_and_the_run_succeeds(home, server):
    server.fail("/two", 500)
    said = call_here(home, "--run-pipeline")

    assert said.code == 0
    assert "1 of 2 sources could not be read; `copydesk source list` shows which.\n" in said.err
    assert drafted(home) == sorted(title(number) for number in range(3))


def test_when_every_source_fails_the_run_failed_and_so_did_the_call(home, server):
    server.fail("/one", 500)
    server.fail("/two", 500)

    said = call_here(home, "--run-pipeline")
    assert (said.code, said.out) == (1, "")
    assert "The run failed: Every source failed (2); the first says: 127.0.0.1" in said.err
    said = call_here(home, "--run-pipeline", "--json")
    assert (said.code, said.err) == (1, "")
    assert json.loads(said.out)["status"] == "failed"


def test_a_run_is_narrowed_to_sources_and_a_number_of_drafts(home, server):
    one, _ = ids(home)
    said = call_here(home, "--run-pipeline", "--source", one, "--max-drafts", "2", "--json")

    assert json.loads(said.out)["stats"]["draftsCreated"] == 2
    assert [request.path for request in server.requests] == ["/one"]
    assert set(drafted(home)) < {title(number) for number in range(3)}
    call_here(home, "--run-pipeline", *(arg for each in ids(home) for arg in ("--source", each)))
    assert len(drafted(home)) == 6
    assert call_here(home, "--run-pipeline", "--max-drafts", "0").out.startswith("0 new drafts")


def test_sample_without_a_terminal_runs_and_prints_the_drafts(tmp_path):
    said = call(tmp_path, "--sample")

    assert said.code == 0
    assert said.err.splitlines()[0] == "ingest  10/10"
    assert said.out.startswith("10 new drafts from ")
    assert said.out.count("Why it was picked:") == said.out.count("Checks: ") == 10
    assert "Told by " in said.out
    assert "[red]" in said.out
    assert "\x1b" not in said.out + said.err
    again = call_here(tmp_path, "--sample", "draft", "list", "--json")
    assert len(json.loads(again.out)["drafts"]) == 10
    assert call_here(tmp_path, "draft", "list", "--json").out == '{"drafts":[],"nextCursor":null}\n'


def test_a_terminal_sees_a_bar_for_each_stage(home):
    code, shown = on_a_terminal(home, "--run-pipeline")

    assert code == 0
    finished = [line.rpartition("\x1b[K")[2] for line in shown.split("\r\n") if "━" in line]
    assert [line.split()[0] for line in finished] == STAGES
    assert all(re.match(r"\w+ +━{30} (\d)/\1", line) for line in finished), finished
    assert shown.count("\r\x1b[K") > len(STAGES)
    assert "6 new drafts" in shown
    assert set(re.findall(r"\x1b[^K]*?[A-Za-z]", shown)) == {"\x1b[K"}


def test_a_list_of_drafts_has_a_line_of_the_terminal_for_each(home):
    call_here(home, "--run-pipeline")
    change(home, "UPDATE draft SET text = 'One 漢字 and all the ferries that leave on Monday ' || id")
    _, shown = on_a_terminal(home, "draft", "list", columns=90)

    lines = shown.split("\r\n")[:-1]
    assert len(lines) == 6
    assert all(_cells(line[:-1]) < 90 and line.endswith("…") for line in lines)
    wide = call_here(home, "draft", "list").out.splitlines()
    assert all(len(line) > 90 for line in wide)  # what is piped is whole


def test_a_bar_stays_on_its_line_whatever_a_source_is_called(home):
    """A long note beside a bar broke the line, and each step left a line behind."""
    change(home, "UPDATE source SET name = ? WHERE id = ?", "\x1b[31m漢字" * 40, ids(home)[0])
    _, shown = on_a_terminal(home, "--run-pipeline", columns=60)

    lines = [part for part in re.split(r"\r|\x1b\[K|\n", shown) if "━" in part or "╌" in part]
    assert lines
    assert max(_cells(line) for line in lines) < 60
    assert "\x1b[31m" not in shown


def _cells(text: str) -> int:
    return sum(2 if char >= "\u1100" and char not in "━╌" else 1 for char in text)


def on_a_terminal(home, *args: str, columns: int = 100) -> tuple[int, str]:
    """Call `copydesk` on a terminal; the exit code and everything that it showed."""
    inside, outside = pty.openpty()
    fcntl.ioctl(outside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    plain = environment(home) | {"TERM": "xterm"}
    child = subprocess.Popen([*COMMAND, *args], env=plain, stdin=outside, stdout=outside, stderr=outside)
    os.close(outside)
    shown = b""
    while True:
        assert select.select([inside], [], [], 60)[0], shown
        try:
            shown += os.read(inside, 65536)
        except OSError:  # the other side is closed
            break
    os.close(inside)
    return child.wait(), shown.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_the_run_is_cancelled_and_what_was_stored_stays(home, server, number):
    with held(server, "/two") as asked:
        child = start(home, "--run-pipeline", "--json")
        asked()
        until(lambda: rows(home, "SELECT count(*) FROM item") == [(3,)])
        child.send_signal(number)
        out, err = child.communicate(timeout=60)

    assert (child.returncode, out, err) == (130, "", "Error: Interrupted.\n")
    assert rows(home, "SELECT status, error_category FROM run") == [("cancelled", "cancelled")]
    assert damage(home) == []
    assert json.loads(call_here(home, "--run-pipeline", "--json").out)["stats"]["draftsCreated"] == 6


def test_a_second_process_waits_until_the_first_one_is_through(home, server):
    with held(server, "/two") as asked:
        first = start(home, "--run-pipeline", "--json")
        asked()
        second = start(home, "--run-pipeline", "--json")
        until(lambda: len(rows(home, "SELECT id FROM run")) == 2)
        assert rows(home, "SELECT status FROM run ORDER BY id") == [("running",), ("queued",)]
    runs = [json.loads(child.communicate(timeout=60)[0]) for child in (first, second)]

    assert [child.returncode for child in (first, second)] == [0, 0]
    assert [run["status"] for run in runs] == ["succeeded", "succeeded"]
    assert [run["stats"]["itemsNew"] for run in runs] == [6, 0]
    assert runs[0]["endedAt"] <= runs[1]["startedAt"]
    assert len(drafted(home)) == 6


def test_four_first_calls_at_once_make_one_desk(tmp_path):
    children = [start(tmp_path, "run", "list", "--json") for _ in range(4)]
    said = [child.communicate(timeout=60) for child in children]

    assert said == [('{"runs":[],"nextCursor":null}\n', "")] * 4
    assert rows(tmp_path, "SELECT count(*) FROM user") == [(1,)]


async def test_a_run_of_another_process_can_be_cancelled(home, server):
    with held(server, "/two") as asked:
        child = start(home, "--run-pipeline")
        asked()
        async with open_at(home) as desk:
            (run,) = (await desk.pipeline.runs()).items
            await desk.pipeline.cancel(run.id)
        out, err = child.communicate(timeout=60)

    assert (child.returncode, out) == (1, "")
    assert err.endswith("The run cancelled: The run was cancelled.\n")


def test_a_process_that_is_killed_is_found_by_the_next_call(home, server):
    with held(server, "/two") as asked:
        child = start(home, "--run-pipeline")
        asked()
        child.kill()
        child.communicate()

    (run,) = json.loads(call_here(home, "run", "list", "--json").out)["runs"]
    assert (run["status"], run["stage"]) == ("interrupted", None)
    assert "The process that worked on the run ended before it did" in run["error"]


def test_a_reader_that_has_seen_enough_is_no_error(home):
    call_here(home, "--run-pipeline")
    command = " ".join([*COMMAND, "draft", "list"]) + " | head -1"
    ran = subprocess.run(command, shell=True, env=environment(home), capture_output=True, text=True, check=False)

    assert ran.stdout.count("\n") == 1
    assert ran.stderr == ""


@pytest.mark.parametrize("args", [["source", "list"], ["draft", "list"], ["--run-pipeline"]])
def test_a_closed_pipe_is_no_traceback(home, args):
    call_here(home, "--run-pipeline")
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([*COMMAND, *args], env=environment(home), stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert b"Traceback" not in ran.stderr
    assert b"BrokenPipe" not in ran.stderr


def test_what_an_encoding_does_not_have_is_written_out(home):
    said = call(home, "--sample", PYTHONIOENCODING="latin-1")

    assert said.code == 0
    assert "\\u201c" in said.out


def broken(home, *args: str) -> subprocess.CompletedProcess[str]:
    """A call in which the pipeline does what nobody expects."""
    script = "import copydesk.desk.stages as p, sys; p.choose = None; from copydesk.cli import main; main()"
    command = [sys.executable, "-c", script, *args]
    return subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)


def test_an_error_that_nobody_expects_is_one_line_unless_one_wants_to_see_it_all(home):
    ran = broken(home, "--run-pipeline", "--json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert re.fullmatch(
        r"Error: Copydesk did not expect this: TypeError\(.*\)\. With --debug it says more\.\n", ran.stderr
    )
    assert rows(home, "SELECT status FROM run") == [("failed",)]

    ran = broken(home, "--debug", "--run-pipeline")
    assert ran.returncode == 1
    assert "Traceback (most recent call last):" in ran.stderr
    assert "TypeError" in ran.stderr


def test_debug_shows_the_traceback_of_an_expected_error_too(tmp_path):
    said = call(tmp_path, "--debug", "draft", "show", "nobody")

    assert said.code == 1
    assert "Traceback (most recent call last):" in said.err
    assert "NoDraftError" in said.err


def test_what_is_logged_is_for_those_who_debug(home):
    """An error that nobody expected of one source came out on the terminal, with its traceback."""
    script = "import copydesk.ingest.rss as r, sys; r.get_body = None; from copydesk.cli import main; main()"
    for flags, code in ((["--run-pipeline"], 1), (["--debug", "--run-pipeline"], 1)):
        ran = subprocess.run(
            [sys.executable, "-c", script, *flags], env=environment(home), capture_output=True, text=True, check=False
        )
        assert ran.returncode == code
        assert ("Traceback" in ran.stderr) is ("--debug" in flags)
    (source, _) = rows(home, "SELECT last_error FROM source")
    assert "an error that Copydesk did not expect" in str(source)


def test_a_timer_asks_only_what_is_due(home):
    assert call(home, "--sample", "--run-pipeline", "--json").code == 0

    said = call(home, "--sample", "--run-pipeline", "--due", "--json")

    assert said.code == 0
    assert json.loads(said.out)["stats"]["sourcesFetched"] == 0
