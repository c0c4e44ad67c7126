"""Tests for the voice commands."""

import json

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.desk.context import DeskContext, _LazyTransport
from copydesk.desk.voice import Voices
from fake_pds import DID, PASSWORD, FakePds

PLAIN_CREDENTIALS = {"copydesk_secrets__keyring": "false", "copydesk_secrets__plain": "true"}


def run_json(home, *args, stdin=""):
    result = run_in_process(home, "voice", *args, "--json", stdin=stdin)
    assert (result.code, result.err) == (0, ""), result
    return json.loads(result.out)


def test_profile_is_set_field_by_field(tmp_path):
    (tmp_path / "post.txt").write_text("Written\nbefore.\n")
    run_json(tmp_path, "set", "--style", "Dry.", "--avoid", "synergy", "--avoid", "game changer")
    run_json(tmp_path, "set", "--example", "One.", "--example", f"@{tmp_path}/post.txt")
    run_json(tmp_path, "set", "--format", "SHORT.hashtags=2", "--format", "short.link=never")
    run_json(tmp_path, "set", "--format", "BLOG.instructions=3 questions", "--format", "SHORT.link=")

    profile = run_json(tmp_path, "show")
    assert (profile["style"], profile["avoid"]) == ("Dry.", ["synergy", "game changer"])
    assert profile["examples"] == ["One.", "Written\nbefore."]
    assert profile["formats"] == {"SHORT": {"hashtags": 2}, "BLOG": {"instructions": "3 questions"}}


def test_field_is_cleared(tmp_path):
    run_json(tmp_path, "set", "--style", "Dry.", "--avoid", "synergy", "--format", "SHORT.hashtags=2")
    profile = run_json(tmp_path, "set", "--clear", "style", "--clear", "formats", "--format", "BLOG.targetWords=200")

    assert (profile["style"], profile["avoid"], profile["formats"]) == ("", ["synergy"], {"BLOG": {"targetWords": 200}})


def test_profile_from_json(tmp_path):
    run_json(tmp_path, "set", "--style", "Dry.", "--format", "THREAD.maxParts=3")
    document = '{"avoid": ["synergy"], "formats": {"SHORT": {"maxLength": 200}}}'
    profile = run_json(tmp_path, "set", "--json-file", "-", stdin=document)

    assert (profile["style"], profile["avoid"], profile["formats"]) == (
        "Dry.",
        ["synergy"],
        {"SHORT": {"maxLength": 200}},
    )


def test_show_dates_a_profile_that_was_changed(tmp_path):
    assert "changed" not in run_in_process(tmp_path, "voice", "show").out
    run_json(tmp_path, "set", "--style", "Dry.")
    assert "changed " in run_in_process(tmp_path, "voice", "show").out


def test_show_lists_unsupported_fields(tmp_path):
    run_in_process(tmp_path, "voice", "set", "--style", "Dry and short.", "--format", "SHORT.instructions=Ask.")
    result = run_in_process(tmp_path, "voice", "show")

    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Dry and short.\n")
    assert "Not supported by the offline writer: style, formats.SHORT.instructions" in result.out


def test_supported_profile_has_no_warning(tmp_path):
    result = run_in_process(tmp_path, "voice", "set", "--avoid", "synergy", "--format", "SHORT.emoji=never")

    assert result.code == 0
    assert "cannot" not in result.out
    assert "emoji never" in result.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Pass either the options to change or --json-file"),
        (("--style", "x", "--json-file", "-"), "Pass either the options to change or --json-file"),
        (("--json-file", "-"), "not a JSON object"),
        (("--format", "SHORT"), "is not FORMAT.SETTING=VALUE"),
        (("--format", "TWEET.hashtags=2"), "formats.TWEET takes one of SHORT, THREAD, BLOG"),
        (("--format", "SHORT.hashtags=9"), "formats.SHORT.hashtags takes a whole number from 0 to 5"),
        (("--format", "SHORT.size=9"), "formats.SHORT.size: unknown field"),
        (("--avoid", "w" * 101), "--avoid takes 1 to 100"),
        (("--clear", "tone"), "--clear"),
        (("--example", "@/nonexistent/file"), "No such file"),
    ],
)
def test_invalid_value_is_usage_error(tmp_path, args, message):
    result = run_in_process(tmp_path, "voice", "set", *args)

    assert_one_line_error(result, 2)
    assert message in result.err


@pytest.mark.parametrize("options", [(), ("--preview",)])
def test_invalid_field_of_a_file_has_its_own_name(tmp_path, options):
    document = '{"avoid": [""], "formats": {"SHORT": {"hashtags": 9}}}'
    result = run_in_process(tmp_path, "voice", "set", "--json-file", "-", *options, stdin=document)

    assert_one_line_error(result, 2)
    assert "--json-file: avoid[0] takes 1 to 100 characters, not 0." in result.err
    assert "--json-file: formats.SHORT.hashtags takes a whole number from 0 to 5." in result.err


def test_report_says_that_confidence_is_not_known_yet(tmp_path):
    assert "not known yet: 0 of 20 decisions" in run_in_process(tmp_path, "voice", "report").out
    assert run_json(tmp_path, "report")["confidence"]["known"] is False


def test_reset_is_confirmed_and_taken_back(tmp_path):
    declined = run_in_process(tmp_path, "voice", "reset", stdin="n\n")
    assert declined.code == 1
    assert "Nothing changed." in declined.err
    assert "Only decisions since" in run_in_process(tmp_path, "voice", "reset", "--yes").out
    assert run_json(tmp_path, "report")["since"] is not None
    assert run_in_process(tmp_path, "voice", "reset", "--undo").out == "All decisions count.\n"
    assert_one_line_error(run_in_process(tmp_path, "voice", "reset", "--undo"), 4)


def test_posts_are_imported(tmp_path):
    (tmp_path / "posts.txt").write_text("The first post, long enough.\n---\nThe second post, long enough.\n")
    result = run_in_process(tmp_path, "voice", "import", str(tmp_path / "posts.txt"))
    assert (result.code, result.out) == (0, "2 examples added of 2 posts.\n")
    assert len(run_json(tmp_path, "show")["examples"]) == 2


def test_file_without_posts_is_refused(tmp_path):
    (tmp_path / "posts.txt").write_text("short")
    refused = run_in_process(tmp_path, "voice", "import", str(tmp_path / "posts.txt"))
    assert_one_line_error(refused, 2)
    assert "FILE: has no post" in refused.err


def test_preview_without_items_is_refused_and_saves_nothing(tmp_path):
    assert_one_line_error(run_in_process(tmp_path, "voice", "set", "--avoid", "x", "--preview"), 3)
    assert run_json(tmp_path, "show")["avoid"] == []


@pytest.mark.parametrize(
    ("options", "unknown", "known"), [((), "before", "style"), (("--preview",), "style", "title, itemId, before")]
)
def test_fields_are_those_of_what_is_printed(tmp_path, options, unknown, known):
    refused = run_in_process(tmp_path, "voice", "set", "--avoid", "x", *options, "--json", unknown)
    assert refused.code == 2
    assert f"there is no field '{unknown}'. There are: {known}" in refused.err


def test_no_edited_texts_to_suggest(tmp_path):
    assert "No edited texts" in run_in_process(tmp_path, "voice", "examples").err


@pytest.mark.parametrize("args", [(), ("posts.txt", "--account", "bluesky")])
def test_import_takes_a_file_or_an_account(tmp_path, args):
    (tmp_path / "posts.txt").write_text("A post that I wrote before.")
    result = run_in_process(
        tmp_path, "voice", "import", *(f"{tmp_path}/{arg}" if ".txt" in arg else arg for arg in args)
    )
    assert_one_line_error(result, 2)
    assert "either FILE or --account" in result.err


def test_import_from_unknown_account(tmp_path):
    result = run_in_process(tmp_path, "voice", "import", "--account", "bluesky")
    assert_one_line_error(result, 3)


@pytest.fixture
def bluesky(tmp_path, monkeypatch):
    server = FakePds()
    for number, text in enumerate(("A post that I wrote before.", "Another post of mine.")):
        uri = f"at://{DID}/app.bsky.feed.post/{number}"
        server.records[uri] = {"uri": uri, "cid": "bafy", "value": {"text": text}}
    monkeypatch.setattr(
        _LazyTransport,
        "handle_async_request",
        lambda _, request: server.transport.handle_async_request(request),
    )
    args = ("account", "connect", "bluesky", "--url", "https://pds.example", "--set", "handle=me.example")
    assert run_in_process(tmp_path, *args, stdin=f"{PASSWORD}\n", **PLAIN_CREDENTIALS).code == 0


def test_posts_of_an_account_are_shown_then_saved(tmp_path, bluesky):
    result = run_in_process(tmp_path, "voice", "import", "--account", "bluesky", "--yes", **PLAIN_CREDENTIALS)
    assert (result.code, result.out) == (0, "2 examples added of 2 posts.\n"), result
    assert result.err == "Another post of mine.\n---\nA post that I wrote before.\n---\n"


def test_posts_of_an_account_are_not_saved_unconfirmed(tmp_path, bluesky):
    result = run_in_process(tmp_path, "voice", "import", "--account", "bluesky", **PLAIN_CREDENTIALS)
    assert result.code != 0
    assert "Another post of mine." in result.err
    assert run_json(tmp_path, "show")["examples"] == []


def test_added_example_keeps_that_of_another_process(tmp_path, monkeypatch):
    created = json.loads(run_in_process(tmp_path, "draft", "new", "My own words.", "--json").out)
    write = DeskContext.write_durable

    async def write_after_other(ctx, *args, **kwargs):
        monkeypatch.setattr(DeskContext, "write_durable", write)
        await Voices(ctx).update({"examples": ["Of another process."]})
        return await write(ctx, *args, **kwargs)

    monkeypatch.setattr(DeskContext, "write_durable", write_after_other)
    run_json(tmp_path, "examples", "--add", created["drafts"][0]["id"])
    assert run_json(tmp_path, "show")["examples"] == ["Of another process.", "My own words."]
