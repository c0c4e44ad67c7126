"""Tests for the names of accounts."""

import pytest

from copydesk.model.delivery import Account, ConnectedAccount, name_accounts, select_accounts
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


@pytest.mark.parametrize("name", ["fake:me", "fake:me (one.test)", "fake:me (one.test) (1)", "Fake:Me (one.test)"])
def test_every_form_of_its_name_selects_an_account(name: str) -> None:
    alone, other, twin = account("a", "one.test", "1"), account("b", "two.test", "2"), account("c", "one.test", "3")
    assert select_accounts([alone], [name]) == (alone,)
    assert alone in select_accounts([alone, other, twin], [name])


def test_name_with_a_server_selects_no_account_of_another() -> None:
    assert select_accounts([account("b", "two.test", "2")], ["fake:me (one.test)"]) == ()
