# Two commands set everything up: `make demo` and `make test`. `make` alone lists the others.
PYTHON ?= python3
BIN := .venv/bin
FLOOR := .venv-floor/bin
TRAIN := .venv-train/bin
# Not compiled while installing: what is imported is compiled then, and that is a small part of the libraries.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
# Compiled code is kept, whatever the environment says: without it every process takes a second longer.
export PYTHONDONTWRITEBYTECODE :=
WORKERS ?= auto
# Neighbouring tests mostly stay on one worker, so a module's fixtures and simulations are made once, not on each.
PARALLEL := -n $(WORKERS) --dist worksteal
TRIALS ?= 100

# What `make floor` repeats: the tests of these modules and folders, and the README's examples in Python and shell.
# A name that has no tests stops it, so the list cannot go stale unnoticed.
CORE := parallel bounds scores rows tally ps_lp ps_t methods certificate estimator
CORE_TESTS := $(CORE:%=tests/test_%*.py) README.md tests/test_docs.py::test_shell_example_of_the_readme_runs

# Markers of tests that `make test` leaves to `make rest`, or that are run by hand (long).
LATER := thorough or montecarlo or browser or data or spark or soak or long
# Tests that `make test` skips in part, because it installs neither Spark nor the packages of lint and docs.
SKIPPED := tests/test_docs.py tests/test_docs_site.py tests/test_docstrings.py tests/test_proof_pages.py tests/test_release.py tests/test_deploy.py src/pacshift/rows/spark.py

.DEFAULT_GOAL := help
.PHONY: help demo fast test coverage more rest check lint docs floor train-test bench soak reproduce wheel clean system

help: ## show this list
	@echo "pacshift: make <target>"
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  %-10s %s\n", $$1, $$2}'

demo: .stamps/demo ## set up, then compare all methods on a simulated label shift
	$(BIN)/pacshift demo -o out/demo

fast: .stamps/test ## set up, then run the tests and doctests that are quick: under 2 minutes on 2 cores
	$(BIN)/python -m pytest $(PARALLEL) -rs -m 'not (slow or $(LATER))'

test: .stamps/test ## set up, then run the tests, doctests and examples: under 5 minutes on 2 cores
	$(BIN)/python -m pytest $(PARALLEL) -rs -m 'not ($(LATER))'

rest: .stamps/dev system ## the tests that take longest, or need more: Monte-Carlo, benchmarks, Chromium, real scores, Spark, damage
	$(BIN)/python -m pytest $(PARALLEL) -rs -m 'not ($(LATER))' $(SKIPPED)
	$(BIN)/python -m pytest $(PARALLEL) -rs -m '(thorough or montecarlo or browser or data) and not (long or spark or soak)'
	$(BIN)/python -m pytest -m spark
	$(BIN)/python -m pytest -m soak

coverage: .stamps/test ## which lines of the package the fast tests run: coverage.txt, and a page in htmlcov/
	$(INSTALL) 'coverage>=7.10'
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(PARALLEL) -q -m 'not (slow or $(LATER))'
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report --sort=cover > coverage.txt
	@tail -n 1 coverage.txt

check: test more ## everything that CI runs: under 30 minutes on 2 cores

more: lint docs rest floor train-test ## what check does besides test

lint: .stamps/dev ## check formatting, style, types, the import rules, names, the size of the house and the workflows
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/names.py
	$(BIN)/python scripts/size.py --check
	$(BIN)/zizmor --offline --quiet --strict-collection .github

docs: .stamps/dev ## build the documentation into site/ (warnings are errors)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html, or with search: $(PYTHON) -m http.server --directory site"

floor: .stamps/floor ## run the core tests with the oldest supported versions (needs Python 3.11)
	@# Old releases warn about the newer packages below them, so warnings are not errors here. Matplotlib logs its own
	@# when it is first imported, which no test should have to hear: so that is before all of them.
	@if [ -x $(FLOOR)/pytest ]; then set -x; \
		$(FLOOR)/python -m pytest $(PARALLEL) -p matplotlib.pyplot -W default --disable-warnings \
			-m 'not (long or montecarlo or spark or browser)' $(CORE_TESTS); fi

train-test: .stamps/train ## run the tests of `python -m paper train` and the example of torch in an environment of its own
	$(TRAIN)/python -m pytest $(PARALLEL) paper/recipes paper/tests/test_recipes*.py 'tests/test_examples.py::test_example_runs[torch_logits]'

bench: .stamps/dev ## draw speed and memory of everything on this machine, and measure it, into the pages of the repository
	$(BIN)/python -m benchmarks picture speed core scale --write

soak: .stamps/dev system ## damaged files, kill signals, full disks: about an hour, into benchmarks/results/survives.md
	PYTHONPATH=tests $(BIN)/python -m soak --write

reproduce: .stamps/demo ## repeat all experiments of the paper (TRIALS=100) into out/reproduce
	$(BIN)/python -m paper reproduce all --trials $(TRIALS) -o out/reproduce

wheel: ## build wheel and source archive into dist/, check them, run the demo from the wheel alone
	sh scripts/wheel.sh $(PYTHON)

clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-floor .venv-train .stamps site out build dist .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Stamps: nothing is installed again until pyproject.toml changes. The installation is editable, so code changes
# need no new one.
.stamps/venv: scripts/make-venv.sh
	@mkdir -p .stamps
	@sh scripts/make-venv.sh $(PYTHON) .venv
	@touch $@

.stamps/demo: .stamps/venv pyproject.toml
	$(INSTALL) -e '.[all]'
	@touch $@

# Without Spark and the packages of lint and docs, which are large: what needs them is skipped, and `make check` has them.
.stamps/test: .stamps/venv pyproject.toml
	$(INSTALL) -e '.[all]' --group test --group neighbours
	@touch $@ .stamps/demo

.stamps/dev: .stamps/venv pyproject.toml
	$(INSTALL) -e '.[all,spark]' --group test --group neighbours --group lint --group docs
	@touch $@ .stamps/demo .stamps/test

.stamps/floor: pyproject.toml scripts/make-floor.sh scripts/lowest_versions.py
	@mkdir -p .stamps
	@sh scripts/make-floor.sh $(PYTHON)
	@[ ! -x $(FLOOR)/pytest ] || touch $@

# torch has its own environment and is pinned: the package index may offer a build with gigabytes of CUDA otherwise.
.stamps/train: pyproject.toml scripts/make-train.sh scripts/make-venv.sh
	@mkdir -p .stamps
	@sh scripts/make-train.sh $(PYTHON) .venv-train
	@touch $@

system:
	@sh scripts/system-packages.sh
