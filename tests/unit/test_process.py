"""Which process works on something, and whether it still lives."""

import os
import socket
import subprocess
import sys

from copydesk.desk.process import _started, is_alive, me


def test_this_process_lives():
    assert is_alive(me()) is True


def test_a_process_that_ended_is_dead():
    ended = subprocess.run(
        [sys.executable, "-c", "from copydesk.desk.process import me; print(me())"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert is_alive(ended.stdout.strip()) is False


def test_another_process_with_the_same_number_is_not_it():
    host, pid, _started = me().split("/")
    assert is_alive(f"{host}/{pid}/12") is False


def test_a_process_on_another_host_cannot_be_asked():
    assert is_alive("elsewhere/1/2") is None
    assert is_alive("") is None


def test_where_nobody_says_when_processes_start_a_living_number_proves_nothing(monkeypatch):
    """Without /proc a number that was given anew counted as the old process, and its run held up all others."""
    monkeypatch.setattr("copydesk.desk.process._stat", lambda pid: [])
    assert is_alive(me()) is None
    host, pid, _started = me().split("/")
    assert is_alive(f"{host}/{pid}/12") is None
    assert is_alive(f"{host}/{2**22 + 1}/") is False


def test_a_process_that_ended_and_was_never_collected_is_dead():
    """In a container without an init such processes stay, and a killed run held up all later ones."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout
    with child.stdout:
        child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    mark = f"{socket.gethostname()}/{child.pid}/{_started(child.pid)}"
    alive = is_alive(mark)
    child.wait()

    assert alive is False
