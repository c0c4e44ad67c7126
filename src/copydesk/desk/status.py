"""Read the state of a desk at once: a console looks at it after every change."""

from typing import TYPE_CHECKING

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.approvals import count_missing_approvals, most_approvals
from copydesk.desk.publishing.missing_accounts import count_missing_accounts
from copydesk.desk.sources.overview import list_failing
from copydesk.model.desk_status import DeskStatus
from copydesk.model.role import find_role
from copydesk.store import accounts, deliveries, schedule, users
from copydesk.store.database import Transaction
from copydesk.store.raw_sql import one_round_trip

if TYPE_CHECKING:
    from copydesk.desk.clock_guard import ClockGuard


def load_status(conn: Transaction, user_id: str, ctx: DeskContext, clock: "ClockGuard") -> DeskStatus:
    """Return the state of the desk."""
    connected = accounts.list_all(conn, user_id)
    needing_user = (
        deliveries.count_needing_user(conn, user_id)
        + count_missing_accounts(conn, user_id, ctx, connected)
        + count_missing_approvals(conn, user_id, ctx, connected)
    )
    with one_round_trip(conn):
        zone, roles = schedule.query_time_zone_name(conn, user_id), users.query_roles(conn, user_id)
    return DeskStatus(
        failing_sources=list_failing(conn, user_id),
        is_posting_paused=clock.evaluate(users.load_clock_readings(conn, user_id)) is not None,
        needing_user=needing_user,
        most_approvals=most_approvals(connected),
        time_zone=zone(),
        role=find_role(roles() or {}, ctx.caller),
    )
