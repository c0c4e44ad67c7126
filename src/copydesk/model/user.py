"""The people who share a desk: each has sources, drafts and accounts of their own."""

from datetime import datetime

from copydesk.model.serialization import Struct

MAX_USER_NAME_LENGTH = 100


class User(Struct, frozen=True):
    """A user of the desk."""

    id: str
    name: str
    time_zone: str
    created_at: datetime
    is_owner: bool = False
    """The first user: the one of the console and the command line on this machine."""
