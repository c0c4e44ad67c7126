"""When drafts go out: weekly slots on the wall clock of the user's time zone."""

from typing import Annotated

import msgspec

from copydesk.model.wire import Struct


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A weekly time; `day_of_week` is 0 for Sunday to 6 for Saturday."""

    day_of_week: Annotated[int, msgspec.Meta(ge=0, le=6)]
    hour: Annotated[int, msgspec.Meta(ge=0, le=23)]
    minute: Annotated[int, msgspec.Meta(ge=0, le=59)]
