# Everything runs in a virtual environment of its own: only Python 3.11 or newer and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Which versions of dependencies are installed: those of constraints.txt, the oldest or the newest ones.
RESOLUTION ?= locked
PIP := $(BIN)/python -m pip install --quiet
INSTALL_locked := $(PIP) --constraint constraints.txt
INSTALL_newest := $(PIP) --upgrade
INSTALL_lowest := $(BIN)/uv pip install --quiet --python $(BIN)/python --resolution lowest-direct

.PHONY: run test test-again check check-page coverage test-long test-postgres test-clients mutants bench docs site lock clean

RUNTIME := $(VENV)/.runtime
run: $(RUNTIME)  ## set up what the program needs and start the server with a demo project
	@$(BIN)/python -m aipm_demo.first_run $(RUN)

$(RUNTIME): pyproject.toml constraints.txt  # only what the program needs; tests need more
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "aipm needs Python 3.11 or newer")'
	@echo '1/2  a virtual environment in $(VENV)'
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo '2/2  installing aipm and what it needs (about 30 packages)'
	@[ -e $(STAMP) ] || $(BIN)/python -m pip install --constraint constraints.txt --editable . \
		| grep --line-buffered -E '^(Collecting|Installing|Successfully)' | cut -c1-76
	@$(BIN)/python -c 'import aipm_demo'
	@touch $(RUNTIME)

test: $(STAMP) check browser  ## the whole test suite
	$(BIN)/pytest -m "not long" -n auto --dist loadfile

test-again: $(STAMP) check  ## the few tests that failed in the last run, alone; names those that pass now
	$(BIN)/python -m tools.repeat_failed

coverage: $(STAMP) browser  ## the suite once more, counting: fails when too little of the code is reached
	rm -rf build/coverage
	$(BIN)/coverage run -m pytest -m "not long" -n auto --dist loadfile
	$(BIN)/python tools/coverage_gate.py

check: $(STAMP) check-page  ## style, types, architecture, security
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive aipm_core plugins 2>/dev/null

.PHONY: browser
browser: $(STAMP)  ## Chromium for the tests of the page; installs Debian's where it may
	@$(BIN)/python -m tools.browser

PAGE_TOOLS := build/page-tools
check-page:  ## the types of the page's modules; needs npm once, and says so where it cannot
	@if [ -x $(PAGE_TOOLS)/node_modules/.bin/tsc ] || { command -v npm >/dev/null && \
		npm install --silent --no-audit --no-fund --prefix $(PAGE_TOOLS) typescript@7.0.2 >/dev/null 2>&1; }; \
	then $(PAGE_TOOLS)/node_modules/.bin/tsc --project plugins/web_ui/tsconfig.json; \
	else echo '*** no npm: the types of the page were NOT checked ***' >&2; fi

test-long: $(STAMP)  ## the sweeps that take a night; -s shows how far they are
	$(BIN)/pytest -m long -s --timeout 3600

test-postgres: $(STAMP)  ## the plugins on PostgreSQL
	$(BIN)/python -m tests.on_postgres -m "not long" -n auto --dist loadfile plugins tests/test_events.py tests/test_isolation_sweep.py

test-clients: $(STAMP)  ## real Claude Code, Codex and Gemini CLI from npm, with a scripted model
	$(BIN)/pytest plugins/mcp_transport/tests/real_clients.py
	$(BIN)/pytest plugins/runner/tests/real_programs.py

mutants: $(STAMP)  ## break the security modules and see whether tests notice; MOST=, SEED=, ONLY=
	$(PIP) --upgrade --target build/mutants/packages 'cosmic-ray>=8.7'  # beside the environment: it brings much
	PYTHONPATH=build/mutants/packages $(BIN)/python -m tools.mutants $(if $(ONLY),,--page) $(if $(MOST),--most $(MOST)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

bench: $(STAMP)  ## measure beside bare servers and peers, write docs/benchmarks; QUICK=1: roughly
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(BENCH)
	$(if $(BENCH),,$(BIN)/python -m benchmarks $(if $(QUICK),--quick) page)

docs: $(STAMP)  ## write what is made from the code
	$(BIN)/python -m tools.generated
	$(BIN)/python tools/demo_picture.py

site: $(STAMP) docs  ## build the documentation into build/site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python tools/site.py
	$(BIN)/zensical build --clean

clean:
	rm -rf $(VENV)

lock: $(STAMP)  ## write constraints.txt anew: the newest versions that fit, for every platform
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras \
		--no-emit-package atheris --no-emit-index-url --no-header --no-annotate \
		pyproject.toml --output-file constraints.txt

EXAMPLES := $(wildcard examples/*)
$(STAMP): pyproject.toml constraints.txt $(EXAMPLES:%=%/pyproject.toml)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "aipm needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(if $(filter lowest,$(RESOLUTION)),$(PIP) uv)
	$(INSTALL_$(RESOLUTION)) --editable '.[dev]' $(EXAMPLES:%=--editable %)
	$(BIN)/python -m compileall -q aipm_core plugins  # as an installed package is; `aipm mcp` must start fast
	touch $(STAMP)
