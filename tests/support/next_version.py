"""The version of Copydesk after this one, as far as it upgrades a database on PostgreSQL."""

from unittest.mock import patch

from copydesk.store.postgresql import database as database_module
from copydesk.store.postgresql import schema
from copydesk.store.postgresql.database import open_postgresql

NEXT_REVISION = "9000"
_UPGRADE = """ALTER TABLE draft ADD COLUMN mood TEXT DEFAULT 'calm' NOT NULL;
ALTER TABLE item ADD COLUMN mood TEXT;
CREATE TABLE draft_mood (draft_id TEXT COLLATE "C" NOT NULL REFERENCES draft (id) ON DELETE CASCADE, mood TEXT);
CREATE INDEX ix_draft_user_id_mood ON draft (user_id, mood);
"""


async def upgrade_to_next_version(url: str, busy_timeout: float = 5) -> None:
    """Upgrade the tables of the database as the next version does when it opens it."""
    fingerprints = {**schema.FINGERPRINTS, NEXT_REVISION: "f"}
    with (
        patch.multiple(
            schema, FINGERPRINTS=fingerprints, UPGRADES={NEXT_REVISION: _UPGRADE}, HEAD_REVISION=NEXT_REVISION
        ),
        patch.object(database_module, "HEAD_REVISION", NEXT_REVISION),
    ):
        database = open_postgresql(url, busy_timeout=busy_timeout)
        try:
            await database.prepare()
        finally:
            await database.close()
