"""Tests for how accounts are named where their labels are the same."""

from pathlib import Path

import pytest

from copydesk.errors import InvalidError
from desk_fixtures import open_desk_at
from posting_fixtures import connect_account


async def test_names_of_accounts_with_one_label_select_them(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        for server in ("one", "two"):
            await connect_account(desk, "ada", server=f"https://{server}.example")
        with pytest.raises(InvalidError, match=r"several accounts: fake:ada \(one.example\), fake:ada \(two.example\)"):
            await desk.accounts.get("fake:ada")
        account = await desk.accounts.get("fake:ada (two.example)")
        assert account.details.server == "https://two.example"
