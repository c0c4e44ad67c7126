"""Tests for the source, draft, run and doctor commands, as text and as JSON."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli_runner import assert_one_line_error, error_text, run_in_process
from desk_fixtures import entry, execute_sql, feed, story_title
from feed_server import FeedServer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SOURCE_FIELDS = [
    *("id", "type", "name", "url", "config", "enabled", "lastFetch", "health", "failCount", "lastError"),
    *("createdAt", "updatedAt", "itemCount", "namedByUser"),
]
DRAFT_FIELDS = {
    *("id", "text", "format", "status", "confidence", "feedback", "rejectionFeedback", "scheduledAt", "postedAt"),
    *("postId", "itemId", "regeneratedFromId", "createdAt", "updatedAt", "item"),
}
RUN_FIELDS = ["id", "status", "stage", "startedAt", "endedAt", "duration", "stats", "error"]
FUNNEL_FIELDS = ["itemsIngested", "itemsFiltered", "itemsRanked", "draftsCreated", "stageTiming"]


@pytest.fixture
def server():
    with FeedServer("0.0.0.0") as server:
        now = datetime.now(UTC)
        server.serve("/feed", feed(*(entry(number, now=now) for number in range(4)), title="The Ferry Gazette"))
        yield server


def run_ok(home: Path, *args: str, **env: str) -> str:
    """Return the command's output; it must succeed and print nothing on stderr."""
    result = run_in_process(home, *args, **env)
    assert (result.code, result.err) == (0, ""), result
    assert "\x1b" not in result.out
    return result.out


def run_json(home: Path, *args: str):
    """Return the command's JSON output, which must be one line."""
    out = run_ok(home, *args, "--json")
    assert out.count("\n") == 1
    return json.loads(out)


def add_source(home: Path, server: FeedServer, *args: str) -> dict[str, object]:
    return run_json(home, "source", "add", "rss", server.url("/feed"), *args)


def test_added_source_is_printed_as_json(tmp_path, server):
    source = add_source(tmp_path, server, "--name", "Mine", "--config", '{"weight": 2, "tags": ["é"]}')

    assert list(source) == SOURCE_FIELDS
    assert (source["type"], source["name"], source["url"]) == ("rss", "Mine", server.url("/feed"))
    assert source["config"] == {"weight": 2.0, "tags": ["é"]}
    assert UUID.fullmatch(str(source["id"]))
    assert TIME.fullmatch(str(source["createdAt"]))
    assert (source["lastFetch"], source["health"], source["itemCount"]) == (None, "unknown", 0)
    assert run_json(tmp_path, "source", "list") == [source]
    assert run_json(tmp_path, "source", "show", str(source["id"])) == source


def test_source_is_printed_as_text(tmp_path, server):
    out = run_ok(tmp_path, "source", "add", server.url("/feed"))
    (source,) = run_json(tmp_path, "source", "list")

    assert out == f"Added The Ferry Gazette (rss, {server.url('/feed')}) as {source['id'][-6:]}.\n"
    assert run_ok(tmp_path, "source", "list") == (
        f"{source['id'][-6:]}  unknown  rss      0 items  not fetched yet  The Ferry Gazette\n"
    )
    assert run_ok(tmp_path, "source", "show", source["id"]).splitlines() == [
        f"id          {source['id']}",
        "name        The Ferry Gazette",
        "type        rss",
        f"url         {server.url('/feed')}",
        "enabled     yes",
        "health      unknown",
        "items       0",
        "last fetch  not fetched yet",
        "failures    0",
        "last error  none",
    ]


def test_source_show_prints_config(tmp_path, server):
    source = add_source(tmp_path, server, "--config", '{"weight": 2, "exclude": ["hiring"]}')

    assert 'config      {"weight":2.0,"exclude":["hiring"]}' in run_ok(tmp_path, "source", "show", str(source["id"]))


def test_disabled_source_comes_with_the_command_that_enables_it(tmp_path, server):
    source_id = str(add_source(tmp_path, server)["id"])
    assert run_in_process(tmp_path, "source", "list").err == ""
    run_ok(tmp_path, "source", "edit", source_id, "--disable")

    command = "copydesk source edit ID --enable"
    assert f"no; enable it: {command}\n" in run_ok(tmp_path, "source", "show", source_id)
    assert run_in_process(tmp_path, "source", "list").err == f"Enable one that is off: {command}\n"


def test_source_test_prints_entries(tmp_path, server):
    source = add_source(tmp_path, server)

    tested = run_json(tmp_path, "source", "test", str(source["id"]))
    assert tested["ok"] is True
    assert tested["items"][0] == {"title": story_title(0), "url": "https://stories.example/0"}
    assert len(run_ok(tmp_path, "source", "test", str(source["id"])).splitlines()) == 4

    server.fail("/feed", 404)
    result = run_in_process(tmp_path, "source", "test", str(source["id"]))
    assert_one_line_error(result, 1)
    assert "Page not found" in result.err
    result = run_in_process(tmp_path, "source", "test", str(source["id"]), "--json")
    assert (result.code, result.err) == (1, "")
    assert json.loads(result.out)["ok"] is False


def test_source_edit_changes_only_given_fields(tmp_path, server):
    source = add_source(tmp_path, server, "--config", '{"weight": 2}')
    edit = ("source", "edit", str(source["id"]))

    changed = run_json(tmp_path, *edit, "--name", "Other", "--disable")
    assert (changed["name"], changed["enabled"], changed["config"]) == ("Other", False, {"weight": 2.0})
    assert run_json(tmp_path, *edit, "--enable")["enabled"] is True
    assert run_json(tmp_path, *edit, "--config", "{}")["config"] is None
    server.serve("/other", feed(entry(9)))
    assert run_json(tmp_path, *edit, "--url", server.url("/other"))["url"] == server.url("/other")
    assert_one_line_error(run_in_process(tmp_path, *edit, "--url", server.url("/nothing")), 1)
    edited = run_json(tmp_path, *edit, "--url", "https://other.example/feed", "--no-test")
    assert edited["url"] == "https://other.example/feed"
    assert "Other" in run_ok(tmp_path, *edit, "--name", "Other")
    result = run_in_process(tmp_path, *edit)
    assert_one_line_error(result, 2)
    assert "Nothing to change. Pass --name" in result.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--name", "x" * 201], "Error: --name takes 1 to 200 characters, not 201."),
        (["--config", '{"wieght": 2}'], "Error: --config: wieght is not a setting of rss; it has exclude, "),
        (["--config", '{"maxItems": "many"}'], "--config: maxItems takes a whole number, not text"),
        (["--config", '{"include": ["/(/"]}'], "--config: include: /(/ is not a valid regular expression"),
        (["--config", "{"], "--config: not a JSON object"),
        (["--config", "[1]"], "--config: not a JSON object"),
        (["--url", "gopher://x"], "Error: --url is not a web address; "),
        (["--type", "gopher"], "'gopher' is not one of"),
    ],
)
def test_invalid_source_field_is_usage_error(tmp_path, server, args, message):
    source = add_source(tmp_path, server)

    result = run_in_process(tmp_path, "source", "edit", str(source["id"]), *args)

    assert_one_line_error(result, 2)
    assert message in result.err
    assert run_json(tmp_path, "source", "list") == [source]


def test_source_list_shows_why_a_source_fails(tmp_path, server, monkeypatch):
    add_source(tmp_path, server, "--name", "Gazette")
    reason = "No such page. " * 20
    execute_sql(tmp_path, "UPDATE source SET health = 'error', last_error = ?", reason)
    assert run_ok(tmp_path, "source", "list").endswith(f"Gazette  {reason.strip()}\n")
    assert run_json(tmp_path, "source", "list")[0]["lastError"] == reason

    monkeypatch.setattr("copydesk.cli.output._available_columns", lambda _used, **_: 14)
    assert run_ok(tmp_path, "source", "list").endswith("Gazette  No such page.…\n")


def test_source_remove_needs_confirmation(tmp_path, server):
    source = add_source(tmp_path, server)
    remove = ("source", "remove", str(source["id"]))

    result = run_in_process(tmp_path, *remove, stdin="n\n")
    assert (result.code, result.out) == (1, "")
    assert "Delete The Ferry Gazette? This cannot be undone." in result.err
    assert result.err.endswith("Error: Nothing changed.\n")
    result = run_in_process(tmp_path, *remove, stdin="")
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith("Error: Nothing changed. Use --yes to skip the confirmation.\n")
    assert len(run_json(tmp_path, "source", "list")) == 1

    assert run_in_process(tmp_path, *remove, stdin="y\n").out == "Deleted The Ferry Gazette.\n"
    second_id = str(add_source(tmp_path, server)["id"])
    assert run_json(tmp_path, "source", "remove", second_id, "--yes") == {"ok": True}
    assert run_json(tmp_path, "source", "list") == []


def test_failed_export_leaves_the_file_as_it_was(tmp_path):
    opml = tmp_path / "sources.opml"
    opml.write_text("<opml/>")
    result = run_in_process(tmp_path, "--home", str(tmp_path / "missing"), "source", "export", str(opml))
    assert (result.code, "There is no desk in" in result.err) == (3, True)
    assert opml.read_text() == "<opml/>"


def test_sources_round_trip_as_opml(tmp_path, server):
    add_source(tmp_path / "here", server, "--config", '{"weight": 3}')
    opml = tmp_path / "sources.opml"
    exported = run_in_process(tmp_path / "here", "source", "export", str(opml))
    assert (exported.out, exported.err) == ("", f"Exported the sources to {opml}.\n")
    assert run_ok(tmp_path / "here", "source", "export") == opml.read_text()

    assert run_ok(tmp_path / "there", "source", "import", str(opml)) == "1 added, 0 already present, 0 failed.\n"
    assert run_ok(tmp_path / "there", "source", "import", str(opml)) == "0 added, 1 already present, 0 failed.\n"
    (source,) = run_json(tmp_path / "there", "source", "list")
    assert (source["name"], source["config"]) == ("The Ferry Gazette", {"weight": 3.0})


def test_opml_import_lists_refused_feeds(tmp_path):
    (tmp_path / "list.opml").write_text(
        '<opml><body><outline xmlUrl="https://one.example/feed"/><outline xmlUrl="file:///a"/></body></opml>'
    )

    result = run_in_process(tmp_path, "source", "import", str(tmp_path / "list.opml"))

    assert (result.code, result.out) == (1, "1 added, 0 already present, 1 failed.\n")
    assert result.err.startswith("Not added: file:///a: url: ")
    (tmp_path / "list.opml").write_text("no list")
    result = run_in_process(tmp_path, "source", "import", str(tmp_path / "list.opml"))
    assert_one_line_error(result, 2)
    assert result.err == f"Error: {tmp_path / 'list.opml'} is not OPML.\n"


def test_drafts_are_paged(tmp_path, server):
    add_source(tmp_path, server, "--config", '{"tags": ["sea"]}')
    assert run_in_process(tmp_path, "--run-pipeline").code == 0

    page = run_json(tmp_path, "draft", "list", "--limit", "3")
    assert list(page) == ["drafts", "nextCursor"]
    assert len(page["drafts"]) == 3
    second_page = run_json(tmp_path, "draft", "list", "--limit", "3", "--cursor", page["nextCursor"])
    assert (len(second_page["drafts"]), second_page["nextCursor"]) == (1, None)
    draft = page["drafts"][0]
    assert set(draft) >= DRAFT_FIELDS
    assert set(draft["item"]) == {"id", "title", "sourceType", "published"}
    assert (draft["format"], draft["status"], draft["tags"]) == ("SHORT", "pending_review", ["sea"])
    assert TIME.fullmatch(draft["createdAt"])
    assert run_json(tmp_path, "draft", "show", draft["id"]) == draft

    output = run_ok(tmp_path, "draft", "show", draft["id"])
    assert " · confidence not known yet (0 of 20 decisions) · " in output.splitlines()[0]
    assert draft["text"] in output
    assert f"{draft['checks']['ran']} pass" in output
    for part in draft["score"]["parts"]:
        assert f"  {part['name']:<13}  {part['points']:.3f}  {part['why']}" in output
    assert "Source item\ntitle      " in output


def test_reason_of_a_held_draft_is_no_error(tmp_path, server):
    add_source(tmp_path, server)
    run_in_process(tmp_path, "--run-pipeline")
    draft = run_json(tmp_path, "draft", "list", "--limit", "1")["drafts"][0]
    execute_sql(tmp_path, "UPDATE draft SET status = 'awaiting_review', last_error = 'Held: its source is gone (410).'")
    lines = run_ok(tmp_path, "draft", "show", draft["id"]).splitlines()
    assert [line.split("  ") for line in lines if "410" in line] == [["held", "its source is gone (410)."]]


def test_draft_list_prints_next_cursor(tmp_path, server):
    add_source(tmp_path, server)
    run_in_process(tmp_path, "--run-pipeline")

    result = run_in_process(tmp_path, "draft", "list", "--limit", "1")
    assert result.code == 0
    assert re.match(r"[0-9a-f]{6}  ", result.out)
    assert re.fullmatch(r"More: --cursor \S+\n", result.err)
    assert run_ok(tmp_path, "draft", "list", "--status", "pending_review", "--format", "SHORT").count("\n") == 4
    for options in (["--status", "approved"], ["--format", "BLOG"], ["--source-type", "reddit"]):
        assert run_json(tmp_path, "draft", "list", *options) == {"drafts": [], "nextCursor": None}


def test_runs_are_listed_newest_first(tmp_path, server):
    add_source(tmp_path, server)
    first = json.loads(run_in_process(tmp_path, "--run-pipeline", "--json").out)
    second = json.loads(run_in_process(tmp_path, "--run-pipeline", "--json").out)

    page = run_json(tmp_path, "run", "list")
    assert page == {"runs": [second, first], "nextCursor": None}
    assert list(first) == RUN_FIELDS
    assert list(first["stats"])[:5] == FUNNEL_FIELDS
    assert set(first["stats"]["stageTiming"]) == {"ingest", "filter", "rank", "draft"}
    first_page = run_json(tmp_path, "run", "list", "--limit", "1")
    assert run_json(tmp_path, "run", "list", "--cursor", first_page["nextCursor"])["runs"] == [first]
    lines = run_ok(tmp_path, "run", "list").splitlines()
    assert [re.sub(r"^\S+  \S+ \S+ \S+  |\d+\.\d s", "", line) for line in lines] == [
        "succeeded    0 items  0 drafts",
        "succeeded    4 items  4 drafts",
    ]


def test_doctor_creates_no_desk(tmp_path):
    *_, database = run_json(tmp_path, "doctor")

    assert (database["what"], database["verdict"]) == ("database", "ok")
    file = tmp_path / "copydesk.db"
    assert database["found"] == (
        f"None yet. {file} is created by the console or the first command that stores something."
    )
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_an_unknown_user(tmp_path):
    run_in_process(tmp_path, "source", "list")
    result = run_in_process(tmp_path, "--user", "nobody", "doctor")

    assert result.code == 1
    assert "ERROR  user      No user 'nobody'." in result.out


def test_advice_of_the_doctor_names_the_desk_in_json_too(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    options = ("--home", str(tmp_path), "--user", "anna")
    (sources,) = [check for check in run_json(tmp_path, *options, "doctor") if check["what"] == "sources"]
    assert sources["advice"] == f"Add one: copydesk {' '.join(options)} source add https://example.com"


def test_doctor_reports_problems(tmp_path, server):
    run_in_process(tmp_path, "source", "list")
    checks = run_json(tmp_path, "doctor")
    assert [(check["what"], check["verdict"]) for check in checks] == [
        *(
            ("settings", "ok"),
            ("disk", "ok"),
            ("size", "ok"),
            ("backups", "ok"),
            ("database", "ok"),
            ("sources", "warning"),
            ("pipeline", "ok"),
        ),
        *(("accounts", "ok"), ("images", "ok")),
    ]
    add_source(tmp_path, server)
    server.fail("/feed", 410)
    run_in_process(tmp_path, "--run-pipeline")
    output = run_ok(tmp_path, "doctor")
    assert "warning  sources   1 of 1 failing: The Ferry Gazette. See `copydesk source show ID`." in output
    assert "warning  pipeline  The last run failed: All sources failed (1)." in output

    for path in tmp_path.glob("copydesk.db*"):
        path.unlink()
    (tmp_path / "copydesk.db").write_bytes(b"no database" * 999)
    result = run_in_process(tmp_path, "doctor")
    assert result.code == 1
    assert "ERROR  database" in result.out
    assert "There is no backup. Move it away to start over." in result.out


def test_home_flag_overrides_environment(tmp_path, server):
    add_source(tmp_path / "environment", server)

    flag = ("--home", str(tmp_path / "flag"))
    run_json(tmp_path / "environment", *flag, "draft", "new", "Words.")
    assert run_json(tmp_path / "environment", *flag, "source", "list") == []
    assert len(run_json(tmp_path / "environment", "source", "list")) == 1
    assert (tmp_path / "flag" / "copydesk.db").exists()


@pytest.mark.sqlite("a database of its own")
@pytest.mark.parametrize(
    "args",
    [
        *(("draft", "list"), ("draft", "show", "1f9c2a"), ("user", "list"), ("backup",), ("account", "check")),
        *(
            ("draft", "approve", "1f9c2a"),
            ("ranking", "preview", "--interest", "ferries"),
            ("user", "remove", "anna", "--yes"),
        ),
        *(("slot", "zone"), ("daemon", "--status")),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_command_that_needs_a_desk_creates_none_in_a_mistyped_home(tmp_path, args, options):
    home = tmp_path / "typo"
    result = run_in_process(tmp_path, "--home", str(home), *args, *options)
    assert_one_line_error(result, 3)
    advice = f"Check --home, or create one: copydesk --home {home} source add URL"
    assert error_text(result) == f"There is no desk in {home}. {advice}"
    assert not home.exists()


def test_source_titles_cannot_control_terminal(tmp_path, server):
    hostile = "\x1b[2J\x1b]0;owned\x07[red]Gazette\u202e\x9b31m"
    body = '{"version": "https://jsonfeed.org/version/1.1", "title": %s, "items": [{"id": "1", "title": %s}]}'
    server.serve("/feed", body % (json.dumps(hostile), json.dumps(hostile)), content_type="application/feed+json")
    source = add_source(tmp_path, server)
    run_in_process(tmp_path, "--run-pipeline")
    drafts = json.loads(run_in_process(tmp_path, "draft", "list", "--json").out)["drafts"]

    commands = [["source", "list"], ["source", "show"], ["source", "test"], ["draft", "list"], ["doctor"]]
    for command in commands:
        result = run_in_process(tmp_path, *command, *([str(source["id"])] if command[-1] in {"show", "test"} else []))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.out + result.err), command
    for draft in drafts:
        assert "\x1b" not in run_in_process(tmp_path, "draft", "show", draft["id"]).out
