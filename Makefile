# make help lists the targets. Everything lives in .venv and in the user's cache folder (SERVE_BENCH_CACHE moves it).
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
SCENARIO ?= scenarios/quickstart.yaml

.PHONY: help run images chaos test unit integration e2e lint format setup clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(READY) ## make the tool's own environment in .venv from the pinned list

$(READY): pyproject.toml requirements.lock
	@echo "Setting up $(VENV) (about 300 MB of packages) …"
	@$(PYTHON) -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] < (3, 14)))' || { echo "Python 3.11, 3.12 or 3.13 is needed; name one with PYTHON=…"; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet -r requirements.lock
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	@touch $(READY)

run: setup ## the main job on both real servers (SCENARIO=scenarios/quickstart.yaml)
	@$(BIN)/serve-bench run $(SCENARIO)

images: setup ## CPU images of both servers, built here without a registry
	@$(BIN)/python -m images.build

chaos: setup ## the tool and its servers interrupted, killed and frozen in every phase
	@$(BIN)/python -m benchmarks.chaos

test: setup ## every test: unit, integration on stub servers, end to end on both real servers
	@$(BIN)/pytest -n 2 -q tests/unit
	@$(BIN)/pytest tests/integration
	@$(BIN)/pytest -n 2 -m together tests/e2e
	@$(BIN)/pytest -m "not together" tests/e2e

unit: setup ## tests that need nothing
	@$(BIN)/pytest -n 2 -q tests/unit

integration: setup ## tests on stub servers
	@$(BIN)/pytest tests/integration

e2e: setup ## tests on real Triton and real TorchServe
	@$(BIN)/pytest -n 2 -m together tests/e2e
	@$(BIN)/pytest -m "not together" tests/e2e

lint: setup ## ruff, mypy (strict), import-linter
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

format: setup ## let ruff lay the code out
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

clean: ## remove what was generated here: results, artifacts, .venv (not the cache folder)
	@rm -rf results model_stores triton_repo $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build *.egg-info
