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

TRIGGERS: Final = {
    "item_counted": """CREATE TRIGGER item_counted AFTER INSERT ON item BEGIN
    UPDATE source SET item_count = item_count + 1 WHERE id = new.source_id;
END""",
    "item_uncounted": """CREATE TRIGGER item_uncounted AFTER DELETE ON item BEGIN
    UPDATE source SET item_count = item_count - 1 WHERE id = old.source_id;
END""",
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
