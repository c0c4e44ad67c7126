"""Every public operation of the desk, found by reflection so that no test forgets one."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from copydesk.desk import Desk
from copydesk.desk.context import DeskContext, SharedContext
from copydesk.model.user import User
from copydesk.settings import Settings
from copydesk.store.database import Database
from fetcher_fixtures import NOW

OWNER = User(id="0", name="owner", time_zone="UTC", created_at=NOW)
UNUSED = Desk(DeskContext(SharedContext(Settings(data_home=Path("unused")), Database(Path("unused"), 0)), OWNER))
"""A desk whose database is never opened, to look at."""


def resources(owner: object = UNUSED, path: str = "") -> Iterator[str]:
    """Yield the path of each part of the desk, such as `drafts.views`."""
    for name, value in inspect.getmembers(owner):
        if not name.startswith("_") and type(value).__module__.startswith("copydesk.desk."):
            yield f"{path}{name}"
            yield from resources(value, f"{path}{name}.")


def get_resource(desk: Desk, path: str) -> Any:
    """Return the part of the desk at `path`; the desk itself for ""."""
    part: Any = desk
    for name in filter(None, path.split(".")):
        part = getattr(part, name)
    return part


RESOURCES = [path for path in resources() if path]
OPERATIONS = [
    f"{path}.{name}"
    for path in RESOURCES
    for name, method in inspect.getmembers(get_resource(UNUSED, path), inspect.ismethod)
    if not name.startswith("_")
]


def parameters(operation: str) -> list[inspect.Parameter]:
    """Return the parameters of an operation."""
    return list(inspect.signature(get_resource(UNUSED, operation)).parameters.values())


async def call(method: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Call an operation; of one that yields results, take the first."""
    result = method(*args, **kwargs)
    if isinstance(result, AsyncIterator):
        return await anext(result)
    return await result if isinstance(result, Awaitable) else result
