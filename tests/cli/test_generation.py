"""Tests for generating and regenerating drafts and for `draft diff`."""

import json
import re

import pytest

from cli_runner import assert_one_line_error, run_in_process
from desk_fixtures import query_db
from feed_server import FeedServer

PAGE_HTML = (
    "<html lang=en><head><title>A library where you borrow drills</title></head><body><article>"
    "<p>The city opened a library of things on Tuesday, where people borrow drills instead of books.</p>"
    "<p>The first 400 members of the library signed up within a week, and twelve towns plan libraries of things.</p>"
    "<p>The library keeps 1,200 objects in a former bakery, and members repair what comes back broken.</p>"
    "<p>Volunteers of the library teach sewing, soldering and the care of bicycles on Saturdays.</p>"
    "</article></body></html>"
)


@pytest.fixture
def url():
    with FeedServer() as server:
        server.serve("/library", PAGE_HTML, content_type="text/html")
        yield server.url("/library")


def run_json(home, *args):
    result = run_in_process(home, "draft", *args, "--json")
    assert result.code == 0, result
    return json.loads(result.out), result.err


def test_new_draft_waits_for_generation(tmp_path, url):
    created, err = run_json(tmp_path, "new", "--url", url, "--format", "SHORT", "--format", "THREAD")

    assert err == "Generating 2 drafts…\n"
    assert (created["mode"], [draft["status"] for draft in created["drafts"]]) == ("generate", ["pending_review"] * 2)
    assert all("borrow drills" in draft["text"] for draft in created["drafts"])


def test_writer_warning_is_printed_once(tmp_path, url):
    formats = ("--format", "SHORT", "--format", "THREAD")
    result = run_in_process(tmp_path, "draft", "new", "--url", url, "--prompt", "Be funny.", *formats)

    assert result.code == 0
    assert result.err.splitlines()[1:] == ["The offline writer does not support prompts: the text uses the page only."]


def test_no_wait_leaves_draft_pending(tmp_path):
    created, err = run_json(tmp_path, "new", "--prompt", "We open at eight.", "--no-wait")

    assert err == ""
    assert [(draft["status"], draft["text"]) for draft in created["drafts"]] == [("pending_generation", "")]


def test_draft_without_text_is_listed_by_its_prompt(tmp_path):
    run_in_process(tmp_path, "draft", "new", "--prompt", "We open at eight.", "--no-wait")

    assert run_in_process(tmp_path, "draft", "list").out.endswith("  We open at eight.\n")


def test_missing_page_fails_command(tmp_path, url):
    result = run_in_process(tmp_path, "draft", "new", "--url", f"{url}-not")

    assert result.code == 1
    assert "generation failed" in result.out
    assert re.search(r"404|nothing at", result.err)


def test_regenerated_version_is_diffed(tmp_path, url):
    created, _ = run_json(tmp_path, "new", "--url", url)
    first = created["drafts"][0]
    second, err = run_json(tmp_path, "regenerate", first["id"], "--feedback", "Shorter.")

    assert err == "Generating 1 draft…\n"
    assert (second["status"], second["regeneratedFromId"]) == ("awaiting_review", first["id"])
    assert len(second["text"]) < len(first["text"])

    result = run_in_process(tmp_path, "draft", "diff", second["id"])
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"{first['id'][-6:]} → {second['id'][-6:]}\n\n")
    assert "[-" in result.out
    unmarked = re.sub(r"\[-.*?-\]|\{\+(.*?)\+\}", r"\1", result.out.split("\n\n", 1)[1], flags=re.DOTALL)
    assert unmarked.startswith(second["text"])

    diff, _ = run_json(tmp_path, "diff", second["id"], first["id"])
    assert "".join(piece["text"] for piece in diff["pieces"] if piece["kind"] != "added") == second["text"]
    assert {"old", "new", "pieces", "better", "worse"} == set(diff)


def test_history_includes_previous_versions(tmp_path, url):
    created, _ = run_json(tmp_path, "new", "--url", url)
    first = created["drafts"][0]["id"]
    second = run_json(tmp_path, "regenerate", first, "--feedback", "Shorter.")[0]["id"]
    result = run_in_process(tmp_path, "draft", "history", second)

    assert [line.split(")  ", 1)[-1] for line in result.out.splitlines()] == [
        f"{first[-6:]}:",
        "you created it (generating)",
        "the system generated the text (generating → new)",
        "you asked for a new version (new → regenerating) “Shorter.”",
        "the system generated a new version (regenerating → changes requested)",
        f"{second[-6:]}:",
        "the system created it (needs review)",
    ]
    events, _ = run_json(tmp_path, "history", second)
    assert [event["draftId"] for event in events] == [first] * 4 + [second]
    assert run_in_process(tmp_path, "draft", "history", first).err == f"Newer version: {second[-6:]}.\n"


def test_several_drafts_are_regenerated_at_once(tmp_path, url):
    first, _ = run_json(tmp_path, "new", "--url", url)
    second, _ = run_json(tmp_path, "new", "--prompt", "We open at eight.")
    ids = [created["drafts"][0]["id"] for created in (first, second)]
    result = run_in_process(tmp_path, "draft", "regenerate", *ids)

    assert result.out == "2 regenerating.\n"
    assert result.err.startswith("Generating 2 drafts…\n")
    ((pending,),) = query_db(tmp_path, "SELECT count(*) FROM draft WHERE status LIKE 'pending_reg%'")
    assert pending == 0


def test_failed_regeneration_names_its_undo(tmp_path):
    created, _ = run_json(tmp_path, "new", "Words of my own.")
    draft_id = created["drafts"][0]["id"]
    home = tmp_path / "environment"
    result = run_in_process(home, "--home", str(tmp_path), "draft", "regenerate", draft_id)

    assert (result.code, result.out) == (1, f"{draft_id[-6:]} now generation failed.\n")
    command = f"copydesk --home {tmp_path} draft undo {draft_id[-6:]}"
    assert result.err.endswith(f" To restore it as it was: {command}\n")
    assert run_in_process(home, *command.split()[1:]).code == 0
    ((status,),) = query_db(tmp_path, "SELECT status FROM draft")
    assert status == "awaiting_review"


def test_first_version_has_no_diff(tmp_path):
    created, _ = run_json(tmp_path, "new", "Words of my own.")

    assert_one_line_error(run_in_process(tmp_path, "draft", "diff", created["drafts"][0]["id"]), 4)
    assert_one_line_error(run_in_process(tmp_path, "draft", "diff", "nothing"), 3)


def test_diff_shows_hidden_characters(tmp_path):
    first, _ = run_json(tmp_path, "new", "Plain words.")
    second, _ = run_json(tmp_path, "new", "Plain \x1b[31mwords.")
    result = run_in_process(tmp_path, "draft", "diff", first["drafts"][0]["id"], second["drafts"][0]["id"])

    assert "\x1b" not in result.out
    assert "U+001B" in result.out


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (("--url", "javascript:alert(1)"), "url"),
        (("--prompt", " "), "prompt"),
        (("--prompt", "x", "--format", "SHORT", "--format", "SHORT"), "--format: SHORT is a duplicate"),
        (("Words", "--url", "https://one.example/"), "url"),
    ],
)
def test_invalid_request_is_usage_error(tmp_path, args, field):
    result = run_in_process(tmp_path, "draft", "new", *args)

    assert_one_line_error(result, 2)
    assert field in result.err
