# `make` alone prints the targets. Each sets up what it needs; only Python >= 3.11 and make have to be there.
# VENV may be elsewhere; pyright wants its folder to be named .venv.
VENV ?= .venv
# Tests wait for processes and databases, so there are more than cores; but each collects all the tests, for 15 s.
WORKERS ?= 3
RESULTS ?= test-results
DIST ?= dist
SITE ?= build/site
SITE_ARGS ?= --run-notebooks
BIN := $(VENV)/bin
PYTEST := $(BIN)/python $(if $(COVERAGE),-m coverage run) -m pytest
HEAVY_TOO := $(if $(HEAVY),ACE_TEST_HEAVY=1 )
RUN := sh dev/setup.sh run $(VENV)
DEV := sh dev/setup.sh dev $(VENV)

# Where no bytecode may be written beside the code, every process of a test would compile all that it imports again.
# It is not kept in VENV: uv makes no environment in a folder that is there already.
ifneq ($(PYTHONDONTWRITEBYTECODE),)
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(abspath $(RESULTS))/bytecode
endif

# Nothing here reports to anyone.
test docs studio demo: export LANGSMITH_TRACING = false
test docs studio: export LANGGRAPH_CLI_NO_ANALYTICS = 1

.DEFAULT_GOAL := help
.PHONY: help setup constraints demo chat test coverage lint format type bench bench-server bench-quality red-team faults mutants docs site notebooks capabilities neo4j neo4j-stop postgres postgres-stop studio wheel release clean

help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  With uv where it is installed, with venv and pip where not; everything goes into $(VENV)."
	@echo "  make test takes ARGS=... for pytest, and a Neo4j from NEO4J_TEST_URI, Docker, or Java 17 and Maven;"
	@echo "  ACE_SKIP_NEO4J=1 leaves its tests out, ACE_REQUIRE_NEO4J=1 makes a skipped test a failure. A PostgreSQL comes"
	@echo "  from POSTGRES_TEST_URI or its installed programs; ACE_REQUIRE_POSTGRES=1 makes it a failure that there is none."

setup: ## make the environment with all development tools
	@$(DEV)

constraints: ## take the newest versions that pyproject.toml allows into dev/constraints.txt (with uv); setup installs those
	@$(DEV)
	@$(BIN)/python dev/constraints.py

demo: ## two learners, two sessions, what was learned; no key, no server
	@$(RUN)
	@$(BIN)/ace-graph demo

chat: ## talk to the agent (LEARNER=name)
	@$(RUN)
	@$(BIN)/ace-graph chat $(if $(LEARNER),--learner "$(LEARNER)")

test: ## the suite, on a real Neo4j and PostgreSQL too (see below); HEAVY=1 for the whole of it
	@$(DEV)
	@mkdir -p $(RESULTS)
	@rm -f .coverage .coverage.* $(RESULTS)/junit.xml
	@$(HEAVY_TOO)$(PYTEST) -n $(WORKERS) --dist worksteal --junit-xml=$(RESULTS)/junit.xml $(ARGS)
ifdef COVERAGE
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report
endif

coverage: ## the same, and which lines no test runs
	@$(MAKE) --no-print-directory test COVERAGE=1 HEAVY=1

lint: ## ruff, its formatter, the direction of the imports, and the Dockerfile where its linter is to be had
	@$(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@test ! -x $(BIN)/hadolint || $(BIN)/hadolint Dockerfile

format: ## let ruff rewrite what it can
	@$(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

type: ## mypy strict on the package, pyright strict on package, tests and benchmarks
	@$(DEV)
	@$(BIN)/mypy
	@$(BIN)/pyright --venvpath $(dir $(abspath $(VENV)))

bench: ## time the memory, the stores and a whole turn; writes benchmarks/RESULTS.md
	@$(DEV)
	@$(BIN)/python -m benchmarks $(ARGS)

bench-server: ## time the web backend, its workers and a restart of Neo4j; writes benchmarks/server/RESULTS.md
	@$(DEV)
	@$(BIN)/python -m benchmarks.server $(ARGS)

bench-quality: ## does the memory make answers better; QUICK=1 for a minute, ARGS="duplicates retrieval" for some of it
	@$(DEV)
	@$(BIN)/python -m benchmarks.quality $(ARGS)

red-team: ## attack the memory through the real graph; writes benchmarks/redteam/RESULTS.md
	@$(DEV)
	@$(BIN)/python -m benchmarks.redteam $(ARGS)

faults: ## break turns off everywhere, on SQLite, PostgreSQL and Neo4j; writes benchmarks/faults/RESULTS.md
	@$(DEV)
	@$(BIN)/python -m benchmarks.faults $(ARGS)

mutants: ## break the code in small ways and see which tests notice; FILES="memory/window.py" TESTS="tests/memory" for some
	@$(DEV)
	@ACE_SKIP_NEO4J=1 $(BIN)/python -m benchmarks.mutants $(if $(FILES),--files $(FILES)) $(if $(TESTS),--tests $(TESTS)) $(ARGS)

docs: ## run every example of README, docs/ and notebooks/, check the capability table, count the words
	@$(DEV)
	@$(BIN)/python -m dev.site.generated
	@ACE_TEST_HEAVY=1 $(PYTEST) tests/docs $(ARGS)
	@$(BIN)/python dev/check_capabilities.py
	@$(BIN)/python dev/words.py

site: ## build the documentation site into build/site/html: strict, with the notebooks' outputs and the API reference
	@$(DEV)
	@$(BIN)/python -m dev.site $(SITE_ARGS) --out $(SITE)

capabilities: ## does the last test run prove every row that docs/capabilities.md claims?
	@$(DEV)
	@$(BIN)/python dev/check_capabilities.py --results $(RESULTS)/junit.xml

notebooks: ## run the notebooks and write them with their outputs as HTML, into build/notebooks
	@$(DEV)
	@$(BIN)/python dev/render_notebooks.py $(ARGS)

neo4j: ## start a local Neo4j to try (Docker, or Java 17 and Maven)
	@$(RUN)
	@sh dev/neo4j_local.sh start

neo4j-stop: ## stop it; its data stays
	@sh dev/neo4j_local.sh stop

postgres: ## start a local PostgreSQL to try (its programs: apt install postgresql)
	@sh dev/postgres_local.sh start

postgres-stop: ## stop it; its data stays
	@sh dev/postgres_local.sh stop

studio: ## open the graph in LangGraph Studio's local server, no key needed
	@$(DEV)
	@$(BIN)/langgraph dev --n-jobs-per-worker 10 $(ARGS)

wheel: ## build the wheel and the source archive into dist/
	@$(DEV)
	@$(BIN)/python -m build --outdir $(DIST) . >/dev/null
	@ls $(DIST)

release: ## build twice, compare, install on every Python and with every extra, write dist/ with an SBOM; publishes nothing
	@$(DEV)
	@$(BIN)/python -m dev.release $(ARGS)

clean: ## remove what was built and cached, the environment included
	rm -rf $(VENV) $(RESULTS) build dist *.egg-info htmlcov .coverage .coverage.* \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .langgraph_api
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
