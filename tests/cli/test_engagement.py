"""Tests for the engagement commands."""

import csv
import json
from pathlib import Path

import pytest

from cli_runner import assert_one_line_error, run_in_process
from desk_fixtures import execute_sql, query_db

DRAFT_ID = "01890000-0000-7000-8000-000000000001"
UNKNOWN_ID = "01890000-0000-7000-8000-000000000009"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A desk with one draft."""
    assert run_in_process(tmp_path, "draft", "list", "--json").code == 0
    ((user,),) = query_db(tmp_path, "SELECT id FROM user")
    item = "01890000-0000-7000-8000-000000000002"
    execute_sql(
        tmp_path,
        "INSERT INTO item (id, user_id, state, story_id, published, seen, ident, alias, title) "
        "VALUES (?1, ?2, 'drafted', ?1, 0, 0, 'i', 'a', 'A title')",
        item,
        user,
    )
    execute_sql(
        tmp_path,
        "INSERT INTO draft (id, user_id, item_id, story_id, format, status, origin, confidence, text, created_at, "
        "updated_at) VALUES (?, ?, ?, 's', 'SHORT', 'posted', 'direct', 0.5, 'A \x1b[31mferry opens.', 0, 0)",
        DRAFT_ID,
        user,
        item,
    )
    return tmp_path


def test_record_prints_json(home):
    result = run_in_process(
        home, "engagement", "record", DRAFT_ID, "x", "--likes", "3", "--impressions", "100", "--json"
    )

    assert (result.code, result.err) == (0, "")
    record = json.loads(result.out)
    assert (record["draftId"], record["platform"], record["status"]) == (DRAFT_ID, "x", "posted")
    assert (record["likes"], record["impressions"], record["clicks"], record["engagementRate"]) == (3, 100, None, 0.03)
    assert (len(record), record["account"]) == (18, "")


def test_record_prints_one_line(home):
    args = ("--likes", "1200", "--clicks", "0", "--impressions", "10000", "--post-id", "7")
    result = run_in_process(home, "engagement", "record", DRAFT_ID, "x", *args)

    assert result == (0, "x: posted, likes 1,200, impressions 10,000, clicks 0, rate 12.00%.\n", "")


def test_summary_as_text_and_json(home):
    run_in_process(home, "engagement", "record", DRAFT_ID, "x", "--likes", "3", "--impressions", "100")
    run_in_process(home, "engagement", "record", DRAFT_ID, "mastodon", "--likes", "4")
    result = run_in_process(home, "engagement", "show")

    assert (result.code, result.err) == (0, "")
    assert "3.00% over 1 post with known impressions" in result.out
    assert "A ferry opens." in result.out
    assert "\x1b" not in result.out
    summary = json.loads(run_in_process(home, "engagement", "show", "--top", "1", "--json").out)
    assert (summary["totalPosted"], summary["totalLikes"], len(summary["topPosts"])) == (2, 7, 1)


def test_metrics_count_as_posted_until_reset(home):
    execute_sql(home, "UPDATE draft SET status = 'approved'")

    def count_posted() -> int:
        return int(json.loads(run_in_process(home, "engagement", "show", "--json").out)["totalPosted"])

    assert "posted it by hand" in " ".join(run_in_process(home, "engagement", "record", "--help").out.split())
    run_in_process(home, "engagement", "record", DRAFT_ID, "x", "--likes", "3")
    assert count_posted() == 1
    assert query_db(home, "SELECT status FROM draft") == [("approved",)]
    run_in_process(home, "engagement", "record", DRAFT_ID, "x", "--status", "pending")
    assert count_posted() == 0


def test_summary_without_posts(home):
    result = run_in_process(home, "engagement", "show")

    assert result.code == 0
    assert "unknown" in result.out


def test_trends_as_text_and_json(home):
    run_in_process(home, "engagement", "record", DRAFT_ID, "x", "--likes", "3", "--impressions", "100")
    execute_sql(home, "UPDATE draft SET posted_at = unixepoch() * 1000000")
    result = run_in_process(home, "engagement", "trends", "--days", "7")

    assert (result.code, result.err) == (0, "")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["posts", "1"] in lines
    assert ["engagement", "rate", "3.00%"] in lines
    assert ["clicks", "not", "reported"] in lines
    assert ["x", "1", "post", "3.0", "interactions", "per", "post", "3.00%"] in lines
    assert "No time stands out yet: 0 of 40 posts needed for a test." in result.out
    trends = json.loads(run_in_process(home, "engagement", "trends", "--days", "0", "--metric", "rate", "--json").out)
    assert (trends["metric"], trends["before"], trends["figures"]["likes"]) == ("rate", None, 3)


def test_changes_say_that_new_posts_still_gain(home, monkeypatch):
    monkeypatch.setattr("copydesk.model.engagement.MIN_COMPARED_POSTS", 1)
    earlier = DRAFT_ID[:-1] + "3"
    columns = "user_id, item_id, story_id, format, status, origin, confidence, text, created_at, updated_at"
    execute_sql(home, f"INSERT INTO draft (id, {columns}) SELECT ?, {columns} FROM draft", earlier)
    for draft_id, likes, days in ((DRAFT_ID, 3, 0), (earlier, 6, 8)):
        run_in_process(home, "engagement", "record", draft_id, "x", "--likes", str(likes))
        execute_sql(
            home, f"UPDATE draft SET posted_at = (unixepoch() - {days} * 86400) * 1000000 WHERE id = ?", draft_id
        )
    result = run_in_process(home, "engagement", "trends", "--days", "7")

    assert "-50%" in result.out
    assert "Posts of the last 48 hours still gain interactions." in result.out


def test_export_as_csv_and_json(home, tmp_path):
    execute_sql(home, "UPDATE draft SET text = '=HYPERLINK(1)\x1b[31m', posted_at = 1767258000000000")
    run_in_process(home, "engagement", "record", DRAFT_ID, "x", "--likes", "3", "--impressions", "100")
    result = run_in_process(home, "engagement", "export")

    assert (result.code, result.err) == (0, "")
    (row,) = csv.DictReader(result.out.splitlines())
    assert (row["draftId"], row["likes"], row["clicks"], row["interactions"]) == (DRAFT_ID, "3", "", "3")
    assert (row["engagementRate"], row["publishedAt"]) == ("0.03", "2026-01-01T09:00:00.000Z")
    assert row["text"] == "'=HYPERLINK(1)"
    target = tmp_path / "posts.json"
    assert run_in_process(home, "engagement", "export", str(target)).out == ""
    (post,) = json.loads(target.read_text())
    assert (post["likes"], post["clicks"], list(post)) == (3, None, list(row))


def test_format_that_is_given_counts_more_than_the_name_of_the_file(home, tmp_path):
    target = tmp_path / "posts.json"
    run_in_process(home, "engagement", "export", "-f", "csv", str(target))
    assert target.read_text().startswith("id,draftId,text,")


def test_export_of_no_posts_has_a_header(home):
    assert run_in_process(home, "engagement", "export").out.startswith("id,draftId,text,")
    assert run_in_process(home, "engagement", "export", "-f", "json").out == "[]\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("record", DRAFT_ID, "x", "--likes", "-1"), 2, "likes takes a whole number"),
        (("record", DRAFT_ID, "x", "--likes", "many"), 2, "--likes"),
        (("record", DRAFT_ID, "x", "--status", "sent"), 2, "--status"),
        (("record", DRAFT_ID, " "), 2, "PLATFORM takes 1 to 50"),
        (("record", DRAFT_ID), 2, "PLATFORM"),
        (("record", UNKNOWN_ID, "x", "--likes", "1"), 3, "No draft"),
        (("trends", "--days", "-1"), 2, "days takes a whole number from 0 to 3650"),
        (("export", "--days", "9999"), 2, "days takes a whole number from 0 to 3650"),
        (("show", "--top", "51"), 2, "top takes a whole number from 1 to 50"),
    ],
)
def test_invalid_usage_is_one_line(home, args, code, message):
    result = run_in_process(home, "engagement", *args)

    assert_one_line_error(result, code)
    assert message in result.err
