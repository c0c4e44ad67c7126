"""Which process works on something, and whether it still lives."""

import subprocess
import sys

from copydesk.desk.process import is_alive, me


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
