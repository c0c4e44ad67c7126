"""Replace a file in one step: readers see the old content or the new one, and a full disk leaves the old one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`, creating its folder if it is missing. Raise OSError.

    An existing file keeps its permissions; a new one is readable by the user only.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # In the same folder: a rename is atomic within one file system only.
    descriptor, name = tempfile.mkstemp(prefix=".copydesk-", suffix=".new", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        with suppress(FileNotFoundError):
            temporary.chmod(S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise


def is_replaceable(path: Path) -> bool:
    """Return True if a file that the user named can be replaced; devices, pipes and links are written to instead."""
    # A link may lead to an open file, as /dev/stdout does.
    return path.is_file() and not path.is_symlink() and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
