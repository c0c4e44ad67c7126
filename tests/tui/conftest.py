"""The console's tests see one terminal, whatever the machine's is like."""

import pytest


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours and no theme but the test's own."""
    for variable in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG"):
        monkeypatch.delenv(variable, raising=False)
