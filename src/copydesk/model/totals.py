"""Totals of all users of a database, for monitoring. They name nobody."""

from collections.abc import Mapping

from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Status
from copydesk.model.run import RunStatus
from copydesk.model.serialization import Struct


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
