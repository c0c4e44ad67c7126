"""Progress of a pipeline run: stage, counters and timings, reported to a listener and stored in the database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

import msgspec

from copydesk.errors import DeclineReason
from copydesk.model.run import Progress, RunStats, Stage

Listener = Callable[[Progress], None]


class RunProgress:
    """Progress of one run. `stage`, `completed` (steps of that stage) and `stats` are up to date at any time."""

    def __init__(self, run_id: str, listener: Listener | None = None) -> None:
        self.run_id = run_id
        self.stats = RunStats()
        self.stage: Stage | None = None
        self._listener = listener
        self.completed = 0
        self._total: int | None = None
        self._started_at = 0.0

    @contextmanager
    def track_stage(self, stage: Stage, total: int | None = None) -> Iterator[None]:
        """Enter a stage of `total` steps; record its duration on exit, also after an error."""
        self.stage, self.completed, self._total, self._started_at = stage, 0, total, monotonic()
        self._notify("")
        try:
            yield
        finally:
            self._record_duration()

    def set_total(self, total: int) -> None:
        """Set the number of steps of the stage."""
        self._total = total
        self._notify("")

    def advance(self, note: str = "", *, steps: int = 1) -> None:
        """Advance the stage by `steps`; `note` is shown beside the progress bar."""
        self.completed += steps
        self._notify(note)

    def complete(self) -> None:
        """Mark all steps of the stage as done."""
        self.completed = self._total or 0
        self._notify("")

    def set_counters(self, **counters: int) -> None:
        """Set counters of `stats`."""
        self.stats = msgspec.structs.replace(self.stats, **counters)

    def set_skipped_sources(self, names: Iterable[str]) -> None:
        """Set the named sources that are not fetched."""
        self.stats = msgspec.structs.replace(self.stats, skipped_sources=tuple(names))

    def increment(self, **counters: int) -> None:
        """Add to counters of `stats`."""
        self.set_counters(**{name: getattr(self.stats, name) + amount for name, amount in counters.items()})

    def count_declined(self, reasons: Iterable[DeclineReason]) -> None:
        """Count an item that the writer declined for these reasons."""
        declined = Counter(self.stats.items_declined) + Counter(reasons)
        self.stats = msgspec.structs.replace(self.stats, items_declined=dict(declined))

    def _record_duration(self) -> None:
        assert self.stage is not None
        timing = {**self.stats.stage_timing, self.stage: round(monotonic() - self._started_at, 3)}
        self.stats = msgspec.structs.replace(self.stats, stage_timing=timing)

    def _notify(self, note: str) -> None:
        if self._listener and self.stage:
            self._listener(
                Progress(run_id=self.run_id, stage=self.stage, done=self.completed, total=self._total, note=note)
            )
