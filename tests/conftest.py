"""Settings for all tests: the tree they import, server tests, reproducible hypothesis examples, a working Ctrl-C."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from memory_folders import folder_prefix, remove_leftovers
from sampling import EXHAUSTIVE, sample_size

if TYPE_CHECKING:
    from postgresql_server import PostgresqlServer

TESTS = Path(__file__).parent
# Processes that tests start import the code beside these tests, as pytest does, not another checkout that is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(TESTS.parent / "src"), str(TESTS / "support"), os.environ.get("PYTHONPATH")])
)

# Few and fixed examples in `make test`; `make prove` searches at random.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=sample_size(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("random" if EXHAUSTIVE else "fixed")

# The modules imported and the tests collected live to the end: looking for garbage among them is a quarter of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among what was collected so far; share what all desks and consoles compute."""
    gc.freeze()
    # As in the console: Python's default of 700 collects ten times as often, for nothing.
    gc.set_threshold(10_000)
    gc.enable()
    if {"copydesk.store.migrate", "textual.css.stylesheet"} <= sys.modules.keys():
        from shared_results import share_results

        share_results()


MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux. Each commit to a desk is synced: on a disk, half the time is spent waiting."""
NEEDED_MEMORY = 2 * 2**30
"""Bytes that must be free there: at most the folders of failed tests, and of the tests that are running."""


def pytest_configure(config: pytest.Config) -> None:
    """Put the files of tests into memory, and start PostgreSQL where they run, before their modules are imported."""
    # Workers inherit the variables.
    if not (EXHAUSTIVE or hasattr(config, "workerinput") or "TMPDIR" in os.environ):
        _use_memory()
    runs_tests = hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)
    if config.getoption("--database") == "postgresql" and runs_tests:
        from postgresql_server import use_postgresql

        config.add_cleanup(use_postgresql().close)


def _use_memory() -> None:
    """Put the files of tests into memory, if there is enough. `make prove` works on the disk, as users do."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= NEEDED_MEMORY:
        remove_leftovers(MEMORY)
        folder = tempfile.TemporaryDirectory(prefix=folder_prefix(), dir=MEMORY, ignore_cleanup_errors=True)
        # At exit, not when pytest ends: `multiprocessing`, imported later, removes its files in it before.
        atexit.register(folder.cleanup)
        os.environ["TMPDIR"] = tempfile.tempdir = folder.name
        # pytest keeps the folders of the last run that failed there.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the database that the tests of the store and the desk run on."""
    parser.addoption("--database", choices=("sqlite", "postgresql"), default="sqlite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of what is PostgreSQL's only, but with `--database postgresql`."""
    is_other = collection_path.name == "postgresql" and config.getoption("--database") != "postgresql"
    return True if is_other else None


@pytest.fixture
def server() -> "PostgresqlServer":
    """The PostgreSQL server of the tests; only with `--database postgresql`."""
    # Its driver is installed with the servers.
    import postgresql_server

    assert postgresql_server.server is not None
    return postgresql_server.server


@pytest.fixture(autouse=True)
def empty_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the databases of the test, if it ran on PostgreSQL; not those of fixtures that other tests share."""
    yield
    module, folder = sys.modules.get("postgresql_server"), request.node.funcargs.get("tmp_path")
    if module is not None and module.server is not None and folder is not None:
        module.server.empty_databases(folder)


@pytest.fixture(autouse=True)
def no_known_secrets() -> Iterator[None]:
    """Forget the secrets of the test afterwards: the same words in the texts of other tests would be masked."""
    yield
    if module := sys.modules.get("copydesk.text.redaction"):
        module.DEFAULT_REDACTION.__init__()


_folder_numbers = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield an empty folder, which is removed unless the test fails.

    pytest's own looks for a free number among those of all tests before, for each test.
    """
    folder = tmp_path_factory.getbasetemp() / f"test-{next(_folder_numbers)}"
    folder.mkdir(mode=0o700)
    failures = request.session.testsfailed
    yield folder
    if request.session.testsfailed == failures:
        shutil.rmtree(folder, ignore_errors=True)


PROOF_FOLDERS = {"proof", "scheduling"}
SERVER_FIXTURES = {"pds", "mastodon"}
SERVER_MODULES = {"test_bluesky_network.py", "test_mastodon_mock.py", "test_web_console.py"}
"""Modules that start their servers, or the browser, without those fixtures."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of `make test-servers` and of `make prove`."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        # The fixture `servers` starts the server that the parameter names; only the fakes need none.
        starts_server = "servers" in fixtures and not str(parameters.get("name")).startswith("fake")
        is_proof = item.path.parent.name == "proof"
        if (is_proof and (starts_server or fixtures & SERVER_FIXTURES)) or item.path.name in SERVER_MODULES:
            item.add_marker("servers")
        if item.path.parent.name in PROOF_FOLDERS or {"EXHAUSTIVE", "sample_size"} & vars(item.module).keys():
            item.add_marker("proof")
    if config.getoption("--database") == "postgresql":
        _keep_tests_of_both_databases(config, items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items[:] = _spread_terminal_tests(items)


def _keep_tests_of_both_databases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that the marker `sqlite` says are about SQLite only."""
    only_sqlite = [item for item in items if item.get_closest_marker("sqlite")]
    config.hook.pytest_deselected(items=only_sqlite)
    items[:] = [item for item in items if item not in only_sqlite]


def _spread_terminal_tests(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with those in tmux distributed between the other modules.

    They mostly wait for the terminal: in a row, at the end, they would leave the processor idle.
    """
    waiting = [item for item in items if item.path.name.startswith("test_tmux_")]
    others = [item for item in items if not item.path.name.startswith("test_tmux_")]
    modules = [list(group) for _, group in groupby(others, attrgetter("path"))] or [[]]
    spread: list[pytest.Item] = []
    for number, module in enumerate(modules):
        spread += waiting[len(waiting) * number // len(modules) : len(waiting) * (number + 1) // len(modules)]
        spread += module
    return spread


def pytest_sessionfinish() -> None:
    """Collect garbage once: pytest would do it five times, which takes seconds with the objects of all tests."""
    gc.collect()
    gc.freeze()


ALLOWED_SKIPS = ("captured feeds", "real feeds", "proof of its own")
"""Parts of the reasons for which tests are skipped everywhere."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, fail a test that is skipped because something is not installed."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not any(allowed in reason for allowed in ALLOWED_SKIPS):
            report.outcome, report.longrepr = "failed", f"In CI nothing is skipped. {reason}"
    return report


# Hypothesis also draws constants from the modules loaded so far, so that examples would depend
# on the tests run before.
assert callable(providers._get_local_constants)
providers._get_local_constants = lambda: providers._local_constants

# A shell makes its background jobs ignore SIGINT, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
