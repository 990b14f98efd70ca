# mainspring: every verb of the repository. `make` or `make help` prints them.
#
# Needed: rustup or the Rust version of rust-toolchain.toml, a C compiler (SQLite is compiled in),
# a CPython from 3.10 on with its venv module, and a way to the package registries. Nothing is
# written outside of this folder but what cargo and pip keep in their caches.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PYTHON := $(VENV)/bin/python
WORLDS ?= 10000
STATES ?= 1000000
EXPRESSIONS ?= 100000
SECONDS_OF_FUZZ ?= 60
SEEDS ?= 2024,2025

# pyo3 is built anew whenever its environment changes, so maturin has a folder of its own and
# cargo's tests go without pyo3: it is compiled once, for the wheel.
MATURIN := env -u CONDA_PREFIX VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin
MATURIN_TARGET := --target-dir target/maturin
RUNTIME := --no-default-features --features runtime,postgres
# The tests start a server of their own, from what is installed or from a package.
SERVER = MAINSPRING_POSTGRES_BIN=$$(tools/postgres)

.PHONY: help setup build demo test lint test-rust test-python fmt bench sim pairs agree fuzz year wheel sdist clean

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.ready ## Make .venv with the newest Python found, maturin and the tools of the tests.

$(VENV)/.ready: pyproject.toml
	@read -r version python < <(tools/pythons) || \
	  { echo "error: no CPython from 3.10 on that has venv and ensurepip" >&2; exit 1; }; \
	echo "Python $$version: $$python"; \
	"$$python" -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)/bin/pip install --quiet 'maturin>=1.16,<2' --group test
	touch $@

build: setup ## Build the core (release) and install the package into .venv, editable.
	$(MATURIN) develop --release $(MATURIN_TARGET)

demo: build ## Build, then run examples/flights: a week of real departures, New York 2013.
	$(VENV)/bin/pip install --quiet --group demo
	$(PYTHON) examples/flights/demo.py

test: lint test-rust test-python ## Everything that must hold: lint, test-rust, test-python.

lint: setup ## Formatting, clippy (kernel alone and all features), ruff, types.
	cargo fmt --check
	cargo clippy --quiet --locked --no-default-features --all-targets -- -D warnings
	PYO3_PYTHON=$(CURDIR)/$(PYTHON) cargo clippy --quiet --locked --all-features --all-targets -- -D warnings
	$(VENV)/bin/ruff check --quiet .
	MYPYPATH=python $(VENV)/bin/mypy --strict -p mainspring

test-rust: ## Rust tests: floors alone, walls, stores, a slice of the simulated worlds.
	$(SERVER) cargo test --locked $(RUNTIME)
	$(SERVER) MAINSPRING_TEST_STORE=postgres cargo test --locked $(RUNTIME) --test it runtime::

test-python: wheel sdist ## The wheel on every CPython found: core tests on each, all on the newest.
	tools/test_wheel dist/*.whl

fmt: setup ## Format the Rust, sort the imports of the Python.
	cargo fmt
	$(VENV)/bin/ruff check --quiet --select I --fix .

bench: build ## Benchmarks; each figure stands beside a limit or a peer measured in the same run.
	$(SERVER) cargo bench --locked $(RUNTIME)
	$(VENV)/bin/pip install --quiet --group bench
	for file in benches/python/[a-z]*.py; do echo "== $$file"; $(PYTHON) "$$file"; done

sim: ## 10,000 worlds under faults, or WORLDS=n; MAINSPRING_SEED=n: one. All states of small ones.
	MAINSPRING_WORLDS=$(WORLDS) MAINSPRING_STATES=$(STATES) cargo test --locked $(RUNTIME) --test it sim:: -- --nocapture

pairs: ## Each transaction on PostgreSQL stopped, and its connection cut, at every statement.
	$(SERVER) MAINSPRING_EVERY_STATEMENT=1 cargo test --locked $(RUNTIME) --test it store::postgres -- --nocapture

agree: ## 100,000 random cron lines, or EXPRESSIONS=n, beside a slow evaluator.
	MAINSPRING_EXPRESSIONS=$(EXPRESSIONS) cargo test --locked $(RUNTIME) --test it calendar::agree -- --nocapture

fuzz: ## A minute of seeded random input to the calendar, or SECONDS_OF_FUZZ=n.
	MAINSPRING_FUZZ_SECONDS=$(SECONDS_OF_FUZZ) cargo test --locked $(RUNTIME) --test it calendar::fuzz -- --nocapture

year: build ## The simulated year of 200 schedules, dense, for seeds SEEDS=2024,2025.
	MAINSPRING_FULL_YEAR=1 MAINSPRING_YEAR_SEEDS=$(SEEDS) $(PYTHON) -m pytest -q tests/python/sim

wheel: setup ## Build the wheel into dist/: one for every CPython from 3.10 on.
	rm -f dist/*.whl
	$(MATURIN) build --release --locked $(MATURIN_TARGET) --out dist --interpreter $(PYTHON)

sdist: setup ## Build the source distribution into dist/ and check what is in it.
	rm -f dist/*.tar.gz
	$(MATURIN) sdist --out dist
	$(PYTHON) tools/check_sdist.py dist/*.tar.gz

clean: ## Remove all that was built here: target, .venv, .venv-test, dist, caches.
	rm -rf target $(VENV) .venv-test dist .pytest_cache .ruff_cache .mypy_cache
	rm -f python/mainspring/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
