"""The triggers, as data: SQLite drops a table's triggers when a migration builds the table anew."""

from typing import Final

from sqlalchemy import Connection

TRIGGERS: Final = {
    "item_counted": """CREATE TRIGGER item_counted AFTER INSERT ON item BEGIN
    UPDATE source SET item_count = item_count + 1 WHERE id = new.source_id;
END""",
    "item_uncounted": """CREATE TRIGGER item_uncounted AFTER DELETE ON item BEGIN
    UPDATE source SET item_count = item_count - 1 WHERE id = old.source_id;
END""",
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
