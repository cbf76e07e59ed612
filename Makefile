# install     the environment in .venv, which all others make too if it is not there
# reproduce   every run of `scale: laptop` again, the comparison, the report; WITH its options
# test        the quick tests, linter and types: 10 to 17 minutes
# test-all    then real kills, faults and whole pipelines, which wait half of the time: one worker more than cores
# bench       speed and memory beside what a user would pick instead
# gpu-check   does this machine's GPU compute what a CPU does, and how fast; in .venv if it is there
# gpu-hour    all that a GPU is needed for, in OUT and MINUTES (60), with the runs of BUNDLE; called again, it goes on
# triton      the GPU kernels' language in .venv, 730 MB: tests then run the kernels on a CPU, 15 seconds more
# lowest      the tests of numbers with the lowest PyTorch that pyproject.toml allows, in .venv/lowest, 5 GB
# faults      hundreds of faults, and docs/faults.md from what they did
# mutants     wrong edits, and docs/mutants.md from them
# fuzz        damaged inputs for the parsers of outside files, MINUTES in all, and docs/strangers.md from them
# docs        the documentation as pages in work/docs, searchable without a server and a network
# audit       known vulnerabilities of the packages in requirements.lock; an error too if they could not be looked up
PYTHON ?= python3
PARAMS ?=
WITH   ?=
MODULE ?=
MINUTES ?=
OUT    ?= hour
BUNDLE ?=
CORES  ?= $(shell env -u OMP_NUM_THREADS nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
LOWEST := $(shell sed -n 's/^  "torch>=\(.*\)",/\1.0/p' pyproject.toml)
BIN    := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export OMP_NUM_THREADS := 1

.PHONY: install reproduce test test-all bench gpu-check gpu-hour triton lowest faults mutants fuzz audit docs

install: $(BIN)/ready

reproduce: $(BIN)/ready
	@allmlp reproduce --cores $(CORES) $(foreach file,$(PARAMS),--params $(file)) $(WITH)

test: $(BIN)/ready
	@ruff check && ruff format --check && mypy && pytest -n $(CORES) -m "not slow"

test-all: test
	@pytest -n $$(($(CORES) + 1)) -m slow

bench: $(BIN)/ready
	@for file in benchmarks/*.py; do python $$file || exit 1; done

gpu-check:
	@PYTHONPATH=src python -m allmlp doctor --gpu && PYTHONPATH=src python benchmarks/gpu.py

gpu-hour:
	@PYTHONPATH=src $(PYTHON) -m allmlp.pipeline.gpu_hour --out $(OUT) --minutes $(or $(MINUTES),60) $(if $(BUNDLE),--bundle $(BUNDLE))

triton: $(BIN)/ready
	@python -c "import triton" 2> /dev/null || $(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock triton==3.7.0

# The other packages have the versions of the lock, which are their lowest ones, as a test holds.
.venv/lowest/ready: $(BIN)/ready
	@rm -rf .venv/lowest && mkdir -p .venv/lowest && grep -vE "^(torch|triton|setuptools|nvidia|cuda)" requirements.lock > .venv/lowest.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check -c .venv/lowest.txt --target .venv/lowest torch==$(LOWEST)
	@touch $@

lowest: .venv/lowest/ready
	@PYTHONPATH=.venv/lowest python -c "import torch; assert torch.__version__.split('+')[0] == '$(LOWEST)', torch.__version__"
	@PYTHONPATH=.venv/lowest pytest -n $(CORES) -m "not slow" $$(grep -lE "^(import torch|from torch)" tests/numerics/test_*.py tests/unit/*.py)

faults: $(BIN)/ready
	@python -m tests.faults

mutants: $(BIN)/ready
	@python -m tests.mutants $(MODULE)

fuzz: $(BIN)/ready
	@python -c "import atheris" 2> /dev/null || $(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock atheris==3.0.0
	@python -m tests.strangers.fuzzing $(or $(MINUTES),5)

docs: $(BIN)/ready
	@python -m tests.pages

audit: $(BIN)/ready
	@test -x $(BIN)/pip-audit || $(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock pip-audit==2.10.1
	@mkdir -p logs; found=$$($(BIN)/pip-audit --strict --no-deps --disable-pip -r requirements.lock 2> logs/audit.log); \
	  status=$$?; tail -n 1 logs/audit.log; test -z "$$found" || echo "$$found"; test $$status = 0 -o -n "$$found" || echo "requirements.lock: \
	the audit was not made: not every package could be looked up (logs/audit.log). Run this where pypi.org can be reached."; \
	  exit $$status

$(BIN)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=...')"
	@echo "making an environment in .venv (about three minutes, 2 to 6 GB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --disable-pip-version-check -r requirements.lock > .venv/install.log 2>&1 \
	  && $(BIN)/pip install --disable-pip-version-check --no-deps --no-build-isolation -e . >> .venv/install.log 2>&1 \
	  && $(BIN)/pip check >> .venv/install.log 2>&1 || { tail -n 5 .venv/install.log; exit 1; }
	@touch $@
