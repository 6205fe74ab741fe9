# Each target sets up what it needs: Python 3.11 or newer and make are enough. uv is used if it is there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PACKAGES := rubrics personas agents orchestration evals web commands

INSTALL := $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

.PHONY: demo test lint types unit clean

demo: $(VENV)/.demo
	$(BIN)/venire demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The repository's root is the package, so the type checker sees it under its name through a link.
types: $(VENV)/.test
	mkdir -p build/typing && ln -sfn ../.. build/typing/venire
	cd build/typing && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml -m venire -m venire.cli $(PACKAGES:%=-p venire.%)

unit: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadfile

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "venire needs Python 3.11 or newer: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV) || uv venv --seed --quiet --python $(PYTHON) $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV): a minute or two, once"
	$(INSTALL) -e .
	$(BIN)/venire model install
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV): some minutes, once"
	$(INSTALL) -e '.[test,autogen,postgres,otel]'
	# An oracle that pins an old scipy; what it needs of it is in every newer one.
	$(INSTALL) --no-deps irrCAC==0.4.4
	$(BIN)/venire model install
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
