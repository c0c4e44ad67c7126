"""How one run gets on: its stages, its funnel, its times; told to whoever listens, and kept in the database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import msgspec

from copydesk.model.run import Progress, RunStats, Stage

Listener = Callable[[Progress], None]


class Report:
    """What a run tells while it works. `stats`, `stage` and `done`, the steps of the stage, are always true."""

    def __init__(self, run_id: str, listener: Listener | None = None) -> None:
        self.run_id = run_id
        self.stats = RunStats()
        self.stage: Stage | None = None
        self._listener = listener
        self.done = 0
        self._total: int | None = None
        self._began = 0.0

    @contextmanager
    def during(self, stage: Stage, total: int | None = None) -> Iterator[None]:
        """The time of a stage, measured also where it ends early."""
        self.stage, self.done, self._total, self._began = stage, 0, total, monotonic()
        self._tell("")
        try:
            yield
        finally:
            self._time()

    def expect(self, total: int) -> None:
        """How many steps the stage has."""
        self._total = total
        self._tell("")

    def step(self, note: str = "", *, steps: int = 1) -> None:
        """One step of the stage is done, or several."""
        self.done += steps
        self._tell(note)

    def all_done(self) -> None:
        """Every step of the stage is done."""
        self.done = self._total or 0
        self._tell("")

    def count(self, **figures: int) -> None:
        """Set figures of the funnel."""
        self.stats = msgspec.structs.replace(self.stats, **figures)

    def add(self, **figures: int) -> None:
        """Add to figures of the funnel."""
        self.count(**{name: getattr(self.stats, name) + more for name, more in figures.items()})

    def _time(self) -> None:
        assert self.stage is not None
        timing = {**self.stats.stage_timing, self.stage: round(monotonic() - self._began, 3)}
        self.stats = msgspec.structs.replace(self.stats, stage_timing=timing)

    def _tell(self, note: str) -> None:
        if self._listener and self.stage:
            self._listener(Progress(run_id=self.run_id, stage=self.stage, done=self.done, total=self._total, note=note))
