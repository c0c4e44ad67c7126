"""Tests for the time zone of a new desk: the machine's, by a name that means the same on every machine."""

import pytest

from copydesk.desk import users
from copydesk.desk.users import local_zone


@pytest.mark.parametrize("value", ["Europe/Prague", ":Europe/Prague"])
def test_variable_names_zone(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TZ", value)
    assert local_zone() == "Europe/Prague"


@pytest.mark.parametrize(
    "value", ["", "Nowhere/Atlantis", "Europe", "localtime", "posix/Europe/Prague", "/etc/localtime", "../etc/passwd"]
)
def test_other_values_are_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TZ", value)
    monkeypatch.setattr(users, "_read_text", lambda path: "Asia/Tokyo")
    assert local_zone() == "Asia/Tokyo"
    monkeypatch.setattr(users, "_read_text", lambda path: value)
    monkeypatch.setattr(users, "_zone_of_link", lambda path: "")
    assert local_zone() == "UTC"
