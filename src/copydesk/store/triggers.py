"""The triggers, as data: SQLite drops a table's triggers when a migration builds the table anew."""

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
"""What a post adds to the sums of its platform and format."""
_ADD = f"""    INSERT INTO engagement_total (user_id, platform, format, {", ".join(_SUMS)})
    SELECT new.user_id, new.platform, new.format, {", ".join(value.format("new") for value in _SUMS.values())}
    WHERE new.status = 'posted'
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)};
"""
_THERE = "user_id = old.user_id AND platform = old.platform AND format = old.format"
_SUBTRACT = f"""    UPDATE engagement_total
    SET {", ".join(f"{name} = {name} - ({value.format('old')})" for name, value in _SUMS.items())}
    WHERE {_THERE} AND old.status = 'posted';
"""  # noqa: S608 - made of the words above
_READ = "user_id, platform, format, status, likes, replies, reposts, impressions, clicks"

_COUNT = """    INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    VALUES (new.user_id, coalesce(new.source_id, ''), new.status, new.archived_at IS NOT NULL, 1)
    ON CONFLICT DO UPDATE SET drafts = drafts + 1;
"""
_COUNTED = """user_id = old.user_id AND source_id = coalesce(old.source_id, '')
        AND status = old.status AND archived = (old.archived_at IS NOT NULL)"""
_UNCOUNT = f"""    UPDATE draft_count SET drafts = drafts - 1
    WHERE {_COUNTED};
    DELETE FROM draft_count
    WHERE {_COUNTED} AND drafts = 0;
"""  # noqa: S608 - the words above
_MOVED = """old.status <> new.status OR (old.archived_at IS NULL) <> (new.archived_at IS NULL)
    OR old.source_id IS NOT new.source_id OR old.user_id <> new.user_id"""

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
    WHEN {_MOVED} BEGIN
{_UNCOUNT}{_COUNT}END""",
    "draft_uncounted": f"CREATE TRIGGER draft_uncounted AFTER DELETE ON draft BEGIN\n{_UNCOUNT}END",
    "engagement_added": f"CREATE TRIGGER engagement_added AFTER INSERT ON engagement BEGIN\n{_ADD}END",
    "engagement_changed": f"""CREATE TRIGGER engagement_changed AFTER UPDATE OF {_READ} ON engagement BEGIN
{_SUBTRACT}{_ADD}END""",
    "engagement_removed": f"CREATE TRIGGER engagement_removed AFTER DELETE ON engagement BEGIN\n{_SUBTRACT}END",
}
"""SQLite's triggers, by name. INSERT OR REPLACE would go past the second one: use ON CONFLICT DO UPDATE."""


def drop_triggers(connection: Connection) -> None:
    """Drops every trigger, so that none stands in a migration's way."""
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
    for name in names:
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')


def create_triggers(connection: Connection) -> None:
    """Makes every trigger, where there is none yet."""
    for statement in TRIGGERS.values():
        connection.exec_driver_sql(statement)
