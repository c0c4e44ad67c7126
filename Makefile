# Executable documentation of how this project is worked on.

PYTHON ?= $(firstword $(foreach v,3.11 3.12 3.13 3.14,$(shell command -v python$(v) 2>/dev/null)) python3)
BIN := .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
# $(call install,part,options): one part of .ci/requirements.txt, exactly: every version and hash as it is written there.
define install
	sed -n '/^# $(1)$$/,/^# /p' .ci/requirements.txt > .venv/requirements.txt
	$(PIP) install $(2) --no-deps --require-hashes --requirement .venv/requirements.txt
endef
PYTEST = $(BIN)/python -m pytest
# More workers than the two cores of a small machine: a part of the time is spent waiting for other processes.
# Each gets a quarter of the modules and prepares their fixtures once; one that is done takes tests over from the others.
TESTS = $(PYTEST) -n 4 --dist worksteal
# Tests that share a server stay together; how long it takes to choose the next test grows with their number.
SERVER_TESTS = $(PYTEST) -n 3 --dist loadgroup
# Senders that are killed, or meet faults. On PostgreSQL all is tried with the fake platform, less with real servers.
SENDING_TESTS = tests/proof/test_sending_killed.py tests/proof/test_sending_faults.py tests/proof/test_sending_mutants.py
# Images for containers switch the cache of compiled modules off; the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-servers coverage prove prove-network prove-cluster check format bench bench-users metrics screenshots docs lock clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /	/'

.venv/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Copydesk needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/run: .venv/python pyproject.toml .ci/requirements.txt
	$(call install,run)
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Not compiled: the tests import a small part of these packages, and Python compiles that when it is first imported.
.venv/test: .venv/run
	$(call install,test,--no-compile)
	@touch $@

.venv/servers: .venv/test
	$(call install,servers)
	@touch $@

.venv/screenshots: .venv/test
	$(call install,screenshots)
	@touch $@

.venv/bench: .venv/test
	$(call install,bench)
	@touch $@

run: .venv/run ## open the console on a sample desk: no account, key or network needed
	@$(BIN)/copydesk --sample

check: .venv/test ## format, lint, types, layers, generated documents, metrics of the code base
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/docs.py --check
	$(BIN)/python .ci/code_metrics.py

format: .venv/test ## let ruff format and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The checks use one core while the tests are compiled; otherwise each worker would compile all of them.
test: .venv/test ## every check, and every test that needs no server: minutes
	@$(MAKE) check >.venv/check.log 2>&1 & checks=$$!; \
	$(PYTEST) -q --collect-only >/dev/null; \
	$(TESTS) -m "not servers"; tests=$$?; \
	wait $$checks; checks=$$?; cat .venv/check.log; exit $$((tests | checks))

test-servers: .venv/servers ## the tests with real servers (PDS, Mastodon, PostgreSQL, llama.cpp) and a browser; built once, in ~/.cache
	$(SERVER_TESTS) -m servers
	$(TESTS) --database postgresql tests/store tests/desk/postgresql tests/http/postgresql tests/jobs tests/proof/postgresql tests/desk/test_leases.py tests/desk/drafts/test_activity.py tests/desk/publishing/test_approvals.py tests/proof/test_reviewers.py tests/proof/test_two_consoles.py tests/tui/review/test_reviewers.py tests/cli/test_daemon.py tests/cli/test_backup.py
	$(TESTS) --database postgresql -k fake tests/proof/test_sending_killed.py

# Without the tests in a terminal: only this process is measured, not those that tests start.
coverage: .venv/test ## the branches that the tests without servers cover: at least 95%
	$(TESTS) -m "not servers" --ignore-glob="*/test_tmux_*" --cov --cov-report=term:skip-covered --cov-fail-under=95

prove: .venv/servers ## all cases and examples of which `make test` has a sample: an hour or two
	COPYDESK_PROVE=1 $(SERVER_TESTS) -m "proof or hypothesis"
	$(TESTS) --database postgresql tests/store tests/desk tests/cli/test_daemon.py tests/cli/test_serve.py
	COPYDESK_PROVE=1 $(TESTS) --database postgresql tests/proof/test_reviewers.py tests/proof/test_two_consoles.py
	COPYDESK_PROVE=1 $(TESTS) --database postgresql -k "fake or any_boundary or daemon" $(SENDING_TESTS)
	COPYDESK_PROVE=1 $(PYTEST) -s --database postgresql tests/proof/postgresql

prove-network: .venv/servers ## the metrics from a whole Bluesky network, where PostgreSQL is installed
	COPYDESK_NETWORK_PROOF=1 $(PYTEST) tests/proof/test_bluesky_network.py

prove-cluster: .venv/servers ## 10,000 sources and 100,000 posts, workers killed each second: hours; PART=5 for a fifth
	COPYDESK_CLUSTER_PROOF=$(or $(PART),1) $(PYTEST) -s -o faulthandler_timeout=0 --database postgresql tests/proof/postgresql/test_workers_killed.py

bench: .venv/bench .venv/servers ## every figure that Copydesk claims, as a ratio measured in one run
	PYTHONPATH=tests/support $(BIN)/python tests/benchmarks/run.py

bench-users: .venv/bench .venv/servers ## pages of drafts among ten million of 10,000 users: half an hour, 50 GB
	COPYDESK_BENCH_USERS=10000 PYTHONPATH=tests/support $(BIN)/python tests/benchmarks/run.py bench_many_users

screenshots: .venv/screenshots ## the pictures in screenshots/, from the sample desk
	$(BIN)/python tests/support/screenshots.py

docs: .venv/test ## the parts of docs/ that are made from the code
	$(BIN)/python .ci/docs.py

metrics: .venv/test ## metrics of the code base, beside their targets
	$(BIN)/python .ci/code_metrics.py

lock: .venv/python ## pin the newest versions of everything in .ci/requirements.txt and constraints.txt
	$(PIP) install uv
	$(BIN)/python .ci/lock.py

clean: ## forget everything that was made
	rm -rf .venv dist build .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis snapshot_report.html
