"""Metrics in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

from copydesk.model.totals import QueueTotals, StandbyTotals, Totals

S = TypeVar("S", bound=str)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds in seconds."""
OTHER = "other"
"""Stands for requests for paths that do not exist: their names are the client's choice."""


class RequestMetrics:
    """Counts of the requests since the start of the process."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        """By operation: requests for each of BUCKETS, and those that took longer than the last."""
        self._seconds: Counter[str] = Counter()

    def observe(self, operation: str | None, status: int, seconds: float) -> None:
        """Count a request whose response began after `seconds`."""
        name = operation or OTHER
        self._requests[name, status] += 1
        buckets = self._buckets.setdefault(name, [0] * (len(BUCKETS) + 1))
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[name] += seconds  # type: ignore[assignment] # a Counter of floats

    def render(self, totals: Totals, open_streams: int) -> str:
        """Return all metrics as text."""
        lines = [
            *_family("copydesk_requests_total", "counter", "Requests by operation and status."),
            *(
                _sample("copydesk_requests_total", count, operation=operation, status=str(status))
                for (operation, status), count in sorted(self._requests.items())
            ),
            *_family("copydesk_request_seconds", "histogram", "Time until the response began, by operation."),
            *self._histogram("copydesk_request_seconds"),
            *_family("copydesk_event_streams", "gauge", "Open event streams."),
            _sample("copydesk_event_streams", open_streams),
            *_gauge("copydesk_drafts", "Drafts that are not archived, by status.", "status", totals.drafts),
            *_gauge("copydesk_deliveries", "Deliveries by state.", "state", totals.deliveries),
            *_family("copydesk_oldest_due_seconds", "gauge", "Time since the oldest draft or delivery was due."),
            _sample("copydesk_oldest_due_seconds", totals.oldest_due),
            *_gauge("copydesk_runs", "Pipeline runs that are kept, by status.", "status", totals.runs),
            *_family("copydesk_webhook_deliveries_pending", "gauge", "Events that wait to be sent to a webhook."),
            _sample("copydesk_webhook_deliveries_pending", totals.webhook_deliveries),
            *(_queue_metrics(totals.queue) if totals.queue else ()),
            *(_standby_metrics(totals.standbys) if totals.standbys else ()),
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str) -> Iterable[str]:
        for operation, buckets in sorted(self._buckets.items()):
            bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
            for bound, count in zip(bounds, accumulate(buckets), strict=True):
                yield _sample(f"{name}_bucket", count, operation=operation, le=bound)
            yield _sample(f"{name}_sum", self._seconds[operation], operation=operation)
            yield _sample(f"{name}_count", sum(buckets), operation=operation)


def _queue_metrics(queue: QueueTotals) -> Iterable[str]:
    states = {"waiting": queue.waiting, "running": queue.running, "stuck": queue.stuck}
    yield from _gauge("copydesk_queue_jobs", "Jobs in the queue of the workers; stuck ones run, too.", "state", states)
    yield from _family("copydesk_queue_oldest_seconds", "gauge", "Time since the oldest waiting job was due.")
    yield _sample("copydesk_queue_oldest_seconds", queue.oldest)
    yield from _family("copydesk_workers", "gauge", "Workers that are alive.")
    yield _sample("copydesk_workers", queue.workers)


def _standby_metrics(standbys: StandbyTotals) -> Iterable[str]:
    yield from _family("copydesk_standbys", "gauge", "Servers that replay what the server of the database writes.")
    yield _sample("copydesk_standbys", standbys.count)
    # What is unknown has no sample: a zero would say that nothing is behind.
    if standbys.bytes_behind is not None:
        yield from _family("copydesk_standby_lag_bytes", "gauge", "What the last of them has still to replay.")
        yield _sample("copydesk_standby_lag_bytes", standbys.bytes_behind)
    if standbys.seconds_behind is not None:
        yield from _family("copydesk_standby_lag_seconds", "gauge", "Time until the last of them had replayed a write.")
        yield _sample("copydesk_standby_lag_seconds", standbys.seconds_behind)


def _gauge(name: str, help_: str, label: str, values: Mapping[S, int]) -> Iterable[str]:
    yield from _family(name, "gauge", help_)
    for value, count in values.items():
        yield _sample(name, count, **{label: str(value)})


def _family(name: str, kind: str, help_: str) -> Iterable[str]:
    return (f"# HELP {name} {help_}", f"# TYPE {name} {kind}")


def _sample(name: str, value: float, **labels: str) -> str:
    # Every value of a label is a name of our own, so none needs escaping.
    listed = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{f'{{{listed}}}' if listed else ''} {value}"
