"""Sources that begin to fail while the console is open."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copydesk.desk import Desk


class Failing:
    """Knows which failed before; what failed when it was asked for the first time is no news."""

    def __init__(self) -> None:
        self._known: frozenset[str] | None = None

    async def since(self, desk: "Desk") -> list[str]:
        """A sentence on each source that fails since it was asked for the last time."""
        failing = await desk.pipeline.failing()
        known, self._known = self._known, frozenset(each.id for each in failing)
        if known is None:
            return []
        return [f"{each.name} could not be read. {each.error}" for each in failing if each.id not in known]
