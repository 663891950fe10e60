PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/lapmodes/native/*)
FILES := $(shell find src -name '*.py')

.PHONY: demo test test-oldest integrations slow bench fuzz faults sanitize licences lint docs clean

MINUTES ?= 5
TIMES ?= 100

demo: $(VENV)/installed-plot ## draw the paper's figures 2 and 3 into demo/
	$(BIN)/python -m lapmodes.paper.demo

test: $(VENV)/installed-test ## run the tests
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests -n 2

test-oldest: $(BIN)/python ## run the tests with the oldest declared versions, in an environment of their own
	$(BIN)/python .ci/oldest.py --run

fuzz: $(VENV)/installed-test ## attack fits, readers, models and the command line for MINUTES=5; failures in fuzz-failures/
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz --minutes $(MINUTES)

faults: $(VENV)/installed-test ## kill, interrupt and starve TIMES=100 runs of each command; count what is left
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz.faults --times $(TIMES)

sanitize: $(VENV)/installed-test ## the native core under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer
	$(BIN)/python -m pip install --quiet nanobind cmake ninja
	PATH=$(abspath $(BIN)):$$PATH PYTHON=$(abspath $(BIN))/python sh .ci/sanitize.sh

licences: $(VENV)/installed-test ## list what the library depends on, with versions and licences
	$(BIN)/python .ci/licences.py

integrations: ## tests against BERTopic, scanpy, skops and others, in .venv-integrations
	$(MAKE) VENV=.venv-integrations .venv-integrations/installed-integrations
	OMP_NUM_THREADS=1 .venv-integrations/bin/python -m pytest tests/integrations -m integration

bench: $(VENV)/installed-test ## benchmarks in ten minutes, ratios in results/benchmarks; real data through LAPMODES_DATA
	$(BIN)/python benchmarks/sweep.py --clusters 20 100 --dtypes float32 --orders local
	$(BIN)/python benchmarks/zstep.py --only spirals --repeats 1
	$(BIN)/python benchmarks/zstep.py --only pixels --repeats 1 --limit 60
	$(BIN)/python benchmarks/zstep.py --only million --repeats 1 --limit 60
	$(BIN)/python benchmarks/cstep.py
	$(BIN)/python benchmarks/neighbors.py --only blobs --repeats 1
	$(BIN)/python benchmarks/whole_fit.py --data digits --limit 60
	$(BIN)/python benchmarks/growth.py --sizes 10000 100000
	$(BIN)/python benchmarks/mapping.py
	$(if $(LAPMODES_DATA),$(BIN)/python benchmarks/battery.py --largest 2000)

slow: $(VENV)/installed-test ## tests that need minutes; real data through LAPMODES_DATA
	$(BIN)/python -m pytest tests -m slow

lint: $(VENV)/installed-lint ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed-docs ## build the documentation into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

clean:
	rm -rf $(VENV) .venv-integrations build demo docs/_build docs/gallery docs/api/generated

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed-%: $(BIN)/python $(SOURCES) $(FILES)
	$(BIN)/python -m pip install --quiet -C build-dir=$(VENV)/build ".[$*]"
	touch $@
