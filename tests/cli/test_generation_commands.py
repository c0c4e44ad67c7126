"""Drafts on request, new versions and their differences on the command line."""

import json
import re

import pytest

from command_line import assert_one_line, call_here
from desk_fixtures import rows
from feed_server import FeedServer

PAGE = (
    "<html lang=en><head><title>A library where you borrow drills</title></head><body><article>"
    "<p>The city opened a library of things on Tuesday, where people borrow drills instead of books.</p>"
    "<p>Its first 400 members signed up within a week, and twelve other towns asked how it is done.</p>"
    "<p>The library keeps 1,200 objects in a former bakery, and members repair what comes back broken.</p>"
    "</article></body></html>"
)


@pytest.fixture
def url():
    with FeedServer() as server:
        server.serve("/library", PAGE, content_type="text/html")
        yield server.url("/library")


def asked(home, *args):
    said = call_here(home, "draft", *args, "--json")
    assert said.code == 0, said
    return json.loads(said.out), said.err


def test_a_new_draft_is_waited_for(tmp_path, url):
    made, err = asked(tmp_path, "new", "--url", url, "--format", "SHORT", "--format", "BLOG")

    assert err == "Writing 2 drafts…\n"
    assert (made["mode"], [draft["status"] for draft in made["drafts"]]) == ("generate", ["pending_review"] * 2)
    assert all("borrow drills" in draft["text"] for draft in made["drafts"])


def test_what_the_writer_could_not_follow_is_said_once(tmp_path, url):
    formats = ("--format", "SHORT", "--format", "BLOG")
    said = call_here(tmp_path, "draft", "new", "--url", url, "--prompt", "Be funny.", *formats)

    assert said.code == 0
    assert said.err.splitlines()[1:] == ["The offline writer cannot follow a prompt: this is made of the page alone."]


def test_without_waiting_it_is_left_to_others(tmp_path):
    made, err = asked(tmp_path, "new", "--prompt", "We open at eight.", "--no-wait")

    assert err == ""
    assert [(draft["status"], draft["text"]) for draft in made["drafts"]] == [("pending_generation", "")]


def test_a_page_that_is_not_there_is_said_and_the_call_fails(tmp_path, url):
    said = call_here(tmp_path, "draft", "new", "--url", f"{url}-not")

    assert said.code == 1
    assert "generation_failed" in said.out
    assert re.search(r"404|nothing at", said.err)


def test_a_new_version_is_waited_for_and_compared(tmp_path, url):
    made, _ = asked(tmp_path, "new", "--url", url)
    first = made["drafts"][0]
    second, err = asked(tmp_path, "regenerate", first["id"], "--feedback", "Shorter.")

    assert err == "Writing 1 draft…\n"
    assert (second["status"], second["regeneratedFromId"]) == ("awaiting_review", first["id"])
    assert len(second["text"]) < len(first["text"])

    said = call_here(tmp_path, "draft", "diff", second["id"])
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{first['id']} → {second['id']}\n\n")
    assert "[-" in said.out
    plain = re.sub(r"\[-.*?-\]|\{\+(.*?)\+\}", r"\1", said.out.split("\n\n", 1)[1], flags=re.DOTALL)
    assert plain.startswith(second["text"])

    found, _ = asked(tmp_path, "diff", second["id"], first["id"])
    assert "".join(each["text"] for each in found["pieces"] if each["kind"] != "added") == second["text"]
    assert {"old", "new", "pieces", "better", "worse"} == set(found)


def test_the_history_of_a_version_begins_with_those_before_it(tmp_path, url):
    made, _ = asked(tmp_path, "new", "--url", url)
    first = made["drafts"][0]["id"]
    second = asked(tmp_path, "regenerate", first, "--feedback", "Shorter.")[0]["id"]
    said = call_here(tmp_path, "draft", "history", second)

    assert [line.split("ago)  ")[-1] for line in said.out.splitlines()] == [
        f"{first}:",
        "you made it (pending_generation)",
        "the system wrote the text (pending_generation → pending_review)",
        "you asked for a new version (pending_review → pending_regeneration) “Shorter.”",
        "the system wrote a new version (pending_regeneration → changes_requested)",
        f"{second}:",
        "the system made it (awaiting_review)",
    ]
    story, _ = asked(tmp_path, "history", second)
    assert [event["draftId"] for event in story] == [first] * 4 + [second]
    assert call_here(tmp_path, "draft", "history", first).err == f"Its newer version is {second}.\n"


def test_many_new_versions_are_asked_for_at_once(tmp_path, url):
    first, _ = asked(tmp_path, "new", "--url", url)
    second, _ = asked(tmp_path, "new", "--prompt", "We open at eight.")
    ids = [made["drafts"][0]["id"] for made in (first, second)]
    said = call_here(tmp_path, "draft", "regenerate", *ids)

    assert said.out == "2 to be written anew.\n"
    assert said.err.startswith("Writing 2 drafts…\n")
    ((left,),) = rows(tmp_path, "SELECT count(*) FROM draft WHERE status LIKE 'pending_reg%'")
    assert left == 0


def test_a_first_version_has_nothing_before_it(tmp_path):
    made, _ = asked(tmp_path, "new", "Words of my own.")

    assert_one_line(call_here(tmp_path, "draft", "diff", made["drafts"][0]["id"]), 1)
    assert_one_line(call_here(tmp_path, "draft", "diff", "nothing"), 1)


def test_what_is_hidden_in_a_text_is_shown_in_its_difference(tmp_path):
    one, _ = asked(tmp_path, "new", "Plain words.")
    two, _ = asked(tmp_path, "new", "Plain \x1b[31mwords.")
    said = call_here(tmp_path, "draft", "diff", one["drafts"][0]["id"], two["drafts"][0]["id"])

    assert "\x1b" not in said.out
    assert "U+001B" in said.out


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (("--url", "javascript:alert(1)"), "url"),
        (("--prompt", " "), "prompt"),
        (("--prompt", "x", "--format", "SHORT", "--format", "SHORT"), "formats[1]"),
        (("Words", "--url", "https://one.example/"), "url"),
    ],
)
def test_what_breaks_a_rule_is_wrong_usage(tmp_path, args, field):
    said = call_here(tmp_path, "draft", "new", *args)

    assert_one_line(said, 2)
    assert field in said.err
