# Every target is one line that calls a script or the CLI; `make` alone lists them.
# Nothing has to be installed by hand: the targets make their own .venv on first use.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNS := $(VENV)/.runs
COLLECTIONS := .collections/.installed
# Bytecode is kept: without it each of some hundred Ansible processes would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.collections:$(CURDIR)/ansible_operator/collections

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv collections control-plane demo run sandbox test test-real molecule lint types \
	layers unit integration e2e conformance coverage fmt clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNS) $(COLLECTIONS) ## Watch the sample operator at work on the sandbox (CONTROL_PLANE=real, KEEP=1)
	@$(BIN)/python scripts/demo

test: $(STAMP) $(COLLECTIONS) ## All checks and tests; those that need a Kubernetes API run on the sandbox
	@$(BIN)/python scripts/test all

test-real: $(STAMP) $(COLLECTIONS) ## The tests that need a Kubernetes API, on a real control plane (built once)
	@$(BIN)/python scripts/test real

run: $(RUNS) $(COLLECTIONS) ## Run the sample operator against the cluster of $KUBECONFIG
	@$(BIN)/ansible-operator run --zap-encoder=console $(ARGS)

sandbox: $(RUNS) ## Serve a Kubernetes API with the sample's kinds from memory, until Ctrl-C
	@$(BIN)/ansible-operator sandbox --crds config/crd/bases $(ARGS)

unit: $(STAMP) ## Unit tests (seconds)
	@$(BIN)/python scripts/test unit $(ARGS)

integration: $(STAMP) $(COLLECTIONS) ## Integration tests: real Ansible, real HTTP
	@$(BIN)/python scripts/test integration $(ARGS)

e2e: $(STAMP) $(COLLECTIONS) ## End-to-end tests on the sandbox (ARGS=--control-plane=real for the other)
	@$(BIN)/python scripts/test e2e $(ARGS)

conformance: $(STAMP) $(COLLECTIONS) ## What holds of the sandbox and of a real API server (ARGS as above)
	@$(BIN)/python scripts/test conformance $(ARGS)

molecule: $(STAMP) $(COLLECTIONS) ## The sample role on the sandbox with molecule
	@$(BIN)/python scripts/test molecule $(ARGS)

coverage: $(STAMP) ## Unit tests with branch coverage; the pure core must reach 95 %
	@$(BIN)/python scripts/test coverage $(ARGS)

lint: $(STAMP) $(COLLECTIONS) ## Style of Python, YAML and Ansible content
	@$(BIN)/python scripts/check lint

types: $(STAMP) ## mypy --strict
	@$(BIN)/python scripts/check types

layers: $(STAMP) ## The import contracts between the layers
	@$(BIN)/python scripts/check layers

fmt: $(STAMP) ## Format the Python code and sort imports
	@$(BIN)/python scripts/check fmt

venv: $(STAMP) ## Make .venv from constraints.txt, and nothing else

collections: $(COLLECTIONS) ## Put the Ansible collections of tests and demo into .collections

control-plane: $(RUNS) ## Build the control plane's programs into the cache (once, minutes)
	@$(BIN)/python scripts/control-plane build

clean: ## Remove .venv, collections and caches of this checkout (not the control plane's cache)
	@rm -rf $(VENV) .collections .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP): constraints.txt pyproject.toml scripts/venv
	@$(PYTHON) scripts/venv $(VENV)

$(RUNS): constraints.txt pyproject.toml scripts/venv
	@$(PYTHON) scripts/venv --only-run $(VENV)

$(COLLECTIONS): $(RUNS) constraints.txt scripts/collections
	@$(BIN)/python scripts/collections
