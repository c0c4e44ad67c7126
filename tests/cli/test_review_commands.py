"""The commands that change drafts: one, many, all that match; as text and as JSON in the interface's shapes."""

import io
import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

from command_line import Said, assert_one_line, call_here
from copydesk.model.draft import Draft
from desk_fixtures import change, rows

NOBODY = "019c4a5e-0000-7000-8000-000000000000"
DRAFT = {field.encode_name for field in msgspec.structs.fields(Draft)}
BULK = ["action", "total", "succeeded", "failed", "results"]


def done(home: Path, *args: str, **named: str) -> str:
    """What a command printed that worked; it may have said something besides."""
    said = call_here(home, *args, **named)
    assert said.code == 0, said
    return said.out


def answer(home: Path, *args: str):
    return json.loads(done(home, *args, "--json"))


def new(home: Path, text: str = "The harbour opens on Monday.", *args: str) -> str:
    return str(answer(home, "draft", "new", text, *args)["drafts"][0]["id"])


def statuses(home: Path) -> list[str]:
    return [str(status) for (status,) in rows(home, "SELECT status FROM draft ORDER BY id")]


def test_a_draft_is_made_of_a_text(tmp_path):
    made = answer(
        *(tmp_path, "draft", "new", "Words.", "--format", "BLOG", "--tag", "sea", "--tag", "news", "--platform", "x"),
        *("--image", "https://pictures.example/a.png"),
    )

    assert list(made) == ["mode", "itemId", "drafts"]
    assert made["drafts"][0]["images"][0]["source"] == "UPLOAD"
    shown = answer(tmp_path, "draft", "show", made["drafts"][0]["id"])
    assert (shown["text"], shown["format"], shown["tags"]) == ("Words.", "BLOG", ["news", "sea"])
    assert done(tmp_path, "draft", "new", "More words.").endswith(" is a SHORT and awaiting_review.\n")


def test_a_text_comes_from_a_file_or_from_standard_input(tmp_path):
    (tmp_path / "text").write_text("From a file, é.")
    (tmp_path / "latin").write_bytes(b"\xe9")
    one = answer(tmp_path, "draft", "new", "--file", str(tmp_path / "text"))
    said = call_here(tmp_path, "draft", "new", "--file", "-", "--json", stdin="From a pipe.\n")

    texts = [one["drafts"][0]["text"], json.loads(said.out)["drafts"][0]["text"]]
    assert texts == ["From a file, é.", "From a pipe."]
    assert_one_line(call_here(tmp_path, "draft", "new", "--file", str(tmp_path / "latin")), 2)
    assert_one_line(call_here(tmp_path, "draft", "new", "x", "--file", str(tmp_path / "text")), 2)


def test_what_breaks_a_rule_is_told_by_its_field(tmp_path):
    for args, field in (
        ([""], "text: takes 1 to 50,000 characters, not 0"),
        (["--file", "/dev/null"], "text: takes 1 to 50,000 characters, not 0"),
        (["x" * 50_001], "text"),
        (["Words.", "--url", "https://example.com"], "url"),
        (["Words.", *["--tag", "x" * 51]], "tags[0]"),
        (["Words.", "--image", "ftp://example.com/a.png"], "images[0].url"),
    ):
        said = call_here(tmp_path, "draft", "new", *args)
        assert_one_line(said, 2)
        assert field in said.err


def test_one_id_prints_the_draft(tmp_path):
    draft_id = new(tmp_path)
    changed = answer(tmp_path, "draft", "approve", draft_id)

    assert set(changed) == DRAFT
    assert (changed["id"], changed["status"], changed["version"]) == (draft_id, "approved", 2)
    changed = answer(tmp_path, "draft", "unapprove", draft_id, "--feedback", "Shorter.")
    assert (changed["status"], changed["feedback"]) == ("changes_requested", "Shorter.")
    assert done(tmp_path, "draft", "reject", draft_id, "--feedback", "No.") == f"{draft_id} is rejected.\n"
    assert answer(tmp_path, "draft", "regenerate", draft_id, "--no-wait")["feedback"] == "No."


def test_several_ids_print_the_bulk_response_and_a_failure_is_an_exit_code(tmp_path):
    one, two = new(tmp_path), new(tmp_path)
    said = call_here(tmp_path, "draft", "approve", one, NOBODY, two, one, "--json")
    made = json.loads(said.out)

    assert (said.code, list(made)) == (1, BULK)
    assert (made["action"], made["total"], made["succeeded"], made["failed"]) == ("approve", 3, 2, 1)
    assert made["results"]["succeeded"] == [one, two]
    assert made["results"]["failed"][0]["id"] == NOBODY
    said = call_here(tmp_path, "draft", "archive", one, NOBODY)
    assert (said.code, said.out) == (1, "1 archived, 1 not.\n")
    assert said.err.startswith(f"{NOBODY}: There is no draft")
    assert done(tmp_path, "draft", "unapprove", two, two).endswith("is no longer approved but awaiting_review.\n")


def test_a_refused_action_says_what_is_possible(tmp_path):
    draft_id = new(tmp_path)
    for command, code in (("cancel", 1), ("unapprove", 1)):
        said = call_here(tmp_path, "draft", command, draft_id)
        assert_one_line(said, code)
        assert "Possible now: approve, reject, regenerate, archive." in said.err
    said = call_here(tmp_path, "draft", "approve", NOBODY)
    assert_one_line(said, 1)
    assert "There is no draft" in said.err


def test_all_that_match_are_done_after_a_yes(tmp_path):
    for number in range(3):
        new(tmp_path, f"Text {number}.", "--tag", "sea" if number else "land")
    said = call_here(tmp_path, "draft", "approve", "--all-matching", "--tag", "sea", stdin="y\n")
    assert (said.code, said.out) == (0, "2 approved.\n")
    assert "Approve 2 drafts?" in said.err
    assert statuses(tmp_path) == ["awaiting_review", "approved", "approved"]

    assert done(tmp_path, "draft", "archive", "--all-matching", "--status", "approved", "--yes") == "2 archived.\n"
    # What is archived is left alone unless it is asked for.
    made = answer(tmp_path, "draft", "approve", "--all-matching", "--yes")
    assert (made["total"], made["failed"]) == (1, 0)
    assert answer(tmp_path, "draft", "approve", "--all-matching", "--format", "BLOG")["total"] == 0


@pytest.mark.parametrize("said", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_changed(tmp_path, said):
    new(tmp_path)
    ended = call_here(tmp_path, "draft", "approve", "--all-matching", stdin=said)

    assert (ended.code, ended.out) == (1, "")
    assert "Nothing was changed." in ended.err
    assert statuses(tmp_path) == ["awaiting_review"]


@pytest.mark.parametrize(
    "args",
    [
        ["approve"],
        ["approve", NOBODY, "--all-matching"],
        ["approve", NOBODY, "--tag", "sea"],
        ["approve", "--all-matching", "--status", "unheard"],
        ["approve", "--all-matching", "--scheduled-after", "soon"],
        ["schedule", NOBODY, "--at", "whenever"],
        ["schedule", NOBODY, "--at", "2020-01-01 09:00"],
        ["schedule", NOBODY, "--at", "9999-12-31T23:59:59Z"],
        ["reschedule", NOBODY],
        ["reject", NOBODY, "--feedback", "x" * 5001],
        ["edit", NOBODY],
        ["edit", NOBODY, "--text", ""],
        ["new"],
    ],
)
def test_wrong_usage_is_told_on_one_line(tmp_path, args):
    assert_one_line(call_here(tmp_path, "draft", *args), 2)


def test_more_than_a_hundred_are_one_bulk_and_one_undo(tmp_path):
    draft_id = new(tmp_path)
    columns = ", ".join(
        str(name) for _, name, *_ in rows(tmp_path, "PRAGMA table_info(draft)") if name not in {"id", "rid"}
    )
    for number in range(120):
        change(
            tmp_path,
            f"INSERT INTO draft (id, {columns}) SELECT ?, {columns} FROM draft WHERE id = ?",
            f"{NOBODY[:-3]}{number:03}",
            draft_id,
        )

    assert done(tmp_path, "draft", "approve", "--all-matching", "--yes") == "121 approved.\n"
    assert len(rows(tmp_path, "SELECT DISTINCT bulk_id FROM draft_event WHERE action = 'approve'")) == 1
    made = answer(tmp_path, "draft", "undo")
    assert (list(made), made["action"], made["succeeded"]) == (BULK, "approve", 121)
    assert set(statuses(tmp_path)) == {"awaiting_review"}
    assert done(tmp_path, "draft", "redo") == "121 drafts: approve is redone.\n"


def approved(home: Path, draft_id: str) -> str:
    done(home, "draft", "approve", draft_id)
    return draft_id


def test_a_time_is_read_on_the_users_clock_and_shown_back(tmp_path):
    draft_id = new(tmp_path)
    change(tmp_path, "UPDATE user SET time_zone = 'Asia/Kathmandu'")
    done(tmp_path, "draft", "approve", draft_id)
    said = call_here(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30")

    assert said.code == 0
    assert " 09:30 UTC+05:45 (" in said.err
    assert said.out.startswith(f"{draft_id} is scheduled for ")
    assert " 09:30 UTC+05:45 (" in said.out
    moved = answer(tmp_path, "draft", "reschedule", draft_id, "--at", "in 3 days")
    at = datetime.fromisoformat(moved["scheduledAt"])
    assert (at - datetime.now(UTC)).days in (2, 3)
    assert answer(tmp_path, "draft", "cancel", draft_id)["scheduledAt"] is None


@pytest.mark.parametrize(
    ("said", "status"), [("n\n", "approved"), ("", "approved"), ("y\n", "scheduled"), ("\n", "scheduled")]
)
def test_on_a_terminal_a_time_counts_after_a_yes(tmp_path, said, status):
    draft_id = approved(tmp_path, new(tmp_path))
    with patch("copydesk.cli.review.on_terminal", return_value=True):
        asked = call_here(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30", stdin=said)

    assert "09:30" in asked.err.splitlines()[0]
    assert "Is this the time? [Y/n]: " in asked.err
    assert (asked.code == 0, statuses(tmp_path)) == (status == "scheduled", [status])


def test_a_time_that_is_not_to_be_asked_about_counts_at_once(tmp_path):
    draft_id = approved(tmp_path, new(tmp_path))
    with patch("copydesk.cli.review.on_terminal", return_value=True):
        assert "Is this" not in call_here(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9", "--yes").err
        assert statuses(tmp_path) == ["scheduled"]
        call_here(tmp_path, "draft", "reschedule", draft_id, "--at", "tomorrow 10", stdin="n\n")
    assert done(tmp_path, "draft", "show", draft_id).count(" 09:00 ") == 1


def test_a_time_that_a_clock_change_skips_is_kept_as_it_was_shown(tmp_path):
    draft_id = approved(tmp_path, new(tmp_path))
    change(tmp_path, "UPDATE user SET time_zone = 'Europe/Prague'")
    march = [date(datetime.now(UTC).year + 1, 3, day) for day in range(25, 32)]
    (changes,) = (day for day in march if day.isoweekday() == 7)
    said = call_here(tmp_path, "draft", "schedule", draft_id, "--at", f"{changes} 02:30")

    assert "02:30 does not exist on that day in Europe/Prague: it will be 03:00" in said.err
    kept = rows(tmp_path, "SELECT scheduled_at, scheduled_wall, scheduled_zone FROM draft")
    at = datetime(changes.year, 3, changes.day, 1, tzinfo=UTC)
    assert kept == [(int(at.timestamp()) * 10**6, f"{changes}T03:00", "Europe/Prague")]


def test_without_a_time_the_next_slot_is_taken(tmp_path):
    one, two = new(tmp_path), new(tmp_path)
    done(tmp_path, "draft", "approve", one, two)
    said = call_here(tmp_path, "draft", "schedule", one)
    assert_one_line(said, 1)
    assert "There are no slots to schedule to." in said.err

    change(tmp_path, "UPDATE user SET time_zone = 'UTC'")
    done(tmp_path, "slot", "set", "mon 09:00")
    assert done(tmp_path, "draft", "schedule", "--all-matching", "--yes") == "2 scheduled.\n"
    first, second = sorted(int(str(at)) for (at,) in rows(tmp_path, "SELECT scheduled_at FROM draft"))
    assert second - first == 7 * 24 * 3600 * 10**6


def test_a_draft_is_shown_with_what_was_decided_on_it(tmp_path):
    draft_id = new(tmp_path, "Words.", "--tag", "sea", "--platform", "x", "--image", "https://p.example/a.png")
    change(tmp_path, "UPDATE user SET time_zone = 'Asia/Kathmandu'")
    done(tmp_path, "draft", "unapprove", approved(tmp_path, draft_id), "--feedback", "Say\x1b[31m more.")
    said = done(tmp_path, "draft", "show", draft_id)
    assert (
        "\nfeedback   Say more.\ntags       sea\nplatforms  x\npicture    https://p.example/a.png (no description)\n"
        in said
    )

    done(tmp_path, "draft", "schedule", approved(tmp_path, draft_id), "--at", "tomorrow 9:30")
    said = done(tmp_path, "draft", "show", draft_id)
    assert "\ngoes out   " in said
    assert " 09:30 UTC+05:45 (" in said
    done(tmp_path, "draft", "cancel", draft_id)
    done(tmp_path, "draft", "reject", draft_id, "--feedback", "Too late.")
    done(tmp_path, "draft", "archive", draft_id)
    said = done(tmp_path, "draft", "show", draft_id)
    assert "\nrejected   Too late.\n" in said
    assert "\narchived   " in said
    assert "goes out" not in said


def test_a_draft_without_a_text_is_shown_with_why(tmp_path):
    draft_id = new(tmp_path, "Words.")
    change(
        tmp_path,
        "UPDATE draft SET text = '', status = 'generation_failed', last_error = 'Gone.', checks = '{}'",
    )
    said = done(tmp_path, "draft", "show", draft_id)

    assert "\nNo text yet.\n\nerror  Gone.\n\nSource item\n" in said


def test_a_draft_is_edited(tmp_path):
    draft_id = new(tmp_path)
    changed = answer(tmp_path, "draft", "edit", draft_id, "--text", "Better words.")

    assert (changed["text"], changed["version"]) == ("Better words.", 2)
    said = call_here(tmp_path, "draft", "edit", draft_id, "--file", "-", stdin="From a pipe.")
    assert said.out == f"{draft_id} is edited and awaiting_review.\n"
    assert answer(tmp_path, "draft", "show", draft_id)["text"] == "From a pipe."


def edited(home: Path, draft_id: str, script: str) -> Said:
    """`draft edit` on a terminal, with a Python program as the editor."""
    editor = home / "editor.py"
    editor.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{script}")
    with patch("copydesk.cli.writing._need_terminal"):
        return call_here(home, "draft", "edit", draft_id, EDITOR=f"{sys.executable} {editor}", TMPDIR=str(home))


def test_on_a_terminal_the_editor_opens(tmp_path):
    draft_id = new(tmp_path)
    said = edited(tmp_path, draft_id, "path.write_text(path.read_text() + ' And more.')")

    assert said.code == 0, said
    assert answer(tmp_path, "draft", "show", draft_id)["text"] == "The harbour opens on Monday. And more."
    said = edited(tmp_path, draft_id, "")
    assert (said.code, said.out, said.err) == (0, "", "Nothing was changed.\n")


def test_what_was_written_in_an_editor_is_kept_where_the_draft_was_changed_meanwhile(tmp_path):
    draft_id = new(tmp_path)
    database = tmp_path / "copydesk.db"
    said = edited(
        tmp_path,
        draft_id,
        "path.write_text('My words.')\nimport sqlite3\n"
        f"with sqlite3.connect({str(database)!r}) as other:\n    other.execute('UPDATE draft SET version = 9')",
    )
    assert_one_line(said, 1)
    kept = Path(said.err.split("Your text is kept in ")[1].strip().rstrip("."))

    assert "changed meanwhile" in said.err
    assert kept.read_text() == "My words."
    kept.unlink()


def test_what_was_written_in_an_editor_that_fails_is_kept(tmp_path):
    said = edited(tmp_path, new(tmp_path), "path.write_text('My words.')\nsys.exit(1)")
    assert_one_line(said, 1)
    kept = Path(said.err.split("Your text is kept in ")[1].strip().rstrip("."))

    assert kept.read_text() == "My words."
    kept.unlink()


def test_no_editor_opens_for_what_cannot_be_edited(tmp_path):
    draft_id = new(tmp_path)
    done(tmp_path, "draft", "reject", draft_id)
    said = edited(tmp_path, draft_id, "path.with_name('opened').touch()")

    assert_one_line(said, 1)
    assert "This draft is rejected; edit is not possible." in said.err
    assert not (tmp_path / "opened").exists()


def test_what_was_written_in_an_editor_is_kept_where_no_draft_can_be_made_of_it(tmp_path):
    editor = tmp_path / "editor.py"
    editor.write_text("import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('Many words.')")
    with patch("copydesk.cli.writing._need_terminal"):
        wrong = ("--tag", "x" * 51)
        said = call_here(tmp_path, "draft", "new", *wrong, EDITOR=f"{sys.executable} {editor}", TMPDIR=str(tmp_path))

    kept, error = said.err.splitlines()
    path = Path(kept.removeprefix("Your text is kept in ").rstrip("."))
    assert (said.code, path.read_text()) == (2, "Many words.")
    assert "tags[0]" in error
    path.unlink()


def test_a_change_is_undone_and_redone(tmp_path):
    draft_id = new(tmp_path)
    done(tmp_path, "draft", "approve", draft_id)

    assert done(tmp_path, "draft", "undo", draft_id) == f"{draft_id} is awaiting_review again: approve is undone.\n"
    assert answer(tmp_path, "draft", "redo")["status"] == "approved"
    assert answer(tmp_path, "draft", "undo")["status"] == "awaiting_review"
    said = call_here(tmp_path, "draft", "undo")
    assert_one_line(said, 1)
    assert "There is nothing to be undone." in said.err


def test_what_is_undone_or_redone_says_what_the_draft_is_by_then(tmp_path):
    draft_id = new(tmp_path)
    done(tmp_path, "draft", "approve", draft_id)
    said = done(tmp_path, "draft", "unapprove", draft_id, "--feedback", "Say more.")
    assert said == f"{draft_id} is no longer approved but changes_requested.\n"
    done(tmp_path, "draft", "archive", draft_id)
    done(tmp_path, "draft", "undo")
    said = done(tmp_path, "draft", "redo")
    assert said == f"{draft_id} is changes_requested and archived again: archive is redone.\n"
    done(tmp_path, "draft", "undo")
    done(tmp_path, "draft", "approve", draft_id)
    done(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9")
    done(tmp_path, "draft", "reschedule", draft_id, "--at", "tomorrow 17")
    said = done(tmp_path, "draft", "undo")
    assert said.startswith(f"{draft_id} is scheduled for ")
    assert " 09:00 " in said
    assert said.endswith(" again: reschedule is undone.\n")
    assert set(answer(tmp_path, "draft", "redo")) == DRAFT


def test_the_history_of_a_draft_reads_as_a_story(tmp_path):
    draft_id = new(tmp_path)
    done(tmp_path, "draft", "edit", draft_id, "--text", "Better words.")
    done(tmp_path, "draft", "approve", draft_id)
    done(tmp_path, "draft", "schedule", draft_id, "--at", "tomorrow 9:30")
    done(tmp_path, "draft", "undo", draft_id)
    done(tmp_path, "draft", "reject", draft_id, "--feedback", "Too\x1b[31m long.")
    lines = [line.split("ago)  ")[-1] for line in done(tmp_path, "draft", "history", draft_id).splitlines()]

    assert lines[:3] == [
        "you made it (awaiting_review)",
        "you edited the text",
        "you approved it (awaiting_review → approved)",
    ]
    assert lines[3].startswith("you scheduled it (approved → scheduled) for ")
    assert lines[3].endswith(" (undone)")
    assert lines[4] == "you undid version 4: scheduled it (scheduled → approved)"
    assert lines[5] == "you rejected it (approved → rejected) “Too long.”"
    story = answer(tmp_path, "draft", "history", draft_id)
    assert [each["version"] for each in story] == [1, 2, 3, 4, 5, 6]
    assert story[1]["after"]["text"] == "Better words."
    assert_one_line(call_here(tmp_path, "draft", "history", NOBODY), 1)


@pytest.mark.parametrize(
    "args",
    [
        ("approve", "\udcff"),
        ("approve", "one", "\udcff"),
        ("undo", "\udcff"),
        ("history", "\udcff"),
        ("diff", "\udcff"),
        ("list", "--tag", "\udcff"),
    ],
)
def test_an_argument_that_is_no_text_is_refused_on_one_line(tmp_path, args):
    assert_one_line(call_here(tmp_path, "draft", *args), 2)


@pytest.mark.parametrize("command", [("new",), ("edit", NOBODY)])
def test_a_file_without_an_end_is_not_read_to_its_end(tmp_path, command):
    read: list[int] = []

    class Endless(io.StringIO):
        name = "<stdin>"

        def read(self, size: int | None = -1) -> str:
            assert size is not None
            assert size > 0
            read.append(size)
            return "x" * size

    with patch("click.types.open_stream", lambda *_, **__: (Endless(), False)):
        said = call_here(tmp_path, "draft", *command, "--file", "-")

    assert_one_line(said, 2)
    assert read == [100_001]
