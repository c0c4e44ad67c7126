"""A disk that loses what was not synced, fed with the system calls of a command that strace recorded with all data.

A file keeps what was written before its last sync, and a folder the names that it had at its own; of everything later
any part may be missing.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

RECORDED = (
    *("openat", "write", "pwrite64", "ftruncate", "rename", "link", "unlink", "mkdir"),
    *("fsync", "fdatasync", "sendfile", "copy_file_range", "writev", "pwritev"),
)
_UNSUPPORTED = {"sendfile", "copy_file_range", "writev", "pwritev"}
_CALL = re.compile(r"(?P<name>\w+)\((?P<args>.*)\)\s+= (?P<result>-?\d+|\?)")
_STRING = re.compile(r'[<"]((?:\\x[0-9a-f]{2})*)[>"]')


class Call(NamedTuple):
    """A system call that succeeded."""

    name: str
    strings: list[bytes]
    """Paths and data: of the descriptors, and of the arguments."""
    args: str


def read_calls(trace: Path) -> Iterator[Call]:
    """Return the successful calls of a trace, in the order of their end."""
    begun: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[thread] = text.removesuffix("<unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>", text):
            text = begun.pop(thread) + text[resumed.end() :]
        call = _CALL.match(text)
        if call and not call["result"].startswith("-"):
            strings = [bytes.fromhex(found.replace("\\x", "")) for found in _STRING.findall(call["args"])]
            yield Call(call["name"], strings, call["args"])


@dataclass(eq=False)
class DiskFile:
    """The content of a file, and what of it is synced."""

    content: bytearray
    synced: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes since the last sync: offset and data, or size and None."""
    end: int = 0
    """Offset of the next write that names none."""

    def write(self, offset: int, data: bytes | None) -> None:
        """Write data, or truncate."""
        _apply(self.content, offset, data)
        self.pending.append((offset, data))

    def sync(self) -> None:
        """Make everything survive."""
        self.synced, self.pending = bytes(self.content), []

    def survivor(self, rng: random.Random | None) -> bytes:
        """Return what a power cut leaves: without `rng` nothing unsynced, else any part of it."""
        content = bytearray(self.synced)
        for offset, data in self.pending:
            if rng is not None and rng.random() < 0.5:
                _apply(content, offset, data)
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        content[:] = content[:offset].ljust(offset, b"\0")
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class LossyDisk:
    """The files below a path; at first all of them are synced."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[Path, DiskFile] = {}
        for path in root.rglob("*"):
            if path.is_file():
                file = DiskFile(bytearray(path.read_bytes()))
                file.sync()
                self.names[path] = file
        self.synced_names = dict(self.names)

    def apply(self, call: Call) -> bool:
        """Follow a call; return whether it synced anything."""
        assert call.name not in _UNSUPPORTED, call
        path = Path(call.strings[0].decode())
        if call.name == "openat":
            self._open(Path(call.strings[1].decode()), call.args)
        elif call.name in {"rename", "link"}:
            self._rename(path, Path(call.strings[1].decode()), keep=call.name == "link")
        elif call.name == "unlink":
            self.names.pop(path, None)
        elif call.name in {"fsync", "fdatasync"}:
            return self._sync(path)
        elif file := self.names.get(path):
            if call.name == "write":
                file.write(file.end, call.strings[1])
                file.end += len(call.strings[1])
            elif call.name == "pwrite64":
                file.write(int(call.args.rpartition(", ")[2]), call.strings[1])
            elif call.name == "ftruncate":
                file.write(int(call.args.rpartition(", ")[2]), None)
        return False

    def _open(self, path: Path, args: str) -> None:
        if not self._is_followed(path):
            return
        if path not in self.names and "O_CREAT" in args:
            self.names[path] = DiskFile(bytearray())
        if file := self.names.get(path):
            if "O_TRUNC" in args:
                file.write(0, None)
            file.end = len(file.content) if "O_APPEND" in args else 0

    def _is_followed(self, path: Path) -> bool:
        # The shared memory is made anew from the log.
        return str(path).startswith(str(self.root)) and not path.name.endswith("-shm")

    def _rename(self, path: Path, target: Path, *, keep: bool) -> None:
        if path in self.names:
            self.names[target] = self.names[path] if keep else self.names.pop(path)

    def _sync(self, path: Path) -> bool:
        if file := self.names.get(path):
            file.sync()
            return True
        in_folder = {name for name in (*self.names, *self.synced_names) if name.parent == path}
        for name in in_folder:
            self.synced_names.pop(name, None)
            if name in self.names:
                self.synced_names[name] = self.names[name]
        return bool(in_folder)

    def restore(self, target: Path, rng: random.Random | None = None) -> None:
        """Write what a power cut leaves to files that begin with `target` instead of the root."""
        names = self.names if rng is not None and rng.random() < 0.5 else self.synced_names
        for path, file in names.items():
            copy = Path(f"{target}{str(path).removeprefix(str(self.root))}")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.survivor(rng))

    def unsynced_files(self) -> list[str]:
        """Return the names of files, besides those of the database, whose content or name a power cut would lose."""
        return sorted(
            path.name
            for path, file in self.names.items()
            if not path.name.startswith(("copydesk.db", "lock", ".gitignore"))
            and path.suffix not in {".out", ".err", ".in", ".trace"}
            and (self.synced_names.get(path) is not file or file.pending)
        )
