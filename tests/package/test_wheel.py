"""Tests of the built wheel, installed in a fresh environment outside the checkout."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the installed tools."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (built,) = folder.glob("*.whl")
    return built


def run_sample(python: str, folder: Path, path: str = "") -> dict[str, object]:
    """Run `--run-pipeline --sample` in an empty home outside the checkout; return the run that it prints."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("COPYDESK", "COV", "PYTHON"))}
    completed = subprocess.run(
        [python, "-m", "copydesk", "--sample", "--run-pipeline", "--json"],
        env=environ | {"COPYDESK_HOME": str(folder / "home"), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def test_wheel_includes_data_files(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("copydesk/styles/") and name.endswith(".tcss") for name in names)
    assert any(name.startswith("copydesk/sample/feeds/") for name in names)
    assert any(name.startswith("copydesk/store/migrations/versions/") for name in names)
    assert "copydesk/py.typed" in names
    assert not any("tests/" in name for name in names)


def test_installed_wheel_runs_sample_desk(wheel, tmp_path):
    environment = tmp_path / "venv"
    venv.create(environment)
    python = str(environment / "bin" / "python")
    # The dependencies come from this environment, where their versions and hashes were already checked.
    installed = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (site,) = (environment / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{installed}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    # Isolated: PYTHONPATH names the source tree.
    location = subprocess.run(
        [python, "-I", "-c", "import copydesk; print(copydesk.__file__)"], check=True, capture_output=True, text=True
    )
    assert str(site) in location.stdout
    run = run_sample(python, tmp_path)
    assert run["status"] == "succeeded"
    assert run["stats"]["draftsCreated"] == 10


def test_unpacked_wheel_runs_sample_desk(wheel, tmp_path):
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    run = run_sample(sys.executable, tmp_path, str(unpacked))
    assert run["status"] == "succeeded"
    assert run["stats"]["draftsCreated"] == 10
