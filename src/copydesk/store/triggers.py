"""Triggers, as data: SQLite drops the triggers of a table when a migration rebuilds it."""

from typing import Final

from sqlalchemy import Connection

_METRICS: Final = ("likes", "replies", "reposts", "impressions", "clicks")
_SUMS: Final = {
    "posts": "1",
    "measured": "coalesce({0}.interactions, {0}.impressions) IS NOT NULL",
    "rated": "{0}.engagement_rate IS NOT NULL",
    **{name: f"coalesce({{0}}.{name}, 0)" for name in _METRICS},
    "rated_interactions": "iif({0}.engagement_rate IS NULL, 0, min({0}.interactions, {0}.impressions))",
    "rated_impressions": "iif({0}.engagement_rate IS NULL, 0, {0}.impressions)",
}
"""The contribution of a post to the totals of its platform and format."""
_QUARTER_HOUR_SUMS: Final = _SUMS | {
    "with_interactions": "{0}.interactions IS NOT NULL",
    **{f"with_{name}": f"{{0}}.{name} IS NOT NULL" for name in _METRICS},
}
_KIND: Final = {name: f"{{0}}.{name}" for name in ("user_id", "platform", "format")}
# Quarters of an hour since 1970; posts whose time of publication is unknown have one of their own.
_QUARTER_HOUR: Final = {"quarter_hour": "coalesce({0}.published_at / 900000000, -1)"}


def _add(table: str, key: dict[str, str], sums: dict[str, str]) -> str:
    """Return the statement that adds the new post to its row of the totals."""
    values = ", ".join(value.format("new") for value in (key | sums).values())
    return f"""    INSERT INTO {table} ({", ".join(key | sums)})
    SELECT {values}
    WHERE new.status = 'posted'
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in sums)};
"""


def _subtract(table: str, key: dict[str, str], sums: dict[str, str]) -> str:
    """Return the statement that subtracts the old post from its row of the totals."""
    return f"""    UPDATE {table}
    SET {", ".join(f"{name} = {name} - ({value.format('old')})" for name, value in sums.items())}
    WHERE {" AND ".join(f"{name} = {value.format('old')}" for name, value in key.items())} AND old.status = 'posted';
"""  # noqa: S608 - made of the words above


_ADD = _add("engagement_total", _KIND, _SUMS) + _add(
    "engagement_quarter_hour", _KIND | _QUARTER_HOUR, _QUARTER_HOUR_SUMS
)
_SUBTRACT = _subtract("engagement_total", _KIND, _SUMS) + _subtract(
    "engagement_quarter_hour", _KIND | _QUARTER_HOUR, _QUARTER_HOUR_SUMS
)
_TOTAL_INPUTS = "user_id, platform, format, status, likes, replies, reposts, impressions, clicks, published_at"
# A delivery was published when it was sent, a post recorded by hand when its draft was marked as posted.
_DATE_RECORD = """    UPDATE engagement SET published_at = (SELECT posted_at FROM draft WHERE id = new.draft_id)
    WHERE id = new.id AND new.published_at IS NULL
        AND (SELECT posted_at FROM draft WHERE id = new.draft_id) IS NOT NULL;
"""
_DATE_SENT = """    UPDATE engagement
    SET published_at = coalesce(new.sent_at, (SELECT posted_at FROM draft WHERE id = new.draft_id))
    WHERE id = new.id;
"""
_DATE_RECORDS = """    UPDATE engagement SET published_at = new.posted_at
    WHERE draft_id = new.id
        AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.id = engagement.id AND sent_at IS NOT NULL);
"""

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

_NOW: Final = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"
"""For changes whose rows hold no time of their own."""


def _event(type_: str, at: str, data: str, *, source: str = "", number: str = "1") -> str:
    """Return the statement that inserts an event for each row of `source`; all arguments are SQL.

    `number` counts these rows from 1.
    """
    return f"""    INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + {number},
        {type_}, {at}, json_object({data})
    {source};
"""  # noqa: S608 - the words below


_DRAFT_CREATED = _event(
    "'draft.created'",
    "new.at",
    """'draftId', new.draft_id, 'by', new.who, 'status', status, 'format', format, 'origin', origin,
        'sourceId', source_id, 'runId', run_id""",
    source="FROM draft WHERE id = new.draft_id",
)
_DRAFT_CHANGED = _event(
    "'draft.changed'",
    "new.at",
    """'draftId', new.draft_id, 'version', new.version, 'by', new.who, 'kind', new.kind, 'action', new.action,
        'statusBefore', coalesce(json_extract(new.before, '$.status'), status), 'status', status,
        'bulkId', new.bulk_id""",
    source="FROM draft WHERE id = new.draft_id",
)
# Only of a schedule that passed: an undo may lead back to this status.
_DRAFT_MISSED = _event(
    "'draft.missed'",
    "new.at",
    """'draftId', new.draft_id, 'version', new.version,
        'scheduledAt', strftime('%Y-%m-%dT%H:%M:%fZ', scheduled_at / 1e6, 'unixepoch')""",
    source="FROM draft WHERE id = new.draft_id AND new.action = 'late' AND new.kind = 'fixed'",
)
_WEBHOOK_DISABLED = _event("'webhook.disabled'", "new.disabled_at", "'webhookId', new.id, 'failures', new.failures")
_RUN_STARTED = _event("'run.started'", "new.started_at", "'runId', new.id")
_RUN_PROGRESSED = _event("'run.progressed'", _NOW, "'runId', new.id, 'stage', new.stage")
_RUN_ENDED = _event(
    "'run.ended'",
    "new.ended_at",
    """'runId', new.id, 'status', new.status,
        'itemsIngested', coalesce(json_extract(new.stats, '$.itemsNew'), 0),
        'draftsCreated', coalesce(json_extract(new.stats, '$.draftsCreated'), 0)""",
)
_HEALTH_CHANGED = _event(
    "'source.health_changed'",
    "max(coalesce(new.last_fetch, 0), new.updated_at)",
    "'sourceId', new.id, 'healthBefore', old.health, 'health', new.health, 'failCount', new.fail_count",
)
_DELIVERY = "'deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account"
_DELIVERY_ROW = "FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id"
_NEEDS_USER = "'delivery.needs_user'"
_DELIVERY_ENDED = _event(
    "'delivery.ended'",
    _NOW,
    f"{_DELIVERY}, 'outcome', iif(new.state = 'sent', 'posted', new.state)",
    source=f"{_DELIVERY_ROW} AND new.state IN ('sent', 'failed', 'abandoned')",
)
_OUTCOME_UNKNOWN = _event(
    "'delivery.outcome_unknown'", _NOW, _DELIVERY, source=f"{_DELIVERY_ROW} AND new.state = 'unknown'"
)
_NEEDS_DECISION = _event(
    _NEEDS_USER,
    _NOW,
    f"{_DELIVERY}, 'reason', 'outcome_unknown'",
    source=f"{_DELIVERY_ROW} AND new.state = 'needs_user'",
)
_NEEDS_ACCOUNT = _event(_NEEDS_USER, _NOW, f"{_DELIVERY}, 'reason', 'account'", source=_DELIVERY_ROW)
_NEEDS_LOGIN = _event(
    _NEEDS_USER,
    _NOW,
    f"{_DELIVERY}, 'reason', 'account'",
    source="""FROM delivery JOIN engagement ON engagement.id = delivery.id
    WHERE delivery.account_id = new.id AND state IN ('planned', 'sending', 'unknown')""",
    number="row_number() OVER (ORDER BY delivery.id)",
)
_HAS_TROUBLE = "EXISTS (SELECT 1 FROM account WHERE id = new.account_id AND trouble IS NOT NULL)"
_QUEUE = """    INSERT INTO webhook_delivery (webhook_id, event_id, user_id, next_at)
    SELECT id, new.id, new.user_id, 0 FROM webhook
    WHERE user_id = new.user_id AND disabled_at IS NULL
        AND (types IS NULL OR EXISTS (SELECT 1 FROM json_each(types) WHERE value = new.type));
"""

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
    "engagement_added": f"CREATE TRIGGER engagement_added AFTER INSERT ON engagement BEGIN\n{_ADD}{_DATE_RECORD}END",
    "engagement_delivery_sent": f"""CREATE TRIGGER engagement_delivery_sent AFTER INSERT ON delivery
WHEN new.sent_at IS NOT NULL BEGIN
{_DATE_SENT}END""",
    "engagement_delivery_changed": f"""CREATE TRIGGER engagement_delivery_changed AFTER UPDATE OF sent_at ON delivery
WHEN new.sent_at IS NOT old.sent_at BEGIN
{_DATE_SENT}END""",
    "engagement_draft_posted": f"""CREATE TRIGGER engagement_draft_posted AFTER UPDATE OF posted_at ON draft
WHEN new.posted_at IS NOT old.posted_at BEGIN
{_DATE_RECORDS}END""",
    "engagement_changed": f"""CREATE TRIGGER engagement_changed AFTER UPDATE OF {_TOTAL_INPUTS} ON engagement BEGIN
{_SUBTRACT}{_ADD}END""",
    "send_removed": """CREATE TRIGGER send_removed AFTER DELETE ON delivery_event WHEN old.what = 'sending' BEGIN
    INSERT INTO removed_send (delivery_id, at) VALUES (old.delivery_id, old.at) ON CONFLICT DO NOTHING;
END""",
    "engagement_removed": f"CREATE TRIGGER engagement_removed AFTER DELETE ON engagement BEGIN\n{_SUBTRACT}END",
    "event_draft_created": f"""CREATE TRIGGER event_draft_created AFTER INSERT ON draft_event
WHEN new.action = 'create' BEGIN
{_DRAFT_CREATED}END""",
    "event_draft_changed": f"""CREATE TRIGGER event_draft_changed AFTER INSERT ON draft_event
WHEN new.action <> 'create' BEGIN
{_DRAFT_CHANGED}{_DRAFT_MISSED}END""",
    "event_run_started": f"""CREATE TRIGGER event_run_started AFTER UPDATE OF status ON run
WHEN new.status = 'running' AND old.status <> 'running' BEGIN
{_RUN_STARTED}END""",
    "event_run_progressed": f"""CREATE TRIGGER event_run_progressed AFTER UPDATE OF stage ON run
WHEN new.stage IS NOT NULL AND new.stage IS NOT old.stage BEGIN
{_RUN_PROGRESSED}END""",
    "event_run_ended": f"""CREATE TRIGGER event_run_ended AFTER UPDATE OF ended_at ON run
WHEN new.ended_at IS NOT NULL AND old.ended_at IS NULL BEGIN
{_RUN_ENDED}END""",
    "event_delivery_changed": f"""CREATE TRIGGER event_delivery_changed AFTER UPDATE OF state ON delivery
WHEN new.state <> old.state BEGIN
{_DELIVERY_ENDED}{_OUTCOME_UNKNOWN}{_NEEDS_DECISION}END""",
    "event_delivery_added": f"""CREATE TRIGGER event_delivery_added AFTER INSERT ON delivery
WHEN {_HAS_TROUBLE} BEGIN
{_NEEDS_ACCOUNT}END""",
    "event_delivery_restarted": f"""CREATE TRIGGER event_delivery_restarted AFTER UPDATE OF state ON delivery
WHEN new.state = 'planned' AND old.state IN ('failed', 'abandoned') AND {_HAS_TROUBLE} BEGIN
{_NEEDS_ACCOUNT}END""",
    # Not while the user is deleted with everything else.
    "event_delivery_disconnected": f"""CREATE TRIGGER event_delivery_disconnected AFTER UPDATE OF account_id ON delivery
WHEN new.account_id IS NULL AND old.account_id IS NOT NULL AND new.state IN ('planned', 'sending', 'unknown')
    AND EXISTS (SELECT 1 FROM user WHERE id = new.user_id) BEGIN
{_NEEDS_ACCOUNT}END""",  # noqa: S608 - the words above
    "event_account_unusable": f"""CREATE TRIGGER event_account_unusable AFTER UPDATE OF trouble ON account
WHEN new.trouble IS NOT NULL AND old.trouble IS NULL BEGIN
{_NEEDS_LOGIN}END""",
    "event_health_changed": f"""CREATE TRIGGER event_health_changed AFTER UPDATE OF health ON source
WHEN new.health <> old.health BEGIN
{_HEALTH_CHANGED}END""",
    "event_webhook_disabled": f"""CREATE TRIGGER event_webhook_disabled AFTER UPDATE OF disabled_at ON webhook
WHEN new.disabled_at IS NOT NULL AND old.disabled_at IS NULL BEGIN
{_WEBHOOK_DISABLED}END""",
    "event_queued": f"""CREATE TRIGGER event_queued AFTER INSERT ON event
WHEN EXISTS (SELECT 1 FROM webhook WHERE user_id = new.user_id AND disabled_at IS NULL) BEGIN
{_QUEUE}END""",  # noqa: S608 - the words above
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
