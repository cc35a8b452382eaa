# Two commands for a newcomer: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
MIRROR := $(wildcard ../shared/data)
ifneq ($(MIRROR),)
export SIMPGCN_DATA_MIRROR ?= $(abspath $(MIRROR))
endif

.PHONY: .venv demo test browser picture bench-peers lint typecheck format clean

.venv: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml constraints.txt $(wildcard src/simpgcn/compiled/*.[ch])
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv
	$(BIN)/simpgcn train demo

test: .venv
	$(BIN)/pytest

# What the tests of the report page look at it with; Debian's, and only where it is missing.
browser:
	{ command -v chromium && command -v chromedriver; } || { apt-get update -q && apt-get install -qy chromium chromium-driver; }

# The README's picture of a report.
picture: .venv browser
	$(BIN)/python docs/report_picture.py

# DeepRobust without what it asks for: that includes torchvision, which has no build for the CPU's torch and which only
# its part on images needs. What its part on graphs imports is the extra `bench`.
bench-peers: .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	$(BIN)/pip install --quiet --no-deps deeprobust==0.2.11

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
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache build dist src/*.egg-info src/simpgcn/compiled/*.so
