"""The voice profile on the command line."""

import json

import pytest

from command_line import assert_one_line, call_here


def asked(home, *args, stdin=""):
    said = call_here(home, "voice", *args, "--json", stdin=stdin)
    assert (said.code, said.err) == (0, ""), said
    return json.loads(said.out)


def test_a_profile_is_set_piece_by_piece(tmp_path):
    (tmp_path / "post.txt").write_text("Written\nbefore.\n")
    asked(tmp_path, "set", "--style", "Dry.", "--avoid", "synergy", "--avoid", "game changer")
    asked(tmp_path, "set", "--example", "One.", "--example", f"@{tmp_path}/post.txt")
    asked(tmp_path, "set", "--format", "SHORT.hashtags=2", "--format", "short.link=never")
    asked(tmp_path, "set", "--format", "BLOG.instructions=3 questions", "--format", "SHORT.link=")

    found = asked(tmp_path, "show")
    assert (found["style"], found["avoid"]) == ("Dry.", ["synergy", "game changer"])
    assert found["examples"] == ["One.", "Written\nbefore."]
    assert found["formats"] == {"SHORT": {"hashtags": 2}, "BLOG": {"instructions": "3 questions"}}


def test_a_field_is_cleared(tmp_path):
    asked(tmp_path, "set", "--style", "Dry.", "--avoid", "synergy", "--format", "SHORT.hashtags=2")
    found = asked(tmp_path, "set", "--clear", "style", "--clear", "formats", "--format", "BLOG.targetWords=200")

    assert (found["style"], found["avoid"], found["formats"]) == ("", ["synergy"], {"BLOG": {"targetWords": 200}})


def test_a_profile_is_taken_from_a_json_object(tmp_path):
    asked(tmp_path, "set", "--style", "Dry.", "--format", "THREAD.maxParts=3")
    given = '{"avoid": ["synergy"], "formats": {"SHORT": {"maxLength": 200}}}'
    found = asked(tmp_path, "set", "--json-file", "-", stdin=given)

    assert (found["style"], found["avoid"], found["formats"]) == ("Dry.", ["synergy"], {"SHORT": {"maxLength": 200}})


def test_what_the_offline_writer_cannot_follow_is_said(tmp_path):
    call_here(tmp_path, "voice", "set", "--style", "Dry and short.", "--format", "SHORT.instructions=Ask.")
    said = call_here(tmp_path, "voice", "show")

    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Dry and short.\n")
    assert "The offline writer cannot follow style, formats.SHORT.instructions" in said.out


def test_a_profile_that_it_can_follow_needs_no_warning(tmp_path):
    said = call_here(tmp_path, "voice", "set", "--avoid", "synergy", "--format", "SHORT.emoji=never")

    assert said.code == 0
    assert "cannot" not in said.out
    assert "emoji never" in said.out


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ((), "Say what to change"),
        (("--style", "x", "--json-file", "-"), "one of the two"),
        (("--json-file", "-"), "not a JSON object"),
        (("--format", "SHORT"), "is not like SHORT.hashtags=2"),
        (("--format", "TWEET.hashtags=2"), "formats.TWEET: takes one of SHORT, THREAD, BLOG"),
        (("--format", "SHORT.hashtags=9"), "formats.SHORT.hashtags: takes a whole number of 0 to 5"),
        (("--format", "SHORT.size=9"), "formats.SHORT.size: is no known field"),
        (("--avoid", "w" * 101), "avoid[0]: takes 1 to 100"),
        (("--clear", "tone"), "--clear"),
        (("--example", "@/nonexistent/file"), "No such file"),
    ],
)
def test_what_cannot_be_is_one_line_with_code_2(tmp_path, args, word):
    said = call_here(tmp_path, "voice", "set", *args)

    assert_one_line(said, 2)
    assert word in said.err
