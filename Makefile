# Each target does its own set-up first; a second run starts at once.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
export MUJOCO_GL ?= $(shell scripts/headless-gl)
export XDG_CACHE_HOME := $(shell scripts/cache-home)
export npm_config_cache ?= $(XDG_CACHE_HOME)/npm
# The tests start some hundred processes, each of which would compile its sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo check unit lint lint-page types test test-long test-containers test-kubernetes audit bench clean

help: ## Say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Make .venv with the locked dependencies; install the Debian packages that are missing, if allowed
	@scripts/setup

demo: setup ## Start everything, let the robot do the main job once, show what happened
	@$(BIN)/quartet demo

check: setup ## Check style, types and import rules and run the quick unit tests, in under 90 s
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint unit

# The tests run side by side, and a calculation that is spread over the same cores takes longer.
unit test test-long: export OPENBLAS_NUM_THREADS := 1

unit: setup
	@$(BIN)/python -m pytest -n 2 -q -m "not long and not slow" $(PYTEST_ARGS) tests/unit

# Four workers, since half of the time a test waits. In the folders' order: the long ones (e2e) first, so that all
# workers end at the same time.
test: setup ## Run all tests but the next three, about a quarter of an hour
	@$(BIN)/python -m pytest -n 4 --dist loadscope --no-loadscope-reorder -q -m "not long" $(PYTEST_ARGS)

test-long: setup ## Run the tests that take long and seldom fail alone (marked `long`)
	@# Before the tests: while .venv is synchronised, nothing can run in it. 3: the models cannot be installed here.
	@scripts/robot-models fetch || [ $$? = 3 ]
	@# A worker per core: its deployment of a dozen processes fills one, and with more of them plans run out of time.
	@$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -q -m long $(PYTEST_ARGS)

test-containers: setup ## Build the images and test them in a real deployment (docker; as root on Debian it brings its own)
	@$(BIN)/python -m pytest -q $(PYTEST_ARGS) tests/containers

test-kubernetes: setup ## Let Helm install the chart on a stand-in for a cluster that checks every object (gets Helm, 230 MB)
	@$(BIN)/python -m pytest -q $(PYTEST_ARGS) tests/kubernetes

lint: setup types ## Check style, types and import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports >/dev/null || { $(BIN)/lint-imports; exit 1; }
	@scripts/page-lint || { status=$$?; [ $$status = 3 ] && [ "$$QUARTET_TEST_ALL" != 1 ]; }

types: setup
	@$(BIN)/basedpyright --project pyproject.toml

audit: setup ## Look up known vulnerabilities of the locked dependencies
	@scripts/audit

lint-page: ## Check types and style of the web page's JavaScript (needs node 20 and npm)
	@scripts/page-lint

bench: setup ## Measure the home suite (short); `quartet bench --help` has the others
	@$(BIN)/quartet bench home --short

clean: ## Remove what set-up and runs have made (not runs/, not .env)
	rm -rf .venv .quartet .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
