"""Tests that malicious feeds cannot exhaust time or memory, or make the parser read files."""

import asyncio
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from copydesk.errors import FetchTimeoutError, NotAFeedError, ResponseTooLargeError
from copydesk.ingest import subprocess_parser
from copydesk.ingest.feed import feedparser_worker, parse
from copydesk.ingest.feed.parse import MAX_BODY_BYTES, parse_feed
from copydesk.ingest.subprocess_parser import run_in_subprocess
from cost_growth import assert_linear
from feed_fixtures import BASE_URL, parse_sample, rss

NESTED_ENTITIES = "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(1, 10))
BILLION_LAUGHS = rss("<title>&lol9;</title>", declaration=f'<!DOCTYPE rss [<!ENTITY lol0 "lol">{NESTED_ENTITIES}]>')
QUADRATIC_BLOWUP = rss(
    "<title>" + "&a;" * 30_000 + "</title>", declaration=f'<!DOCTYPE rss [<!ENTITY a "{"a" * 60_000}">]>'
)


@pytest.mark.parametrize("bomb", [BILLION_LAUGHS, QUADRATIC_BLOWUP], ids=["billion laughs", "quadratic"])
def test_entity_bomb_is_refused(bomb: str) -> None:
    with pytest.raises(NotAFeedError, match="entity"):
        parse_sample(bomb)


def test_external_entity_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    doctype = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    with pytest.raises(NotAFeedError, match="entity"):
        parse_sample(rss("<title>&x;</title>", declaration=doctype))


def test_harmless_internal_entity_is_expanded() -> None:
    feed = parse_sample(rss("<title>a&nbsp;b</title>", declaration='<!DOCTYPE rss [<!ENTITY nbsp "&#160;">]>'))
    assert (feed.parser, feed.entries[0].title) == ("feedparser", "a b")


def test_external_dtd_is_not_loaded() -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1:9/rss-0.91.dtd">'
    assert parse_sample(rss("<title>T</title>", declaration=doctype)).entries[0].title == "T"


def test_file_path_as_body_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_text(rss("<title>secret</title>"))
    with pytest.raises(NotAFeedError):
        parse_sample(str(file))
    with pytest.raises(NotAFeedError):
        parse_sample(file.as_uri())
    assert feedparser_worker.parse(str(file).encode(), 10) is None


def test_unclosed_comments_take_linear_time() -> None:
    def build_feed(size: int) -> str:
        return rss(f"<description>before {'&lt;!--' * size}</description>")

    (entry,) = parse_sample(build_feed(200_000)).entries
    assert entry.summary == "before"
    assert_linear(build_feed, parse_sample, 200_000)


def test_angle_brackets_take_linear_time() -> None:
    def build_feed(size: int) -> str:
        return rss(f"<title>T</title><description>{'&lt;' * size}</description>")

    (entry,) = parse_sample(build_feed(1_000_000)).entries
    assert entry.title == "T"
    assert_linear(build_feed, parse_sample, 1_000_000)


@pytest.mark.parametrize("value", ["x", ">"])
def test_too_many_attributes_reach_no_parser(value: str) -> None:
    def build_feed(count: int) -> str:
        attributes = " ".join(f'a{number}="{value}"' for number in range(count))
        return rss(f"<title>T</title><x {attributes}/>")

    def refuse(body: str) -> None:
        with pytest.raises(NotAFeedError, match="attributes"):
            parse_sample(body)

    assert parse_sample(build_feed(900)).parser == "expat"
    tracemalloc.start()
    try:
        refuse(build_feed(500_000))
        assert tracemalloc.get_traced_memory()[1] < 60 * 2**20  # the feed itself takes most of it
    finally:
        tracemalloc.stop()
    assert_linear(build_feed, refuse, 20_000)


def test_base_that_grows_with_each_element_takes_linear_time() -> None:
    def build_feed(size: int) -> str:
        return rss('<title xml:base="a/">T</title>' * (size // 30))

    assert_linear(build_feed, parse_sample, 400_000)


def test_long_text_with_equals_signs_is_no_tag() -> None:
    assert parse_sample(rss(f"<title>T</title><description>{'a=b ' * 50_000}</description>")).parser == "expat"


def test_declared_default_attributes_are_not_expanded() -> None:
    declared = "".join(f'a{number} CDATA "x" ' for number in range(5_000))
    feed = rss("<title>T</title>" + "<x/>" * 10_000, declaration=f"<!DOCTYPE rss [<!ATTLIST x {declared}>]>")
    assert parse_sample(feed).parser == "feedparser"


def test_entries_are_capped_at_max_entries() -> None:
    def build_feed(count: int) -> str:
        return rss(*(f"<guid>{number}</guid>" for number in range(count)))

    feed = parse_sample(build_feed(200_000), max_entries=1_000)
    assert (len(feed.entries), feed.truncated) == (1_000, True)
    assert_linear(build_feed, lambda body: parse_sample(body, max_entries=1_000), 200_000)


def test_deep_nesting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "REPAIR_CPU_SECONDS", 0.2)
    with pytest.raises((FetchTimeoutError, NotAFeedError)):
        parse_sample(rss("<a>" * 200_000))


def test_50_mb_body_is_refused() -> None:
    with pytest.raises(ResponseTooLargeError):
        parse_sample(b"<rss>" + b"x" * 50_000_000)


def test_15_mb_text_is_truncated() -> None:
    body = rss(f"<title>T</title><description>{'x' * (MAX_BODY_BYTES - 1_000_000)}</description>")
    (entry,) = parse_sample(body).entries
    assert len(entry.text) == 100_000


def test_invalid_bytes_take_linear_time() -> None:
    def build_feed(size: int) -> bytes:
        body = rss("<title>T</title>", "<description>x</description>").encode()
        return body.replace(b">x<", b">" + b"\xffa" * size + b"<")

    title, text = parse_sample(build_feed(1_000_000)).entries
    assert (title.title, text.summary[:4]) == ("T", "ÿaÿa")
    assert_linear(build_feed, parse_sample, 1_000_000)


def test_titles_are_sanitized() -> None:
    feed = rss(
        f"<title>{'long ' * 20_000}</title>",
        "<title>\u202eevil\u202c \u200bword [red]x[/red]</title>",
        "<title><![CDATA[a &#27;[31mred &#0;]]></title>",
        "<title>c1 \u009b31m</title>",
    )
    long, hidden, escaped, c1 = (entry.title for entry in parse_sample(feed).entries)
    assert len(long) <= 1_000
    assert hidden == "evil word [red]x[/red]"
    assert all(character.isprintable() for character in escaped + c1)


def test_control_sequences_in_json_are_removed() -> None:
    feed = (
        '{"items":[{"id":"a\\u0000b","title":"\\u001b[31mred\\u001b[0m\\u0000","content_text":"x\\u001b]0;t\\u0007y"},'
        '{"id":"\\ud800","title":"\\ud800z","content_html":"p\\u0000q&#0;"}]}'
    )
    first, second = parse_sample(feed).entries
    assert (first.ident, first.title, first.text) == ("ab", "red", "xy")
    assert (second.title, "\0" in second.text) == ("z", False)


def test_impossible_dates_are_none() -> None:
    """Dates far in the future are kept: the caller decides about them."""
    first, far, none = parse_sample(
        rss(
            "<pubDate>Mon, 01 Jan 0001 00:00:00 GMT</pubDate>",
            "<pubDate>Thu, 01 Jan 2099 00:00:00 GMT</pubDate>",
            "<pubDate>31 Feb 2026 99:00 GMT</pubDate>",
        )
    ).entries
    assert (first.published, none.published) == (None, None)
    assert far.published is not None
    assert far.published.year == 2099


async def test_feedparser_runs_out_of_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = record_processes(monkeypatch)
    monkeypatch.setattr(parse, "REPAIR_CPU_SECONDS", 0.05)
    # On a busy machine the process may wait for a processor longer than that.
    monkeypatch.setattr(subprocess_parser, "WALL_FACTOR", 1_000)
    with pytest.raises(FetchTimeoutError):
        await parse_feed(slow_feed(), charset=None, base_url=BASE_URL)
    assert [process.returncode for process in processes] == [-signal.SIGPROF]


async def test_waiting_for_a_busy_machine_is_no_timeout() -> None:
    """A process that gets no processor waits like this one; four times the limit of processor time is no fault."""
    assert await run_in_subprocess("waiting_parser", b"feed", "0.8", cpu_seconds=0.2) == b"feed"


async def test_parser_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = record_processes(monkeypatch)
    monkeypatch.setattr(subprocess_parser, "WALL_FACTOR", 1)
    with pytest.raises(TimeoutError):
        await run_in_subprocess("waiting_parser", b"feed", "60", cpu_seconds=0.2)
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


async def test_feedparser_is_killed_on_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = record_processes(monkeypatch)
    parsing = asyncio.create_task(parse_feed(slow_feed(), charset=None, base_url=BASE_URL))
    async with asyncio.timeout(60):
        while not processes:  # noqa: ASYNC110 - no event signals the start
            await asyncio.sleep(0.005)
    parsing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await parsing
    assert [process.returncode for process in processes] == [-9]


async def test_failing_process_raises_not_a_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_parser.sys, "executable", "/bin/false")
    with pytest.raises(NotAFeedError, match="damaged"):
        await parse_feed(rss("<title>A & B</title>").encode(), charset=None, base_url=BASE_URL)


async def test_process_environment_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_TOKEN", "hunter2")
    assert "hunter2" not in str(subprocess_parser._environment())


async def test_process_runs_in_root_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It used to run in the user's working directory; on a removable drive, the drive could then not be ejected."""
    working_dirs: list[object] = []
    create = asyncio.create_subprocess_exec

    async def record_cwd(*args: str, cwd: str | Path, **options: Any) -> asyncio.subprocess.Process:
        working_dirs.append(cwd)
        return await create(*args, cwd=cwd, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record_cwd)
    assert (await parse_feed(rss("<title>A & B</title>").encode(), charset=None, base_url=BASE_URL)).entries
    assert working_dirs == [Path.cwd().anchor]


def test_process_resource_limits() -> None:
    """Without limits, an exploited parser could fill the machine with processes."""
    resource = pytest.importorskip("resource")
    program = (
        "import resource as r; from copydesk.ingest.subprocess_parser import apply_resource_limits;"
        "apply_resource_limits(); print(*{})"
    )
    names = ("RLIMIT_NPROC", "RLIMIT_NOFILE")
    limits = program.format([f"r.getrlimit(r.{name})[1]" for name in names]).replace("'", "")
    output = subprocess.run([sys.executable, "-c", limits], check=True, capture_output=True, text=True).stdout
    assert output.split() == ["0", "16"]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 16


def slow_feed() -> bytes:
    """Return a damaged feed that keeps feedparser busy for minutes."""
    return rss("<title>A & B</title>", "<title>C</title>" + "<a><b>" * 200_000).encode()


def record_processes(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """Record the processes that are started; return the list that they are added to."""
    processes = []
    create = asyncio.create_subprocess_exec

    async def recording(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        processes.append(await create(*arguments, **options))  # type: ignore[arg-type]
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recording)
    return processes
