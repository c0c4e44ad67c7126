"""What is raised about a picture."""

from typing import ClassVar

from copydesk.errors import CopydeskError


class PictureError(CopydeskError):
    """A picture cannot be used."""

    category: ClassVar[str] = "picture"

    def __init__(
        self, message: str = "", *, hint: str = "", later: bool = False, retry_after: float | None = None
    ) -> None:
        self.later = later
        """Whether the same may work another time: it is the network's fault, or the disk's, not the picture's."""
        self.retry_after = retry_after
        """Seconds that the other side asked us to wait, or None."""
        super().__init__(message, hint=hint)
