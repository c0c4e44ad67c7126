"""The triggers of `copydesk.store.triggers` in PL/pgSQL. The full text index needs none: it is a generated column."""

from typing import Final

_METRICS: Final = ("likes", "replies", "reposts", "impressions", "clicks")
_SUMS: Final = {
    "posts": "1",
    "measured": "(coalesce({0}.interactions, {0}.impressions) IS NOT NULL)::int",
    "rated": "({0}.engagement_rate IS NOT NULL)::int",
    **{name: f"coalesce({{0}}.{name}, 0)" for name in _METRICS},
    "rated_interactions": "CASE WHEN {0}.engagement_rate IS NULL THEN 0"
    " ELSE least({0}.interactions, {0}.impressions) END",
    "rated_impressions": "CASE WHEN {0}.engagement_rate IS NULL THEN 0 ELSE {0}.impressions END",
}
_QUARTER_HOUR_SUMS: Final = _SUMS | {
    "with_interactions": "({0}.interactions IS NOT NULL)::int",
    **{f"with_{name}": f"({{0}}.{name} IS NOT NULL)::int" for name in _METRICS},
}
_KIND: Final = {name: f"{{0}}.{name}" for name in ("user_id", "platform", "format")}
_QUARTER_HOUR: Final = {"quarter_hour": "coalesce({0}.published_at / 900000000, -1)"}


def _add(table: str, key: dict[str, str], sums: dict[str, str], condition: str) -> str:
    """Return the statement that adds the new row to its row of the totals."""
    values = ", ".join(value.format("new") for value in (key | sums).values())
    assignments = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    return f"""INSERT INTO {table} ({", ".join(key | sums)}) SELECT {values} WHERE {condition.format("new")}
    ON CONFLICT ({", ".join(key)}) DO UPDATE SET {assignments};
"""


def _subtract(table: str, key: dict[str, str], sums: dict[str, str], condition: str) -> str:
    """Return the statement that subtracts the old row from its row of the totals."""
    assignments = ", ".join(f"{name} = {name} - ({value.format('old')})" for name, value in sums.items())
    row = " AND ".join(f"{name} = {value.format('old')}" for name, value in key.items())
    return f"""UPDATE {table} SET {assignments} WHERE {row} AND {condition.format("old")};
"""  # noqa: S608 - made of the words above


_IS_POSTED: Final = "{0}.status = 'posted'"
_ENGAGEMENT_TOTALS: Final = (
    ("engagement_total", _KIND, _SUMS, _IS_POSTED),
    ("engagement_quarter_hour", _KIND | _QUARTER_HOUR, _QUARTER_HOUR_SUMS, _IS_POSTED),
)
_ADD: Final = "".join(_add(*total) for total in _ENGAGEMENT_TOTALS)
_SUBTRACT: Final = "".join(_subtract(*total) for total in _ENGAGEMENT_TOTALS)
_TOTAL_INPUTS: Final = "user_id, platform, format, status, likes, replies, reposts, impressions, clicks, published_at"

_DATE_RECORD: Final = """UPDATE engagement SET published_at = draft.posted_at FROM draft WHERE engagement.id = new.id
    AND new.published_at IS NULL AND draft.id = new.draft_id AND draft.posted_at IS NOT NULL;
"""
_DATE_SENT: Final = """UPDATE engagement
    SET published_at = coalesce(new.sent_at, (SELECT posted_at FROM draft WHERE id = new.draft_id)) WHERE id = new.id;
"""
_DATE_RECORDS: Final = """UPDATE engagement SET published_at = new.posted_at WHERE draft_id = new.id
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.id = engagement.id AND sent_at IS NOT NULL);
"""

_COUNT: Final = """INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    VALUES (new.user_id, coalesce(new.source_id, ''), new.status, new.archived_at IS NOT NULL, 1)
    ON CONFLICT (user_id, source_id, status, archived) DO UPDATE SET drafts = draft_count.drafts + 1;
"""
_COUNT_ROW: Final = """user_id = old.user_id AND source_id = coalesce(old.source_id, '')
    AND status = old.status AND archived = (old.archived_at IS NOT NULL)"""
_UNCOUNT: Final = f"""UPDATE draft_count SET drafts = drafts - 1 WHERE {_COUNT_ROW};
DELETE FROM draft_count WHERE {_COUNT_ROW} AND drafts = 0;
"""  # noqa: S608 - the words above
_COUNT_CHANGED: Final = """old.status <> new.status OR (old.archived_at IS NULL) <> (new.archived_at IS NULL)
    OR old.source_id IS DISTINCT FROM new.source_id OR old.user_id <> new.user_id"""

# Once for each statement: a fetch inserts all items of a source with one.
_COUNT_ITEMS: Final = """UPDATE source SET item_count = item_count {sign} items
    FROM (SELECT source_id, count(*) AS items FROM changed GROUP BY source_id) AS counted
    WHERE source.id = counted.source_id;
"""

_SET_ABOUT: Final = """UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || chr(10)
    || coalesce((SELECT string_agg(name, chr(10) ORDER BY name) || chr(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id), '')"""

_RUN_KEY: Final = {"user_id": "{0}.user_id"}
_RUN_SUMS: Final = {
    "ended": "1",
    "succeeded": "({0}.status = 'succeeded')::int",
    "microseconds": "greatest(0, {0}.ended_at - {0}.started_at)",
    "items": "coalesce(({0}.stats ->> 'itemsNew')::bigint, 0)",
    "drafts": "coalesce(({0}.stats ->> 'draftsCreated')::bigint, 0)",
}
_ERROR_KEY: Final = _RUN_KEY | {
    "category": "CASE WHEN {0}.status = 'interrupted' THEN 'interrupted' ELSE coalesce({0}.error_category, 'error') END"
}
_HAS_FAILED: Final = "{0}.ended_at IS NOT NULL AND {0}.status IN ('failed', 'interrupted')"
_RUN_TOTALS: Final = (
    ("run_total", _RUN_KEY, _RUN_SUMS, "{0}.ended_at IS NOT NULL"),
    ("run_error", _ERROR_KEY, {"runs": "1"}, _HAS_FAILED),
)
_RUN_ADD: Final = "".join(_add(*total) for total in _RUN_TOTALS)
_RUN_SUBTRACT: Final = "".join(_subtract(*total) for total in _RUN_TOTALS)

_NOW: Final = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000"
"""For changes whose rows hold no time of their own."""


def _event(type_: str, at: str, data: str, *, source: str = "", number: str = "1") -> str:
    """Return the statement that inserts an event for each row of `source`, numbered from the user's last event."""
    return f"""INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + {number},
        '{type_}', {at}, json_build_object({data})::text {source};
"""  # noqa: S608 - the words below


_DRAFT_CREATED: Final = _event(
    "draft.created",
    "new.at",
    """'draftId', new.draft_id, 'by', new.who, 'status', status, 'format', format, 'origin', origin,
        'sourceId', source_id, 'runId', run_id""",
    source="FROM draft WHERE id = new.draft_id",
)
_DRAFT_CHANGED: Final = _event(
    "draft.changed",
    "new.at",
    """'draftId', new.draft_id, 'version', new.version, 'by', new.who, 'kind', new.kind, 'action', new.action,
        'statusBefore', coalesce(new.before ->> 'status', status), 'status', status, 'bulkId', new.bulk_id""",
    source="FROM draft WHERE id = new.draft_id",
)
_DRAFT_MISSED: Final = _event(
    "draft.missed",
    "new.at",
    """'draftId', new.draft_id, 'version', new.version, 'scheduledAt',
        to_char(to_timestamp(scheduled_at / 1e6) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
    source="FROM draft WHERE id = new.draft_id AND new.action = 'late' AND new.kind = 'fixed'",
)
_WEBHOOK_DISABLED: Final = _event(
    "webhook.disabled", "new.disabled_at", "'webhookId', new.id, 'failures', new.failures"
)
_RUN_STARTED: Final = _event("run.started", "new.started_at", "'runId', new.id")
_RUN_PROGRESSED: Final = _event("run.progressed", _NOW, "'runId', new.id, 'stage', new.stage")
_RUN_ENDED: Final = _event(
    "run.ended",
    "new.ended_at",
    f"""'runId', new.id, 'status', new.status,
        'itemsIngested', {_RUN_SUMS["items"].format("new")}, 'draftsCreated', {_RUN_SUMS["drafts"].format("new")}""",
)
_HEALTH_CHANGED: Final = _event(
    "source.health_changed",
    "greatest(coalesce(new.last_fetch, 0), new.updated_at)",
    "'sourceId', new.id, 'healthBefore', old.health, 'health', new.health, 'failCount', new.fail_count",
)
_DELIVERY: Final = "'deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account"
_DELIVERY_ROW: Final = "FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id"
_DELIVERY_ENDED: Final = _event(
    "delivery.ended",
    _NOW,
    f"{_DELIVERY}, 'outcome', CASE new.state WHEN 'sent' THEN 'posted' ELSE new.state END",
    source=f"{_DELIVERY_ROW} AND new.state IN ('sent', 'failed', 'abandoned')",
)
_OUTCOME_UNKNOWN: Final = _event(
    "delivery.outcome_unknown", _NOW, _DELIVERY, source=f"{_DELIVERY_ROW} AND new.state = 'unknown'"
)
_NEEDS_DECISION: Final = _event(
    "delivery.needs_user",
    _NOW,
    f"{_DELIVERY}, 'reason', 'outcome_unknown'",
    source=f"{_DELIVERY_ROW} AND new.state = 'needs_user'",
)
_NEEDS_ACCOUNT: Final = _event("delivery.needs_user", _NOW, f"{_DELIVERY}, 'reason', 'account'", source=_DELIVERY_ROW)
_NEEDS_LOGIN: Final = _event(
    "delivery.needs_user",
    _NOW,
    f"{_DELIVERY}, 'reason', 'account'",
    source="""FROM delivery JOIN engagement ON engagement.id = delivery.id
    WHERE delivery.account_id = new.id AND state IN ('planned', 'sending', 'unknown')""",
    number="row_number() OVER (ORDER BY delivery.id)",
)
_HAS_TROUBLE: Final = "EXISTS (SELECT 1 FROM account WHERE id = new.account_id AND trouble IS NOT NULL)"
_QUEUE: Final = """INSERT INTO webhook_delivery (webhook_id, event_id, user_id, next_at)
    SELECT id, new.id, new.user_id, 0 FROM webhook WHERE user_id = new.user_id AND disabled_at IS NULL
        AND (types IS NULL OR EXISTS (SELECT 1 FROM json_array_elements_text(types) AS t (name) WHERE name = new.type));
"""

TRIGGERS: Final = {
    "item_counted": (
        "INSERT ON item REFERENCING NEW TABLE AS changed",
        "",
        _COUNT_ITEMS.format(sign="+"),
    ),
    "item_uncounted": (
        "DELETE ON item REFERENCING OLD TABLE AS changed",
        "",
        _COUNT_ITEMS.format(sign="-"),
    ),
    "draft_counted": ("INSERT ON draft", "", _COUNT),
    "draft_counted_anew": (
        "UPDATE OF user_id, source_id, status, archived_at ON draft",
        _COUNT_CHANGED,
        _UNCOUNT + _COUNT,
    ),
    "draft_uncounted": ("DELETE ON draft", "", _UNCOUNT),
    "item_retitled": (
        "UPDATE OF title ON item",
        "old.title <> new.title",
        f"{_SET_ABOUT} WHERE item_id = new.id;\n",
    ),
    # A new draft is inserted with its tags in `about`.
    "draft_tagged": (
        "INSERT ON draft_tag",
        "",
        f"""{_SET_ABOUT} WHERE id = new.draft_id AND strpos(about,
            (SELECT chr(10) || name || chr(10) FROM tag WHERE id = new.tag_id)) = 0;
""",  # noqa: S608 - the words above
    ),
    "draft_untagged": ("DELETE ON draft_tag", "", f"{_SET_ABOUT} WHERE id = old.draft_id;\n"),
    "tag_renamed": (
        "UPDATE OF name ON tag",
        "old.name <> new.name",
        f"{_SET_ABOUT} WHERE id IN (SELECT draft_id FROM draft_tag WHERE tag_id = new.id);\n",  # noqa: S608 - as above
    ),
    "run_added": ("INSERT ON run", "", _RUN_ADD),
    "run_changed": (
        "UPDATE ON run",
        "old.ended_at IS NOT NULL OR new.ended_at IS NOT NULL",
        _RUN_SUBTRACT + _RUN_ADD,
    ),
    "run_removed": ("DELETE ON run", "", _RUN_SUBTRACT),
    "engagement_added": ("INSERT ON engagement", "", _ADD + _DATE_RECORD),
    "engagement_delivery_sent": ("INSERT ON delivery", "new.sent_at IS NOT NULL", _DATE_SENT),
    "engagement_delivery_changed": (
        "UPDATE OF sent_at ON delivery",
        "new.sent_at IS DISTINCT FROM old.sent_at",
        _DATE_SENT,
    ),
    "engagement_draft_posted": (
        "UPDATE OF posted_at ON draft",
        "new.posted_at IS DISTINCT FROM old.posted_at",
        _DATE_RECORDS,
    ),
    "engagement_changed": (f"UPDATE OF {_TOTAL_INPUTS} ON engagement", "", _SUBTRACT + _ADD),
    "send_removed": (
        "DELETE ON delivery_event",
        "old.what = 'sending'",
        "INSERT INTO removed_send (delivery_id, at) VALUES (old.delivery_id, old.at) ON CONFLICT DO NOTHING;\n",
    ),
    "engagement_removed": ("DELETE ON engagement", "", _SUBTRACT),
    "event_draft_created": ("INSERT ON draft_event", "new.action = 'create'", _DRAFT_CREATED),
    "event_draft_changed": ("INSERT ON draft_event", "new.action <> 'create'", _DRAFT_CHANGED + _DRAFT_MISSED),
    "event_run_started": (
        "UPDATE OF status ON run",
        "new.status = 'running' AND old.status <> 'running'",
        _RUN_STARTED,
    ),
    "event_run_progressed": (
        "UPDATE OF stage ON run",
        "new.stage IS NOT NULL AND new.stage IS DISTINCT FROM old.stage",
        _RUN_PROGRESSED,
    ),
    "event_run_ended": (
        "UPDATE OF ended_at ON run",
        "new.ended_at IS NOT NULL AND old.ended_at IS NULL",
        _RUN_ENDED,
    ),
    "event_delivery_changed": (
        "UPDATE OF state ON delivery",
        "new.state <> old.state",
        _DELIVERY_ENDED + _OUTCOME_UNKNOWN + _NEEDS_DECISION,
    ),
    "event_delivery_added": ("INSERT ON delivery", _HAS_TROUBLE, _NEEDS_ACCOUNT),
    "event_delivery_restarted": (
        "UPDATE OF state ON delivery",
        f"new.state = 'planned' AND old.state IN ('failed', 'abandoned') AND {_HAS_TROUBLE}",
        _NEEDS_ACCOUNT,
    ),
    # Not while the user is deleted with everything else.
    "event_delivery_disconnected": (
        "UPDATE OF account_id ON delivery",
        """new.account_id IS NULL AND old.account_id IS NOT NULL AND new.state IN ('planned', 'sending', 'unknown')
    AND EXISTS (SELECT 1 FROM "user" WHERE id = new.user_id)""",
        _NEEDS_ACCOUNT,
    ),
    "event_account_unusable": (
        "UPDATE OF trouble ON account",
        "new.trouble IS NOT NULL AND old.trouble IS NULL",
        _NEEDS_LOGIN,
    ),
    "event_health_changed": ("UPDATE OF health ON source", "new.health <> old.health", _HEALTH_CHANGED),
    "event_webhook_disabled": (
        "UPDATE OF disabled_at ON webhook",
        "new.disabled_at IS NOT NULL AND old.disabled_at IS NULL",
        _WEBHOOK_DISABLED,
    ),
    "event_queued": (
        "INSERT ON event",
        "EXISTS (SELECT 1 FROM webhook WHERE user_id = new.user_id AND disabled_at IS NULL)",
        _QUEUE,
    ),
}
"""By name: the event, the condition, and the statements."""


def _create(name: str, event: str, condition: str, statements: str) -> str:
    # The condition of a trigger cannot read tables; that of a function can.
    has_subquery = "SELECT" in condition
    body = f"IF {condition} THEN\n{statements}END IF;\n" if has_subquery else statements
    when = f"WHEN ({condition})" if condition and not has_subquery else ""
    level = "STATEMENT" if " REFERENCING " in event else "ROW"
    return f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
{body}RETURN NULL;
END $$;
CREATE TRIGGER {name} AFTER {event} FOR EACH {level} {when} EXECUTE FUNCTION {name}();
"""


CREATE_TRIGGERS: Final = tuple(_create(name, *trigger) for name, trigger in TRIGGERS.items())
