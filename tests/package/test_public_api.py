"""Tests for the names that `import copydesk` offers."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import copydesk
from copydesk import errors

ROOT = Path(__file__).parents[2]


def test_all_errors_are_public():
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.CopydeskError | errors.FieldError)
    }
    assert set(copydesk.__all__) == defined | {
        "Desk",
        "Desks",
        "Settings",
        "__version__",
        "load_settings",
        "open_desk",
        "open_desks",
        "restore_desk",
    }
    assert dir(copydesk) == sorted(copydesk.__all__)


@pytest.mark.parametrize("name", [name for name in copydesk.__all__ if name != "__version__"])
def test_name_is_documented(name):
    assert inspect.getdoc(getattr(copydesk, name))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'copydesk' has no attribute 'opn_desk'"):
        copydesk.opn_desk  # type: ignore[attr-defined]  # noqa: B018


def test_import_loads_nothing_else():
    code = (
        "import sys, copydesk; print(sorted(name for name in sys.modules if 'copydesk' in name or name == 'msgspec'))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['copydesk', 'copydesk.version']"


def test_tests_and_their_processes_import_this_tree(tmp_path):
    code = "import copydesk, cli_runner; print(copydesk.__file__, cli_runner.__file__)"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    module = ROOT / "src" / "copydesk" / "__init__.py"
    assert result.stdout.split() == [str(module), str(ROOT / "tests" / "support" / "cli_runner.py")]
    assert copydesk.__file__ == str(module)


def test_public_operations_are_documented():
    from copydesk.desk.desk import Desk

    undocumented = [
        name for name, value in vars(Desk).items() if not name.startswith("_") and not inspect.getdoc(value)
    ]
    assert undocumented == []


def test_package_is_typed():
    assert (ROOT / "src" / "copydesk" / "py.typed").exists()
