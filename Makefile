# Everything goes into .venv and build; nothing else is changed, except that root on a Debian
# gets the packages of what is missing: `venv`, and what tests, measurements and example genes need.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo node browser test check fuzz torture bench bench-peers guests guests-update lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
NATIVE := $(wildcard host/native/*.[ch] host/native/*/*.[ch])

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 23

setup: $(VENV)/.installed ## install the host and its command, .venv/bin/rotifer

demo: setup ## run a gene twice: the second run remembers what the first was told
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh guest-examples/demo.sh

test: $(VENV)/.installed-dev node ## run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

node: # what runs the second host of tests/conformance
	@if ! command -v node >/dev/null; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "installing nodejs"; \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends nodejs >/dev/null; \
	    else \
	        echo "without Node.js some tests are skipped; on Debian or Ubuntu type: sudo apt-get install nodejs" >&2; \
	    fi; \
	fi

browser: # what opens the page of a run in tests/report
	@if ! command -v chromedriver >/dev/null; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "installing chromium and chromium-driver"; \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends chromium chromium-driver >/dev/null; \
	    else \
	        echo "on Debian or Ubuntu type: sudo apt-get install chromium chromium-driver" >&2; exit 1; \
	    fi; \
	fi

check: $(VENV)/.installed-dev ## lint, check formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

FUZZ_SECONDS ?= 600
fuzz: $(VENV)/.installed-fuzz ## look for inputs that break decoders and module reader: FUZZ_SECONDS (600) each, then at random
	@mkdir -p build/fuzz/requests build/fuzz/modules
	cd build/fuzz && $(CURDIR)/$(BIN)/python $(CURDIR)/tests/fuzz/atheris_requests.py requests \
	    -dict=$(CURDIR)/tests/fuzz/json.dict -max_total_time=$(FUZZ_SECONDS)
	cd build/fuzz && $(CURDIR)/$(BIN)/python $(CURDIR)/tests/fuzz/atheris_modules.py modules \
	    -max_total_time=$(FUZZ_SECONDS)
	FUZZ_EXAMPLES=5000 FUZZ_MODULES=1000 FUZZ_FILES=3000 FUZZ_ROUNDS=2000 $(BIN)/python -m pytest tests/fuzz -v \
	    -o faulthandler_timeout=3600

TORTURE_ARGS ?= --torture-kills 5000 --torture-rounds 20 --torture-all
torture: $(VENV)/.installed-dev ## make everything below fail, kill writers, use one memory from all sides, for up to half an hour
	$(BIN)/python -m pytest tests/torture -v -o faulthandler_timeout=3600 $(TORTURE_ARGS)

bench: $(VENV)/.installed-dev ## measure
	$(BIN)/python -m pytest bench --benchmark-enable $(PYTEST_ARGS)

bench-peers: $(VENV)/.installed-peers ## measure beside wasmtime-py, Extism and C
	$(BIN)/python -m bench $(BENCH_ARGS)

guests: $(VENV)/.installed ## build the example genes into build/guests, installing compilers for them
	@$(MAKE) --no-print-directory -C guest-examples

guests-update: $(VENV)/.installed ## build the example genes and put the modules beside their sources
	@$(MAKE) --no-print-directory -C guest-examples update

lock: $(VENV)/.installed-dev ## choose the newest dependencies and write requirements/*.txt
	@$(PIP) install 'uv>=0.9'
	@$(BIN)/uv pip compile $(LOCK) --extra test --group build --output-file requirements/run.txt
	@$(BIN)/uv pip compile $(LOCK) --extra plot --extra test --group build --group dev --constraints requirements/run.txt \
	    --output-file requirements/dev.txt
	@$(BIN)/uv pip compile $(LOCK:pyproject.toml=bench/requirements.in) --constraints requirements/dev.txt \
	    --output-file bench/requirements.txt
	@$(BIN)/uv pip compile $(LOCK:pyproject.toml=tests/fuzz/requirements.in) --constraints requirements/dev.txt \
	    --output-file tests/fuzz/requirements.txt
	@$(BIN)/uv pip compile $(LOCK:pyproject.toml=guest-examples/requirements.in) --output-file guest-examples/requirements.txt
	@cd guest-examples && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent

LOCK := pyproject.toml --upgrade --universal --python-version 3.11 --generate-hashes --quiet \
    --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

clean: ## remove what the other targets made
	rm -rf $(VENV) build host/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find host tests bench guest-examples -name __pycache__ -prune -exec rm -rf {} +
	find host -name '*.so' -delete

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "rotifer-host needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "installing python3-venv"; \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends python3-venv >/dev/null; \
	    else \
	        echo "Python's venv module is missing; on Debian or Ubuntu type: sudo apt-get install python3-venv" >&2; exit 1; \
	    fi; \
	fi
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements/run.txt pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	@echo "installing what rotifer needs"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@find host -name '*.so' -delete # one of an older version must not outlive a compiler that is gone
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@
	@echo "the command is $(BIN)/rotifer"

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.installed
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v strace >/dev/null; then \
	    echo "installing strace, for tests of system calls that fail"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -qq -y --no-install-recommends strace >/dev/null; } || echo "without strace they are skipped" >&2; \
	fi
	@echo "installing what tests need"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.installed-fuzz: tests/fuzz/requirements.txt $(VENV)/.installed-dev
	@echo "installing what the long fuzzing needs"
	@$(PIP) install --require-hashes -r tests/fuzz/requirements.txt
	@touch $@

$(VENV)/.installed-peers: bench/requirements.txt $(VENV)/.installed-dev
	@echo "installing what the comparison needs"
	@if ! { command -v cc && echo '#include <lmdb.h>' | cc -E -; } >/dev/null 2>&1; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	            apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends gcc libc6-dev liblmdb-dev >/dev/null; \
	    else \
	        echo "without cc and lmdb.h the floor in C is left out; on Debian or Ubuntu type: sudo apt-get install gcc libc6-dev liblmdb-dev" >&2; \
	    fi; \
	fi
	@$(PIP) install --require-hashes -r bench/requirements.txt
	@touch $@
