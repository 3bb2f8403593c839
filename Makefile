# `make` alone checks everything. All set-up happens in .venv; Python 3.11+, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := check
.PHONY: check demo test fast slow lint types bench format setup setup-dev

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev,explore,scale,train,vectors,words]"
	touch $@ $(VENV)/.installed

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

demo: setup          ## audit the built-in model on the built-in data
	$(BIN)/unmask audit

test: setup-dev      ## all tests, the slow ones too
	$(BIN)/python -m pytest -n auto --dist worksteal

fast: setup-dev      ## the tests one runs while writing
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

slow: setup-dev
	$(BIN)/python -m pytest -m slow

lint: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup-dev
	$(BIN)/mypy

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint types test

bench: setup-dev     ## speed and memory against the published scripts' loops, in one run
	$(BIN)/python bench/speed.py
