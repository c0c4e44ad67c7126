"""What a user installs: the wheel, in a fresh environment, far from the checkout."""

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
    """The wheel, built from the checkout with the tools that are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (built,) = folder.glob("*.whl")
    return built


def run_sample(python: str, folder: Path, path: str = "") -> dict[str, object]:
    """The run that `--run-pipeline --sample` prints, in a home of its own, outside the checkout."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("COPYDESK", "COV", "PYTHON"))}
    ran = subprocess.run(
        [python, "-m", "copydesk", "--sample", "--run-pipeline", "--json"],
        env=environ | {"COPYDESK_HOME": str(folder / "home"), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_wheel_holds_what_is_no_python(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("copydesk/styles/") and name.endswith(".tcss") for name in names)
    assert any(name.startswith("copydesk/sample/feeds/") for name in names)
    assert any(name.startswith("copydesk/store/migrations/versions/") for name in names)
    assert "copydesk/py.typed" in names
    assert not any("tests/" in name for name in names)


def test_an_installed_wheel_runs_the_sample_desk(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    # What the wheel needs is taken from this environment, where every version and hash was checked already.
    installed = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{installed}\n", encoding="utf-8")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    where = subprocess.run(
        [python, "-c", "import copydesk; print(copydesk.__file__)"], check=True, capture_output=True, text=True, cwd="/"
    )
    assert str(site) in where.stdout
    run = run_sample(python, tmp_path)
    assert run["status"] == "succeeded"
    assert run["stats"]["draftsCreated"] == 10


def test_an_unpacked_wheel_runs_the_sample_desk(wheel, tmp_path):
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    run = run_sample(sys.executable, tmp_path, str(unpacked))
    assert run["status"] == "succeeded"
    assert run["stats"]["draftsCreated"] == 10
