"""Totals of all users of a database, for monitoring. They name nobody."""

from collections.abc import Mapping

from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Status
from copydesk.model.run import RunStatus
from copydesk.model.serialization import Struct


class QueueTotals(Struct, frozen=True):
    """The queue of `copydesk worker`."""

    waiting: int
    """Jobs that no worker has begun; those due within a minute included."""
    running: int
    stuck: int
    """Running jobs whose worker has not been heard of for a minute."""
    oldest: float
    """Seconds since the waiting job that is due for longest was due; 0 if none is."""
    workers: int
    """Workers that have been heard of within a minute."""


class StandbyTotals(Struct, frozen=True):
    """The servers that replay what the server of the database writes."""

    count: int
    bytes_behind: int | None
    """What the last of them has still to replay; None if this role may not see it."""
    seconds_behind: float | None
    """The time that its last replay of a write took; None if that is unknown, 0 if nothing is left to replay."""


class Totals(Struct, frozen=True):
    """Numbers of what is in the database."""

    drafts: Mapping[Status, int]
    """Drafts that are not archived."""
    deliveries: Mapping[DeliveryState, int]
    """SENT counts every post, with those that were recorded by hand."""
    oldest_due: float
    """Seconds by which the delivery or scheduled draft that is due for longest is late; 0 if none is."""
    runs: Mapping[RunStatus, int]
    """Runs that are kept."""
    webhook_deliveries: int
    """Events that wait to be sent to a webhook."""
    queue: QueueTotals | None = None
    """None if there is no queue: no worker has ever run on this database."""
    standbys: StandbyTotals | None = None
    """None if there are none."""
