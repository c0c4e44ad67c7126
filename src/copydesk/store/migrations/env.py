"""Runs the migrations on the given connection, inside the transaction it is in.

Alembic loads this file by its path. `copydesk.store.migrate` takes care of the transaction, the foreign keys and the
backup.
"""

from alembic import context

from copydesk.store.tables import metadata
from copydesk.store.triggers import create_triggers, drop_triggers

connection = context.config.attributes["connection"]
# SQLite alters a table by rebuilding it (batch mode), which drops its triggers.
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
drop_triggers(connection)
context.run_migrations()
create_triggers(connection)
