# Two commands set everything up: `make demo` and `make test`. `make` alone lists the rest.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= auto
TRIALS ?= 100

.DEFAULT_GOAL := help
.PHONY: help demo test check lint docs bench reproduce clean system

help: ## print this list
	@echo "pacshift: make <target>"
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  %-10s %s\n", $$1, $$2}'

demo: .stamps/demo ## set up and show every method on a simulated label shift
	$(BIN)/pacshift demo -o out/demo

test: .stamps/dev system ## set up and run the tests, doctests and examples
	$(BIN)/python -m pytest -n $(WORKERS)
	$(BIN)/python -m pytest -m spark

check: lint docs test ## everything CI runs: format, lint, types, layers, docs, tests

lint: .stamps/dev ## format, lint, types and layers only
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .stamps/dev ## build the documentation into site/, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html, or with search: $(PYTHON) -m http.server --directory site"

bench: .stamps/dev ## measure speed and memory on this machine, into the pages of docs/
	$(BIN)/python -m benchmarks speed core growth scale --write

reproduce: .stamps/demo ## every panel of the paper (TRIALS=100), into out/reproduce
	$(BIN)/pacshift reproduce all --trials $(TRIALS) -o out/reproduce

clean: ## remove the environment and everything built
	rm -rf .venv .stamps site out build dist .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Stamps: nothing is installed again until pyproject.toml changes. The install is editable, so code changes need none.
.stamps/venv:
	@mkdir -p .stamps
	@sh scripts/make-venv.sh $(PYTHON)
	@touch $@

.stamps/demo: .stamps/venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[all]'
	@touch $@

.stamps/dev: .stamps/venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[all,spark]' --group test --group lint --group docs
	@touch $@ .stamps/demo

system:
	@sh scripts/system-packages.sh
