"""Feeds that are made to hang, to fill the memory or to reach for files cost little and harm nothing."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from copydesk.errors import NotAFeedError, TooLargeError, TooSlowError
from copydesk.ingest import apart, looseparser, slowfeed
from copydesk.ingest.feed import MAX_BODY, parse_feed
from feeds_for_tests import BASE, parse, rss
from growth import assert_in_proportion

LAUGHS = "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(1, 10))
BILLION_LAUGHS = rss("<title>&lol9;</title>", declaration=f'<!DOCTYPE rss [<!ENTITY lol0 "lol">{LAUGHS}]>')
QUADRATIC = rss("<title>" + "&a;" * 30_000 + "</title>", declaration=f'<!DOCTYPE rss [<!ENTITY a "{"a" * 60_000}">]>')


@pytest.mark.parametrize("bomb", [BILLION_LAUGHS, QUADRATIC], ids=["billion laughs", "quadratic"])
def test_an_entity_bomb_is_refused_before_it_is_read(bomb: str) -> None:
    with pytest.raises(NotAFeedError, match="entity"):
        parse(bomb)


def test_an_external_entity_is_refused_and_its_file_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    doctype = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    with pytest.raises(NotAFeedError, match="entity"):
        parse(rss("<title>&x;</title>", declaration=doctype))


def test_a_dtd_of_abbreviations_is_harmless() -> None:
    feed = parse(rss("<title>a&nbsp;b</title>", declaration='<!DOCTYPE rss [<!ENTITY nbsp "&#160;">]>'))
    assert (feed.how, feed.entries[0].title) == ("feedparser", "a b")


def test_a_doctype_that_names_a_dtd_elsewhere_reads_nothing() -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1:9/rss-0.91.dtd">'
    assert parse(rss("<title>T</title>", declaration=doctype)).entries[0].title == "T"


def test_a_body_that_is_a_files_path_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_text(rss("<title>secret</title>"))
    with pytest.raises(NotAFeedError):
        parse(str(file))
    with pytest.raises(NotAFeedError):
        parse(file.as_uri())
    assert looseparser.parse(str(file).encode(), 10) is None


def test_comments_that_never_end_take_linear_time() -> None:
    def made(size: int) -> str:
        return rss(f"<description>before {'&lt;!--' * size}</description>")

    (entry,) = parse(made(200_000)).entries
    assert entry.summary == "before"
    assert_in_proportion(made, parse, 200_000)


def test_a_million_angle_brackets_take_linear_time() -> None:
    def made(size: int) -> str:
        return rss(f"<title>T</title><description>{'&lt;' * size}</description>")

    (entry,) = parse(made(1_000_000)).entries
    assert entry.title == "T"
    assert_in_proportion(made, parse, 1_000_000)


def test_a_hundred_thousand_attributes_never_reach_feedparser() -> None:
    def made(count: int, title: str = "T") -> str:
        attributes = " ".join(f'a{number}="x"' for number in range(count))
        return rss(f"<title>{title}</title><x {attributes}/>")

    assert parse(made(100_000)).how == "expat"
    with pytest.raises(NotAFeedError, match="attributes"):
        parse(made(100_000, "T & U"))
    assert_in_proportion(made, parse, 100_000)


def test_two_hundred_thousand_entries_are_cut_at_the_cap() -> None:
    def made(count: int) -> str:
        return rss(*(f"<guid>{number}</guid>" for number in range(count)))

    feed = parse(made(200_000), most=1_000)
    assert (len(feed.entries), feed.more) == (1_000, True)
    assert_in_proportion(made, lambda body: parse(body, most=1_000), 200_000)


def test_two_hundred_thousand_nested_elements_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowfeed, "DEADLINE", 0.2)
    with pytest.raises((TooSlowError, NotAFeedError)):
        parse(rss("<a>" * 200_000))


def test_a_body_of_50_mb_is_refused_unread() -> None:
    with pytest.raises(TooLargeError):
        parse(b"<rss>" + b"x" * 50_000_000)


def test_a_text_of_15_mb_is_capped() -> None:
    body = rss(f"<title>T</title><description>{'x' * (MAX_BODY - 1_000_000)}</description>")
    (entry,) = parse(body).entries
    assert len(entry.text) == 100_000


def test_millions_of_broken_bytes_cost_little() -> None:
    def made(size: int) -> bytes:
        body = rss("<title>T</title>", "<description>x</description>").encode()
        return body.replace(b">x<", b">" + b"\xffa" * size + b"<")

    title, text = parse(made(1_000_000)).entries
    assert (title.title, text.summary[:4]) == ("T", "ÿaÿa")
    assert_in_proportion(made, parse, 1_000_000)


def test_titles_are_data() -> None:
    feed = rss(
        f"<title>{'long ' * 20_000}</title>",
        "<title>\u202eevil\u202c \u200bword [red]x[/red]</title>",
        "<title><![CDATA[a &#27;[31mred &#0;]]></title>",
        "<title>c1 \u009b31m</title>",
    )
    long, hidden, escaped, c1 = (entry.title for entry in parse(feed).entries)
    assert len(long) <= 1_000
    assert hidden == "evil word [red]x[/red]"
    assert all(character.isprintable() for character in escaped + c1)


def test_control_sequences_that_only_json_can_carry_are_taken_out() -> None:
    feed = (
        '{"items":[{"id":"a\\u0000b","title":"\\u001b[31mred\\u001b[0m\\u0000","content_text":"x\\u001b]0;t\\u0007y"},'
        '{"id":"\\ud800","title":"\\ud800z","content_html":"p\\u0000q&#0;"}]}'
    )
    first, second = parse(feed).entries
    assert (first.ident, first.title, first.text) == ("ab", "red", "xy")
    assert (second.title, "\0" in second.text) == ("z", False)


def test_impossible_dates_are_none_and_far_ones_are_left_to_the_caller() -> None:
    first, far, none = parse(
        rss(
            "<pubDate>Mon, 01 Jan 0001 00:00:00 GMT</pubDate>",
            "<pubDate>Thu, 01 Jan 2099 00:00:00 GMT</pubDate>",
            "<pubDate>31 Feb 2026 99:00 GMT</pubDate>",
        )
    ).entries
    assert (first.published, none.published) == (None, None)
    assert far.published is not None
    assert far.published.year == 2099


async def test_feedparser_is_killed_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = remember_processes(monkeypatch)
    monkeypatch.setattr(slowfeed, "DEADLINE", 0.05)
    with pytest.raises(TooSlowError):
        await parse_feed(slow_feed(), charset=None, base_url=BASE)
    assert [process.returncode for process in processes] == [-9]


async def test_feedparser_is_killed_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = remember_processes(monkeypatch)
    reading = asyncio.create_task(parse_feed(slow_feed(), charset=None, base_url=BASE))
    async with asyncio.timeout(60):
        while not processes:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert [process.returncode for process in processes] == [-9]


async def test_a_process_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    with pytest.raises(NotAFeedError, match="damaged"):
        await parse_feed(rss("<title>A & B</title>").encode(), charset=None, base_url=BASE)


async def test_the_process_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_TOKEN", "hunter2")
    assert "hunter2" not in str(apart._environment())


async def test_the_process_stands_in_no_folder_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was started wherever the user stood, which may be a folder on a stick that then could not be removed."""
    asked: list[object] = []
    start = asyncio.create_subprocess_exec

    async def remember(*args: str, cwd: str | Path, **more: Any) -> asyncio.subprocess.Process:
        asked.append(cwd)
        return await start(*args, cwd=cwd, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", remember)
    assert (await parse_feed(rss("<title>A & B</title>").encode(), charset=None, base_url=BASE)).entries
    assert asked == [Path.cwd().anchor]


def test_the_process_can_start_no_other_and_open_few_files() -> None:
    """A parser that was tricked could have filled the machine with processes."""
    resource = pytest.importorskip("resource")
    program = "import resource as r; from copydesk.ingest.apart import limit; limit(); print(*{})"
    names = ("RLIMIT_NPROC", "RLIMIT_NOFILE")
    limits = program.format([f"r.getrlimit(r.{name})[1]" for name in names]).replace("'", "")
    said = subprocess.run([sys.executable, "-c", limits], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["0", "16"]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 16


def slow_feed() -> bytes:
    """A damaged feed on which feedparser works for minutes."""
    return rss("<title>A & B</title>", "<title>C</title>" + "<a><b>" * 200_000).encode()


def remember_processes(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    processes = []
    start = asyncio.create_subprocess_exec

    async def remembering(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        processes.append(await start(*arguments, **options))  # type: ignore[arg-type]
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", remembering)
    return processes
