# make demo | test | lint | docs | bench | paper | transfer | clean   (PYTHON=python3.12 picks another interpreter;
# make bench FULL=1 takes the sizes of the targets; PAPER_ARGS and TRANSFER_ARGS pass options, such as --data-home DIR)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run one process a core; threads inside each process would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test lint docs bench paper transfer clean

demo: $(VENV)/.core
	$(BIN)/thpi demo

test: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks $(if $(FULL),--full) $(BENCH_ARGS)

paper: $(VENV)/.test
	$(BIN)/python -m experiments paper all --output docs/results $(PAPER_ARGS)

transfer: $(VENV)/.test
	$(BIN)/python -m experiments transfer --output docs/transfer $(TRANSFER_ARGS)

clean:
	rm -rf $(VENV) site build dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "thpi needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of packages; editing pyproject.toml installs anew.
$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
