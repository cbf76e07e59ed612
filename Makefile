# reproduce: every run of `scale: laptop` again, the comparison, the report     test: in 10 minutes     test-all: adds real
# kills, faults and whole pipelines     bench: speed and memory beside what a user would pick instead
PYTHON ?= python3
PARAMS ?=
CORES  ?= $(shell nproc)
BIN    := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export OMP_NUM_THREADS := 1

.PHONY: reproduce test test-all bench

reproduce: $(BIN)/ready
	@allmlp reproduce --cores $(CORES) $(foreach file,$(PARAMS),--params $(file))

test: $(BIN)/ready
	@ruff check && ruff format --check && mypy && pytest -n $(CORES) --dist loadgroup -m "not slow"

test-all: $(BIN)/ready
	@ruff check && ruff format --check && mypy && pytest -n $(CORES) --dist loadgroup

bench: $(BIN)/ready
	@for file in benchmarks/*.py; do python $$file || exit 1; done

$(BIN)/ready: requirements.lock pyproject.toml
	@echo "making an environment in .venv (about two minutes, 2 GB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock 2>&1 | grep -v "is ignored: it is neither" || true
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . 2>&1 | grep -v "is ignored: it is neither" || true
	@$(BIN)/python -c "import allmlp, torch, snakemake, dvc" && touch $@
