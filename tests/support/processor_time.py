"""The processor time of other processes."""

import os
from contextlib import suppress

import psutil


def processor_time(parent: psutil.Process) -> float:
    """Return the seconds of a process and all its children, those that have ended included."""
    total = 0.0
    for process in (parent, *parent.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
        if process == parent:
            total += times.children_user + times.children_system
    return total


def pin(parent: psutil.Process, cores: set[int]) -> None:
    """Let a process and its children, with all their threads, run on these cores only."""
    for process in (parent, *parent.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            for thread in process.threads():
                os.sched_setaffinity(thread.id, cores)
