"""Tests for what is said about credentials that are not accepted."""

import pytest

from copydesk.desk.accounts.credentials import login_error_hint
from copydesk.model.delivery import Account
from copydesk.posting.platform import LoginError, require_credential


def test_missing_credential_names_the_command() -> None:
    account = Account(platform="micropub", server="https://me.example", id="https://me.example", name="me.example")
    with pytest.raises(LoginError) as caught:
        require_credential({"endpoint": "https://me.example/post"}, "token")
    assert login_error_hint(caught.value, account) == (
        "The credentials of the account have no token. Connect it again: `copydesk account connect micropub`. "
        'In the environment, set all of them: {"token": "…", …}.'
    )
