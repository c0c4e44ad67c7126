"""Tests for the names of accounts."""

from copydesk.model.delivery import Account, ConnectedAccount, name_accounts
from desk_fixtures import NOW


def account(key: str, server: str, id: str, name: str = "me") -> ConnectedAccount:
    details = Account(platform="fake", server=f"https://{server}", id=id, name=name)
    return ConnectedAccount(id=key, details=details, connected_at=NOW, checked_at=None, login_error=None)


def test_accounts_that_share_a_label_have_different_names() -> None:
    connected = [
        account("a", "one.test", "1", name="alone"),
        account("b", "one.test", "2"),
        account("c", "two.test", "3"),
        account("d", "two.test", "4"),
    ]
    assert name_accounts(connected) == {
        "a": "fake:alone",
        "b": "fake:me (one.test)",
        "c": "fake:me (two.test) (3)",
        "d": "fake:me (two.test) (4)",
    }
