# Two commands for a newcomer: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
MIRROR := $(wildcard ../shared/data)
ifneq ($(MIRROR),)
export SIMPGCN_DATA_MIRROR ?= $(abspath $(MIRROR))
endif

.PHONY: .venv demo test lint typecheck format clean

.venv: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv
	$(BIN)/simpgcn train demo

test: .venv
	$(BIN)/pytest

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: .venv
	$(BIN)/mypy

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache build dist src/*.egg-info
