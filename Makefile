# perfproof: `make` lists the targets; `make bench` does the main job; `make test` tests.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RESULTS ?= results/local
REPORT ?= reports/report.html
PROFILE ?= quick
# How many test files run at once: they wait for processes half of their time, so three keep two cores busy; a file's own tests go one after another.
WORKERS ?= 3
# Empty: the main scenarios of this machine, CPU or CUDA, as listed in scenarios/main.toml.
SCENARIOS ?=
# One download cache for all builds, so that they share their files by hard links.
export UV_CACHE_DIR ?= $(CURDIR)/builds/.cache/uv
# `make bench VENV=bundle/env`: what a bundle's install.sh made says so in its mark. It is whole, on a host that can install nothing, and its
# python3 is the one with vLLM.
BUNDLED := $(shell test -s $(VENV)/.ready && echo yes)
# Scripts of an environment name the folder that it was made in: in a checkout that was moved they start nothing, in one that was copied the other's suite.
MADE_IN := $(shell sed -n '1s|^\#!\(.*\)/bin/python[0-9.]*$$|\1|p' $(BIN)/perfproof 2>/dev/null)
MOVED := $(if $(MADE_IN),$(if $(filter $(realpath $(VENV)),$(realpath $(MADE_IN))),,yes))
ifneq ($(and $(BUNDLED),$(MOVED)),)
$(error $(VENV) was made in $(MADE_IN) and moved or copied: run the bundle's install.sh again where it lies now)
endif
ifneq ($(BUNDLED),)
export PATH := $(abspath $(BIN)):$(PATH)
endif

.PHONY: moved help setup bench report gate test test-matrix check validate validate-real clean

help: ## Lists the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: $(VENV)/.ready ## Installs the suite into .venv and vLLM into builds/ (both made once)
	@$(BIN)/perfproof setup

$(VENV)/.ready: $(if $(BUNDLED),,pyproject.toml tests/overrides.txt $(if $(MOVED),moved))
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --overrides tests/overrides.txt --editable '.[dev]'
	@touch $@

moved:
	@echo "$(VENV) was made in $(MADE_IN) and moved or copied here: made again"
	@rm -rf $(VENV)

bench: $(VENV)/.ready ## Measures the quick profile of the main scenarios, prints the verdicts, writes the report
	@$(BIN)/perfproof run $(SCENARIOS) --profile $(PROFILE) --results $(RESULTS) --report $(REPORT)

report: $(VENV)/.ready ## Writes the HTML report of RESULTS
	@$(BIN)/perfproof report --results $(RESULTS) --out $(REPORT)

gate: $(VENV)/.ready ## Passes or fails by the records in RESULTS
	@$(BIN)/perfproof gate --results $(RESULTS)

test: $(VENV)/.ready ## Runs every test that this machine can run, real vLLM among them
	@$(BIN)/perfproof setup
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-matrix: $(VENV)/.ready ## Runs the patches' equivalence tests on every release that they hold for
	@PERFPROOF_RELEASES="0.17.1 0.18.1 0.19.0 0.22.0 0.25.1 0.28.0 0.32.0" $(BIN)/python -m pytest tests/test_inside.py -s

check: $(VENV)/.ready ## Format, lint, types, import laws
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

validate: $(VENV)/.ready ## Proves the statistics by simulation, beside other tools; writes docs/validation.md (some minutes)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --overrides tests/overrides.txt --editable '.[dev,validate]'
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps apache-otava==0.8.0 otava-test-data==0.1.9
	@$(BIN)/python -m perfproof.validation --out docs/validation.md

validate-real: $(VENV)/.ready ## Injects known slowdowns on this machine, beside other tools; resumable; writes docs/validation-real.md (hours)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --overrides tests/overrides.txt --editable '.[dev,validate]'
	@$(BIN)/python -m perfproof.validation.real --out docs/validation-real.md

clean: ## Removes what was made here: environments, builds, local results and reports
	rm -rf $(VENV) builds results/local reports/report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
