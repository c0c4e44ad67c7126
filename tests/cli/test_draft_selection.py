"""Tests for `copydesk draft list` and `draft search` with their filters, as text and as JSON."""

import asyncio
import json

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.model.serialization import format_iso
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, execute_sql, feed, open_desk_at, query_db

SCHEDULED_AT = "2026-12-04T09:00:00Z"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A desk in UTC with three tagged drafts; the second is scheduled, the third archived."""
    home = tmp_path_factory.mktemp("home")

    async def fill() -> None:
        web = FakeWeb()
        web.put(URL_ONE, feed(*(entry(number, title=f"Story {number}", hours=4 - number) for number in (1, 2, 3))))
        async with open_desk_at(home, web) as desk:
            await create_source(desk, name="Gazette", tags=["sea", "salt, pepper"])
            await desk.pipeline.run()

    asyncio.run(fill())
    execute_sql(home, "UPDATE user SET time_zone = 'UTC'")
    at = 1_796_374_800_000_000  # the same time as LATER, in microseconds
    execute_sql(home, "UPDATE draft SET status = 'scheduled', scheduled_at = ? WHERE about LIKE 'Story 2%'", at)
    execute_sql(home, "UPDATE draft SET archived_at = 1 WHERE about LIKE 'Story 3%'")
    assert len(query_db(home, "SELECT id FROM draft")) == 3
    return home


def titles(home, command: str, *args: str) -> set[str]:
    """Return the titles of the drafts listed by `command`."""
    result = run_in_process(home, "draft", command, "--jq", ".", *args)
    assert result.code == 0, result
    return {draft["item"]["title"] for draft in json.loads(result.out)["drafts"]}


ALL_TITLES = {"Story 1", "Story 2", "Story 3"}
FILTER_CASES = [
    ((), ALL_TITLES),
    (("--status", "scheduled"), {"Story 2"}),
    (("--status", "scheduled", "--status", "pending_review"), ALL_TITLES),
    (("--status", "scheduled", "--status", "New"), ALL_TITLES),
    (("--archived", "exclude"), {"Story 1", "Story 2"}),
    (("--archived", "only"), {"Story 3"}),
    (("--tag", "sea"), ALL_TITLES),
    (("--tag", "sea", "--tag", "salt, pepper"), ALL_TITLES),
    (("--tag", "sea", "--tag", "earth"), set()),
    (("--scheduled-after", "2026-12-04"), {"Story 2"}),
    (("--scheduled-after", "2026-12-05"), set()),
    (("--scheduled-before", "2026-12-04 09:00"), set()),
    (("--scheduled-before", "2026-12-04T10:00:01+01:00"), {"Story 2"}),
    (("--scheduled-after", format_iso(NOW), "--scheduled-before", "in 200 weeks"), {"Story 2"}),
    (("--scheduled-after", "30 nov 2019 9:00"), {"Story 2"}),
    (("--source-type", "rss"), ALL_TITLES),
    (("--source-type", "manual"), set()),
    (("--format", "BLOG"), set()),
    (("--format", "short"), ALL_TITLES),
]


@pytest.mark.parametrize("command", [("list",), ("search", "story"), ("approve", "--all-matching", "--yes")])
def test_unknown_source_is_an_error(home, command):
    result = run_in_process(home, "draft", *command, "--source", "nobody")
    assert_one_line_error(result, 3)
    assert "No source 'nobody'. List all sources: `copydesk source list`." in result.err


@pytest.mark.parametrize(("options", "expected"), FILTER_CASES)
@pytest.mark.parametrize("command", [("list",), ("search", "story")])
def test_filters_narrow_list_and_search(home, command, options, expected):
    assert titles(home, *command, *options) == expected


SEARCH_CASES = [
    (("story", "2"), {"Story 2"}),
    (("story 2",), {"Story 2"}),
    (("2 story",), set()),
    (("stor*",), ALL_TITLES),
    (("gazette", "--", "-3"), {"Story 1", "Story 2"}),
    (('"story 1"',), {"Story 1"}),
]


@pytest.mark.parametrize(("args", "expected"), SEARCH_CASES)
def test_search_syntax(home, args, expected):
    assert titles(home, "search", *args) == expected


def test_next_cursor_is_printed_on_stderr(home):
    result = run_in_process(home, "draft", "search", "story", "--limit", "2")
    assert (result.code, result.out.count("\n")) == (0, 2)
    cursor = result.err.removeprefix("More: --cursor ").strip()
    assert len(titles(home, "search", "story", "--cursor", cursor)) == 1
    assert_one_line_error(run_in_process(home, "draft", "search", "another", "--cursor", cursor), 2)
    err = run_in_process(home, "draft", "search", "nothing").err
    assert err == "No drafts match. To match the beginning of a word, append *: `copydesk draft search 'nothing*'`\n"
    for word in ("nothing*", "x"):
        assert run_in_process(home, "draft", "search", word).err == "No drafts match.\n"


def test_list_shows_time_and_archived_state(home):
    execute_sql(home, "UPDATE user SET time_zone = 'Asia/Tokyo'")
    lines = run_in_process(home, "draft", "list").out.splitlines()
    execute_sql(home, "UPDATE user SET time_zone = 'UTC'")

    assert {line[6:].split("  SHORT")[0].strip() for line in lines} == {
        "new, archived",
        "scheduled, 2026-12-04 18:00 JST",
        "new",
    }
    without_archived = run_in_process(home, "draft", "list", "--status", "pending_review", "--archived", "exclude").out
    assert without_archived[6:].startswith("  new  SHORT  ")


def test_empty_filtered_list_gives_no_advice(home, tmp_path):
    assert run_in_process(home, "draft", "list", "--status", "missed").err == "No drafts match these filters.\n"
    result = run_in_process(home, "draft", "search", "story", "--status", "missed")
    assert result.err == "No drafts match these words and filters.\n"
    assert "--run-pipeline" in run_in_process(tmp_path, "draft", "list").err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("search",), "Missing argument 'WORDS...'"),
        (("search", "*"), "WORDS needs a search word"),
        (("search", "x*"), "WORDS takes at least 2 characters before a star"),
        (("list", "--archived", "no"), "'no' is not one of 'exclude', 'only', 'include'"),
        (("list", "--scheduled-after", "whenever"), "--scheduled-after: “whenever” is not a time; examples"),
        (
            ("list", "--scheduled-before", "0001-01-01T00:00+14:00"),
            "--scheduled-before is outside the supported date range",
        ),
        (("list", "--tag", "x" * 51), "--tag takes 1 to 50 characters, not 51"),
        (("list", "--source", ""), "--source takes 1 to 100 characters, not 0"),
    ],
)
def test_invalid_filter_is_usage_error(home, args, message):
    result = run_in_process(home, "draft", *args)
    assert_one_line_error(result, 2)
    assert message in result.err
