"""Tests for the SQL of the store as PostgreSQL gets it."""

import pytest

from copydesk.store.postgresql.connection import translate, translate_placeholders


@pytest.mark.parametrize(
    ("sql", "translated"),
    [
        ("SELECT id FROM item WHERE id = ? AND state = ?", "SELECT id FROM item WHERE id = %s AND state = %s"),
        ("user_id = :user AND id < :before", "user_id = %(user)s AND id < %(before)s"),
        ("SELECT '%'", "SELECT '%%'"),
        ("CAST(a AS TEXT)::bigint", "CAST(a AS TEXT)::bigint"),
    ],
)
def test_placeholders_are_those_of_psycopg(sql: str, translated: str) -> None:
    assert translate_placeholders(sql) == translated


@pytest.mark.parametrize(
    ("sql", "translated"),
    [
        ("FROM engagement INDEXED BY ix_engagement JOIN draft", "FROM engagement JOIN draft"),
        ("WHERE +draft.user_id = %(user)s AND (+rid > 1)", "WHERE draft.user_id = %(user)s AND (rid > 1)"),
        ("version = version + 1", "version = version + 1"),
        ("CROSS JOIN draft ON draft.id = newest.id", "JOIN draft ON draft.id = newest.id"),
        (
            "url IS %s AND redo_rid IS NOT %(seen)s",
            "url IS NOT DISTINCT FROM %s AND redo_rid IS DISTINCT FROM %(seen)s",
        ),
        ("url IS NULL OR url IS NOT NULL", "url IS NULL OR url IS NOT NULL"),
        ("substr(draft.id, -4) = %s", "right(draft.id, 4) = %s"),
        ("draft_words MATCH %(words)s", "draft_words @@ %(words)s"),
    ],
)
def test_hints_to_sqlite_are_dropped(sql: str, translated: str) -> None:
    assert translate(sql) == translated
