"""Runs the migrations on the connection that it is handed, inside the transaction that stands there.

Alembic loads this file by its path. The transaction, the foreign keys and the copy made before are the business of
`copydesk.store.migrate`.
"""

from alembic import context

from copydesk.store.tables import metadata
from copydesk.store.triggers import create_triggers, drop_triggers

connection = context.config.attributes["connection"]
# Batch mode is how SQLite alters a table: it builds it anew, which takes the table's triggers with it.
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
drop_triggers(connection)
context.run_migrations()
create_triggers(connection)
