# `make help` lists the targets. All set-up happens in .venv; Python 3.11+, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := check
.PHONY: help demo check fast test slow published mutants fuzz torture sbom audit lint types format bench docs setup setup-dev

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev,docs,explore,gguf,peft,quantised,scale,train,vectors,words]"
	touch $@ $(VENV)/.installed

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

help:                ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup          ## audit the built-in model on the built-in data
	$(BIN)/unmask audit

fast: setup-dev      ## tier 1, while writing: quick tests, four of the eighteen architectures
	$(PYTEST) -m "not slow and not thorough" --most-processor-time 500

test: setup-dev      ## tier 2, before committing: everything that proves a promise
	$(PYTEST) -m "not slow" --most-processor-time 1300

slow: setup-dev      ## tier 3: trainings, studies, Ray, whole papers
	$(PYTEST) -m slow

published: setup-dev ## tests that compare with published files; needs UNMASK_DATA_DIR=FOLDER
	@test -n "$$UNMASK_DATA_DIR" || { echo "make published: set UNMASK_DATA_DIR to the folder of published files"; exit 2; }
	$(PYTEST) -m needs_data

mutants: setup-dev   ## break measures and statistics one operator at a time; do the tests notice?
	$(BIN)/python -m tools.mutants

fuzz: setup-dev      ## 100,000 damaged inputs at every boundary; prints tried, accepted, refused, other
	$(BIN)/python -m tests.fuzz --inputs 100000

torture: setup-dev   ## kill, interrupt and crowd every command, damage stores, fill disks; prints tries and failures
	$(BIN)/python -m tools.torture

sbom: setup-dev      ## bill of materials of a release (CycloneDX) in dist/; fails if a dependency is no wheel
	$(BIN)/python -m tools.sbom dist

audit: setup-dev     ## dependencies: consistent, from wheels, without known vulnerabilities (needs the network)
	$(BIN)/python -m pip check
	$(BIN)/python -m tools.sbom dist
	$(PYTHON) -m venv $(VENV)-audit && $(VENV)-audit/bin/python -m pip install --quiet pip-audit
	$(VENV)-audit/bin/python -m pip_audit --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

lint: setup-dev      ## format and lint, nothing is changed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	! grep -rnE '^(<<<<<<<|>>>>>>>) ' *.md docs src tests tools bench

types: setup-dev     ## mypy, strict
	$(BIN)/mypy

format: setup-dev    ## format the code and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint types fast  ## lint, types and tier 1: `make` alone

docs: setup-dev      ## the documentation site, in build/site; fails on a broken link
	$(BIN)/python -m tools.site

bench: setup-dev     ## speed and memory against the published scripts' loops, in one run
	$(BIN)/python bench/speed.py
