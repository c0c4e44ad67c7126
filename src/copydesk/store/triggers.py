"""Triggers, as data: SQLite drops the triggers of a table when a migration rebuilds it."""

from typing import Final

from sqlalchemy import Connection

_SUMS: Final = {
    "posts": "1",
    "measured": "coalesce({0}.interactions, {0}.impressions) IS NOT NULL",
    "rated": "{0}.engagement_rate IS NOT NULL",
    **{name: f"coalesce({{0}}.{name}, 0)" for name in ("likes", "replies", "reposts", "impressions", "clicks")},
    "rated_interactions": "iif({0}.engagement_rate IS NULL, 0, min({0}.interactions, {0}.impressions))",
    "rated_impressions": "iif({0}.engagement_rate IS NULL, 0, {0}.impressions)",
}
"""The contribution of a post to the totals of its platform and format."""
_ADD = f"""    INSERT INTO engagement_total (user_id, platform, format, {", ".join(_SUMS)})
    SELECT new.user_id, new.platform, new.format, {", ".join(value.format("new") for value in _SUMS.values())}
    WHERE new.status = 'posted'
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)};
"""
_TOTAL_ROW = "user_id = old.user_id AND platform = old.platform AND format = old.format"
_SUBTRACT = f"""    UPDATE engagement_total
    SET {", ".join(f"{name} = {name} - ({value.format('old')})" for name, value in _SUMS.items())}
    WHERE {_TOTAL_ROW} AND old.status = 'posted';
"""  # noqa: S608 - made of the words above
_TOTAL_INPUTS = "user_id, platform, format, status, likes, replies, reposts, impressions, clicks"

_COUNT = """    INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    VALUES (new.user_id, coalesce(new.source_id, ''), new.status, new.archived_at IS NOT NULL, 1)
    ON CONFLICT DO UPDATE SET drafts = drafts + 1;
"""
_COUNT_ROW = """user_id = old.user_id AND source_id = coalesce(old.source_id, '')
        AND status = old.status AND archived = (old.archived_at IS NOT NULL)"""
_UNCOUNT = f"""    UPDATE draft_count SET drafts = drafts - 1
    WHERE {_COUNT_ROW};
    DELETE FROM draft_count
    WHERE {_COUNT_ROW} AND drafts = 0;
"""  # noqa: S608 - the words above
_COUNT_CHANGED = """old.status <> new.status OR (old.archived_at IS NULL) <> (new.archived_at IS NULL)
    OR old.source_id IS NOT new.source_id OR old.user_id <> new.user_id"""

CREATE_FTS_INDEX: Final = """CREATE VIRTUAL TABLE draft_words USING fts5(
    text, about, source_id,
    content = 'draft', content_rowid = 'rid', tokenize = "unicode61 remove_diacritics 2"
)"""
"""The full text index of the drafts. It stores no text itself, so deletions must pass it the exact old values."""

_INDEX = """    INSERT INTO draft_words (rowid, text, about, source_id)
    VALUES (new.rid, new.text, new.about, new.source_id);
"""
_UNINDEX = """    INSERT INTO draft_words (draft_words, rowid, text, about, source_id)
    VALUES ('delete', old.rid, old.text, old.about, old.source_id);
"""
_INDEX_CHANGED = "old.text <> new.text OR old.about <> new.about OR old.source_id IS NOT new.source_id"
_TAG_LINES = """SELECT group_concat(name, char(10)) || char(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id"""
_SET_ABOUT = f"""UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || char(10)
        || coalesce(({_TAG_LINES}), '')"""  # noqa: S608 - the words above

_RUN_SUMS: Final = {
    "ended": "1",
    "succeeded": "{0}.status = 'succeeded'",
    "microseconds": "max(0, {0}.ended_at - {0}.started_at)",
    "items": "coalesce(json_extract({0}.stats, '$.itemsNew'), 0)",
    "drafts": "coalesce(json_extract({0}.stats, '$.draftsCreated'), 0)",
}
"""The contribution of a finished run to the totals."""
_ERROR_CATEGORY = "iif({0}.status = 'interrupted', 'interrupted', coalesce({0}.error_category, 'error'))"
_HAS_FAILED = "{0}.ended_at IS NOT NULL AND {0}.status IN ('failed', 'interrupted')"
_RUN_ADD = f"""    INSERT INTO run_total (user_id, {", ".join(_RUN_SUMS)})
    SELECT new.user_id, {", ".join(value.format("new") for value in _RUN_SUMS.values())} WHERE new.ended_at IS NOT NULL
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in _RUN_SUMS)};
    INSERT INTO run_error (user_id, category, runs)
    SELECT new.user_id, {_ERROR_CATEGORY.format("new")}, 1 WHERE {_HAS_FAILED.format("new")}
    ON CONFLICT DO UPDATE SET runs = runs + 1;
"""  # noqa: S608 - made of the words above
_RUN_SUBTRACT = f"""    UPDATE run_total
    SET {", ".join(f"{name} = {name} - ({value.format('old')})" for name, value in _RUN_SUMS.items())}
    WHERE user_id = old.user_id AND old.ended_at IS NOT NULL;
    UPDATE run_error SET runs = runs - 1
    WHERE user_id = old.user_id AND category = {_ERROR_CATEGORY.format("old")} AND {_HAS_FAILED.format("old")};
"""  # noqa: S608 - made of the words above

TRIGGERS: Final = {
    "item_counted": """CREATE TRIGGER item_counted AFTER INSERT ON item BEGIN
    UPDATE source SET item_count = item_count + 1 WHERE id = new.source_id;
END""",
    "item_uncounted": """CREATE TRIGGER item_uncounted AFTER DELETE ON item BEGIN
    UPDATE source SET item_count = item_count - 1 WHERE id = old.source_id;
END""",
    "draft_counted": f"CREATE TRIGGER draft_counted AFTER INSERT ON draft BEGIN\n{_COUNT}END",
    "draft_counted_anew": f"""CREATE TRIGGER draft_counted_anew
    AFTER UPDATE OF user_id, source_id, status, archived_at ON draft
    WHEN {_COUNT_CHANGED} BEGIN
{_UNCOUNT}{_COUNT}END""",
    "draft_uncounted": f"CREATE TRIGGER draft_uncounted AFTER DELETE ON draft BEGIN\n{_UNCOUNT}END",
    "draft_indexed": f"CREATE TRIGGER draft_indexed AFTER INSERT ON draft BEGIN\n{_INDEX}END",
    "draft_indexed_anew": f"""CREATE TRIGGER draft_indexed_anew AFTER UPDATE OF text, about, source_id ON draft
    WHEN {_INDEX_CHANGED} BEGIN
{_UNINDEX}{_INDEX}END""",
    "draft_forgotten": f"CREATE TRIGGER draft_forgotten AFTER DELETE ON draft BEGIN\n{_UNINDEX}END",
    "item_retitled": f"""CREATE TRIGGER item_retitled AFTER UPDATE OF title ON item WHEN old.title <> new.title BEGIN
    {_SET_ABOUT} WHERE item_id = new.id;
END""",
    # A new draft is inserted with its tags in `about`: reindexing it per tag would cost as much as everything else.
    "draft_tagged": f"""CREATE TRIGGER draft_tagged AFTER INSERT ON draft_tag BEGIN
    {_SET_ABOUT} WHERE id = new.draft_id
        AND NOT instr(about, (SELECT char(10) || name || char(10) FROM tag WHERE id = new.tag_id));
END""",  # noqa: S608 - the words above
    "draft_untagged": f"""CREATE TRIGGER draft_untagged AFTER DELETE ON draft_tag BEGIN
    {_SET_ABOUT} WHERE id = old.draft_id;
END""",
    "tag_renamed": f"""CREATE TRIGGER tag_renamed AFTER UPDATE OF name ON tag WHEN old.name <> new.name BEGIN
    {_SET_ABOUT} WHERE id IN (SELECT draft_id FROM draft_tag WHERE tag_id = new.id);
END""",  # noqa: S608 - the words above
    "run_added": f"CREATE TRIGGER run_added AFTER INSERT ON run BEGIN\n{_RUN_ADD}END",
    # Progress of a running run is stored every second and changes no total.
    "run_changed": f"""CREATE TRIGGER run_changed AFTER UPDATE ON run
WHEN old.ended_at IS NOT NULL OR new.ended_at IS NOT NULL BEGIN
{_RUN_SUBTRACT}{_RUN_ADD}END""",
    "run_removed": f"CREATE TRIGGER run_removed AFTER DELETE ON run BEGIN\n{_RUN_SUBTRACT}END",
    "engagement_added": f"CREATE TRIGGER engagement_added AFTER INSERT ON engagement BEGIN\n{_ADD}END",
    "engagement_changed": f"""CREATE TRIGGER engagement_changed AFTER UPDATE OF {_TOTAL_INPUTS} ON engagement BEGIN
{_SUBTRACT}{_ADD}END""",
    "send_removed": """CREATE TRIGGER send_removed AFTER DELETE ON delivery_event WHEN old.what = 'sending' BEGIN
    INSERT INTO removed_send (delivery_id, at) VALUES (old.delivery_id, old.at) ON CONFLICT DO NOTHING;
END""",
    "engagement_removed": f"CREATE TRIGGER engagement_removed AFTER DELETE ON engagement BEGIN\n{_SUBTRACT}END",
}
"""By name. INSERT OR REPLACE does not fire delete triggers: use ON CONFLICT DO UPDATE."""


def drop_triggers(connection: Connection) -> None:
    """Drop every trigger, so that none interferes with a migration."""
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
    for name in names:
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')


def create_triggers(connection: Connection) -> None:
    """Create every trigger. None may exist yet."""
    for statement in TRIGGERS.values():
        connection.exec_driver_sql(statement)
