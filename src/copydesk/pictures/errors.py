"""Errors about images."""

from typing import ClassVar

from copydesk.errors import CopydeskError


class ImageError(CopydeskError):
    """An image cannot be used."""

    category: ClassVar[str] = "picture"

    def __init__(
        self, message: str = "", *, hint: str = "", is_temporary: bool = False, retry_after: float | None = None
    ) -> None:
        self.is_temporary = is_temporary
        """True if another attempt may succeed, because the network or the disk failed and not the image."""
        self.retry_after = retry_after
        """Seconds to wait as requested by the server, or None."""
        super().__init__(message, hint=hint)
