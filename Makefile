# Everything runs in a virtual environment of its own: only Python 3.11 or newer and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test check coverage test-long test-postgres test-clients bench docs site clean

run: $(STAMP)  ## set up everything and start the server with a demo project
	$(BIN)/python -m aipm_core.cli.first_run

test: $(STAMP) check  ## the whole test suite
	$(BIN)/pytest -m "not long" -n auto --dist loadfile

coverage: $(STAMP)  ## the suite once more, counting: fails when too little of the code is reached
	rm -rf build/coverage
	$(BIN)/coverage run -m pytest -m "not long" -n auto --dist loadfile
	$(BIN)/python tools/coverage_gate.py

check: $(STAMP)  ## style, types, architecture, security
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive aipm_core plugins 2>/dev/null

test-long: $(STAMP)  ## the sweeps that take a night; -s shows how far they are
	$(BIN)/pytest -m long -s --timeout 3600

test-postgres: $(STAMP)  ## the plugins on PostgreSQL
	$(BIN)/python -m tests.on_postgres -m "not long" -n auto --dist loadfile plugins tests/test_events.py tests/test_demo.py tests/test_isolation_sweep.py

test-clients: $(STAMP)  ## real Claude Code, Codex and Gemini CLI from npm, with a scripted model
	$(BIN)/pytest plugins/mcp_transport/tests/real_clients.py

bench: $(STAMP)  ## measure beside bare servers and peers, write docs/benchmarks; QUICK=1: roughly
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(BENCH)

docs: $(STAMP)  ## write what is made from the code
	$(BIN)/python -m tools.generated
	$(BIN)/python tools/demo_picture.py

site: $(STAMP) docs  ## build the documentation into build/site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python tools/site.py
	$(BIN)/zensical build --clean

clean:
	rm -rf $(VENV)

$(STAMP): pyproject.toml examples/aipm-clock/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "aipm needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable examples/aipm-clock
	$(BIN)/python -m compileall -q aipm_core plugins  # as an installed package is; `aipm mcp` must start fast
	touch $(STAMP)
