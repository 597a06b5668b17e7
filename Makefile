# make demo | test | test-fast | test-all | test-machines | mutants | lint | hooks | docs | bench | paper | paper-check | transfer | clean
# PYTHON=python3.12 picks another interpreter; PYTEST_ARGS="-k itq" goes to pytest; make bench FULL=1 takes the sizes of the targets;
# mutants tries a sample of wrong versions of the code, all of them with FULL=1; MUTANTS_ARGS='thpi.solvers.balance.*' some.
# PAPER_ARGS and TRANSFER_ARGS pass options, such as --data-home DIR.
# test leaves out tests marked long, such as those that run an experiment anew; test-long runs them, and test-all both.
# test-fast leaves out tests marked slow too.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run one process per core; threads inside each process would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest -n auto

.PHONY: demo test test-fast test-long test-all test-machines mutants lint hooks docs bench paper paper-check transfer clean

demo: $(VENV)/.core
	$(BIN)/thpi demo --force

test: $(VENV)/.test
	$(PYTEST) -m "not long" $(PYTEST_ARGS)

test-fast: $(VENV)/.test
	$(PYTEST) -m "not long and not slow" $(PYTEST_ARGS)

# PYTEST_ARGS may select none of them: that is exit code 5, and no error.
test-long: $(VENV)/.test
	$(PYTEST) -m long $(PYTEST_ARGS)$(if $(PYTEST_ARGS), || [ $$? = 5 ])

test-all: test test-long

# The numerical tests on kernels of other processors, without newer instructions, and with two threads.
test-machines: $(VENV)/.test
	$(BIN)/python -m tools.machines $(PYTEST_ARGS)

mutants: $(VENV)/.mutants
	$(ONE_THREAD) nice -n 15 $(BIN)/python -m tools.mutants $(if $(FULL),--all) $(MUTANTS_ARGS)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

hooks: $(VENV)/.test $(VENV)/.lint
	$(BIN)/pre-commit install

docs: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going --quiet -j auto -b html -d build/doctrees docs site

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks $(if $(FULL),--full) $(BENCH_ARGS)

paper: $(VENV)/.test
	$(BIN)/python -m experiments paper all --output docs/results $(PAPER_ARGS)

paper-check: $(VENV)/.test
	$(BIN)/python -m experiments paper-check $(PAPER_ARGS)

transfer: $(VENV)/.test
	$(BIN)/python -m experiments transfer --output docs/transfer $(TRANSFER_ARGS)

clean:
	rm -rf $(VENV) site build dist mutants

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "thpi needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages; after an edit of pyproject.toml they are installed again.
$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
