"""Tests for `copydesk draft list` and `draft search` with their filters, as text and as JSON."""

import asyncio
import json

import pytest

from command_line import assert_one_line, call_here
from copydesk.model.wire import iso
from desk_fixtures import NOW, ONE, Web, add, change, entry, feed, open_at, rows

LATER = "2026-12-04T09:00:00Z"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A desk in UTC with three tagged drafts; the second is scheduled, the third archived."""
    home = tmp_path_factory.mktemp("home")

    async def fill() -> None:
        web = Web()
        web.put(ONE, feed(*(entry(number, named=f"Story {number}", hours=4 - number) for number in (1, 2, 3))))
        async with open_at(home, web) as desk:
            await add(desk, name="Gazette", tags=["sea", "salt, pepper"])
            await desk.pipeline.run()

    asyncio.run(fill())
    change(home, "UPDATE user SET time_zone = 'UTC'")
    at = 1_796_374_800_000_000  # the same time as LATER, in microseconds
    change(home, "UPDATE draft SET status = 'scheduled', scheduled_at = ? WHERE about LIKE 'Story 2%'", at)
    change(home, "UPDATE draft SET archived_at = 1 WHERE about LIKE 'Story 3%'")
    assert len(rows(home, "SELECT id FROM draft")) == 3
    return home


def titles(home, command: str, *args: str) -> set[str]:
    """Return the titles of the drafts listed by `command`."""
    result = call_here(home, "draft", command, "--json", *args)
    assert result.code == 0, result
    return {draft["item"]["title"] for draft in json.loads(result.out)["drafts"]}


ALL = {"Story 1", "Story 2", "Story 3"}
NARROWED = [
    ((), ALL),
    (("--status", "scheduled"), {"Story 2"}),
    (("--status", "scheduled", "--status", "pending_review"), ALL),
    (("--archived", "exclude"), {"Story 1", "Story 2"}),
    (("--archived", "only"), {"Story 3"}),
    (("--tag", "sea"), ALL),
    (("--tag", "sea", "--tag", "salt, pepper"), ALL),
    (("--tag", "sea", "--tag", "earth"), set()),
    (("--scheduled-after", "2026-12-04"), {"Story 2"}),
    (("--scheduled-after", "2026-12-05"), set()),
    (("--scheduled-before", "2026-12-04 09:00"), set()),
    (("--scheduled-before", "2026-12-04T10:00:01+01:00"), {"Story 2"}),
    (("--scheduled-after", iso(NOW), "--scheduled-before", "in 200 weeks"), {"Story 2"}),
    (("--source", "nobody"), set()),
    (("--source-type", "rss"), ALL),
    (("--source-type", "manual"), set()),
    (("--format", "BLOG"), set()),
    (("--format", "short"), ALL),
]


@pytest.mark.parametrize(("options", "wanted"), NARROWED)
@pytest.mark.parametrize("command", [("list",), ("search", "story")])
def test_filters_narrow_list_and_search(home, command, options, wanted):
    assert titles(home, *command, *options) == wanted


FOUND = [
    (("story", "2"), {"Story 2"}),
    (("story 2",), {"Story 2"}),
    (("2 story",), set()),
    (("stor*",), ALL),
    (("gazette", "--", "-3"), {"Story 1", "Story 2"}),
    (('"story 1"',), {"Story 1"}),
]


@pytest.mark.parametrize(("words", "wanted"), FOUND)
def test_search_syntax(home, words, wanted):
    assert titles(home, "search", *words) == wanted


def test_next_cursor_is_printed_on_stderr(home):
    result = call_here(home, "draft", "search", "story", "--limit", "2")
    assert (result.code, result.out.count("\n")) == (0, 2)
    cursor = result.err.removeprefix("More: --cursor ").strip()
    assert len(titles(home, "search", "story", "--cursor", cursor)) == 1
    assert_one_line(call_here(home, "draft", "search", "another", "--cursor", cursor), 2)
    assert "No draft has these words." in call_here(home, "draft", "search", "nothing").err


def test_list_shows_time_and_archived_state(home):
    change(home, "UPDATE user SET time_zone = 'Asia/Tokyo'")
    lines = call_here(home, "draft", "list").out.splitlines()
    change(home, "UPDATE user SET time_zone = 'UTC'")

    assert {line[36:].split("  SHORT")[0].strip() for line in lines} == {
        "pending_review, archived",
        "scheduled, 2026-12-04 18:00 JST",
        "pending_review",
    }
    without_archived = call_here(home, "draft", "list", "--status", "pending_review", "--archived", "exclude").out
    assert without_archived[36:].startswith("  pending_review  SHORT  ")


def test_empty_filtered_list_gives_no_advice(home, tmp_path):
    assert call_here(home, "draft", "list", "--status", "missed").err == "No draft is like that.\n"
    result = call_here(home, "draft", "search", "story", "--status", "missed")
    assert result.err == "No draft like that has these words.\n"
    assert "--run-pipeline" in call_here(tmp_path, "draft", "list").err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("search",), "Missing argument 'WORDS...'"),
        (("search", "*"), "query: takes a word to look for"),
        (("search", "x*"), "query: takes at least 2 characters before a star"),
        (("list", "--archived", "no"), "'no' is not one of 'exclude', 'only', 'include'"),
        (("list", "--scheduled-after", "whenever"), "--scheduled-after: “whenever” cannot be read as one time"),
        (("list", "--scheduled-before", "0001-01-01T00:00+14:00"), "--scheduled-before: is at an end of the calendar"),
        (("list", "--tag", "x" * 51), "tags[0]: takes 1 to 50 characters, not 51"),
        (("list", "--source", ""), "sourceId: takes 1 to 100 characters, not 0"),
    ],
)
def test_invalid_filter_is_usage_error(home, args, says):
    result = call_here(home, "draft", *args)
    assert_one_line(result, 2)
    assert says in result.err
