# Everything goes into .venv; nothing else is changed, except that root on a Debian
# without `venv` gets the package that holds it.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check bench bench-peers guests lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
NATIVE := host/rotifer_host/sandbox/calls/_native.c
GUESTS := $(patsubst guest-examples/%/gene.wat,build/guests/%.wasm,$(wildcard guest-examples/*/gene.wat))

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.installed ## install the host and its command, .venv/bin/rotifer

demo: setup ## run a gene twice: the second run remembers what the first was told
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh guest-examples/demo.sh

test: $(VENV)/.installed-dev ## run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-dev ## lint, check formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev ## measure
	$(BIN)/python -m pytest bench --benchmark-enable $(PYTEST_ARGS)

bench-peers: $(VENV)/.installed-peers ## measure beside wasmtime-py, Extism and C
	$(BIN)/python -m bench $(BENCH_ARGS)

guests: $(GUESTS) ## assemble the example genes into build/guests, for other hosts

lock: $(VENV)/.installed-dev ## choose the newest dependencies and write requirements/*.txt
	@$(PIP) install 'uv>=0.9'
	@$(BIN)/uv pip compile $(LOCK) --group build --output-file requirements/run.txt
	@$(BIN)/uv pip compile $(LOCK) --group build --group dev --constraints requirements/run.txt \
	    --output-file requirements/dev.txt
	@$(BIN)/uv pip compile $(LOCK:pyproject.toml=bench/requirements.in) --constraints requirements/dev.txt \
	    --output-file bench/requirements.txt

LOCK := pyproject.toml --upgrade --universal --python-version 3.11 --generate-hashes --quiet \
    --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

clean: ## remove what the other targets made
	rm -rf $(VENV) build host/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find host tests bench guest-examples -name __pycache__ -prune -exec rm -rf {} +

build/guests/%.wasm: guest-examples/%/gene.wat | $(VENV)/.installed
	@mkdir -p $(@D)
	$(BIN)/python -c 'import sys, wasmtime; sys.stdout.buffer.write(wasmtime.wat2wasm(sys.stdin.read()))' <$< >$@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "rotifer-host needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "installing python3-venv"; \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y --no-install-recommends python3-venv >/dev/null; \
	    else \
	        echo "Python's venv module is missing; on Debian or Ubuntu type: sudo apt-get install python3-venv" >&2; exit 1; \
	    fi; \
	fi
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements/run.txt pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	@echo "installing what rotifer needs"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.installed
	@echo "installing what tests need"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.installed-peers: bench/requirements.txt $(VENV)/.installed-dev
	@echo "installing what the comparison needs"
	@if ! { command -v cc && echo '#include <lmdb.h>' | cc -E -; } >/dev/null 2>&1; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y --no-install-recommends gcc libc6-dev liblmdb-dev >/dev/null; \
	    else \
	        echo "without cc and lmdb.h the floor in C is left out; on Debian or Ubuntu type: sudo apt-get install gcc libc6-dev liblmdb-dev" >&2; \
	    fi; \
	fi
	@$(PIP) install --require-hashes -r bench/requirements.txt
	@touch $@
