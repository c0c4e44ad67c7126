"""Sources that begin to fail while the console is open."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copydesk.desk import Desk


class SourceFailures:
    """Detects new failures. Sources that already failed at the first check are not reported."""

    def __init__(self) -> None:
        self._failing_ids: frozenset[str] | None = None

    async def load_new(self, desk: "Desk") -> list[str]:
        """Return a sentence for each source that started to fail since the last call."""
        failing = await desk.pipeline.list_failing_sources()
        previous, self._failing_ids = self._failing_ids, frozenset(source.id for source in failing)
        if previous is None:
            return []
        return [f"{source.name} could not be read. {source.error}" for source in failing if source.id not in previous]
