# One word per task; everything lands in .venv and build/. C++, model or dependency edits reinstall by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

# Installed by copy or compiled, so an edit must reinstall; Python below mbdfmu/ is used in place. Folders are listed
# too: their date changes when a file is removed.
INSTALLED := pyproject.toml CMakeLists.txt $(shell find solver models fmus -name __pycache__ -prune -o -print)
NATIVE := $(shell find solver -name '*.cpp' -o -name '*.hpp')
EXAMPLES := $(sort $(wildcard examples/*.py))
READ_REQUIRES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])
READ_BINARIES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["binaries"])
BUILD_REQUIRES = $$($(1)/bin/python -c '$(READ_REQUIRES)') cmake ninja

# The tests start Python hundreds of times: without its cache every start compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg
export ZIG_GLOBAL_CACHE_DIR ?= $(CURDIR)/build/zig

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help tools build demo test lint format types docs examples bench bench-workprecision native-binaries nightly sanitize sanitize-threads wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

define CHECK_PYTHON
import os, sys, sysconfig
version = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 11):
    sys.exit("make: Python %s is too old, 3.11 or later is needed; name a newer one: make PYTHON=python3.12" % version)
try:
    import ensurepip, venv
except ImportError:
    sys.exit("make: Python cannot create virtual environments; install the package: apt install python%s-venv" % version)
if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
    sys.exit("make: Python.h is missing; install it: apt install python%s-dev | dnf install python3-devel" % version)
endef
export CHECK_PYTHON

tools: ## check that Python, its headers and a C++ compiler are there
	@command -v $(PYTHON) >/dev/null || \
		{ echo "make: no '$(PYTHON)' found; install it: apt install python3-dev python3-venv | dnf install python3-devel" >&2; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@command -v $${CXX:-c++} >/dev/null || \
		{ echo "make: no C++ compiler '$${CXX:-c++}' found; install it: apt install g++ | dnf install gcc-c++, or set CXX" >&2; exit 1; }

# A file of its own: bin/python exists even after a venv that failed half way.
$(VENV)/.created:
	@$(MAKE) --no-print-directory tools
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Without isolation the build folder keeps its cache, so a C++ edit compiles one file, and a rebuild needs no network.
$(STAMP): $(INSTALLED) | $(VENV)/.created
	$(BIN)/python -m pip install --quiet $(call BUILD_REQUIRES,$(VENV))
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[plot,test,lint]'
	@touch $@

build: $(STAMP) ## create .venv and install the package into it, editable

demo: $(STAMP) ## a first look: simulate a shipped model
	$(BIN)/mbdfmu demo

test: lint types docs ## what every change must pass
	$(BIN)/python -m pytest -n 2 -m 'not nightly' --sample

lint: $(STAMP) ## style of Python and C++
	$(BIN)/ruff check .
	$(if $(NATIVE),$(BIN)/clang-format --dry-run --Werror $(NATIVE))

format: $(STAMP) ## bring C++ and import order into style
	$(BIN)/ruff check --select I --fix .
	$(if $(NATIVE),$(BIN)/clang-format -i $(NATIVE))

types: $(STAMP) ## mypy --strict on the package
	$(BIN)/mypy

docs: $(STAMP) ## check the links of every page
	$(BIN)/python docs/check_links.py

examples: $(STAMP) ## run every example in a folder of its own
	@set -e; for script in $(EXAMPLES); do \
		folder=build/examples/$$(basename $$script .py); rm -rf $$folder; mkdir -p $$folder; \
		echo $$script; (cd $$folder && "$(CURDIR)/$(BIN)/python" "$(CURDIR)/$$script"); \
	done

bench: $(STAMP) ## speed side by side with peers
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[bench]'
	$(BIN)/python benchmarks/run.py

bench-workprecision: $(STAMP) ## error over CPU time of all schemes and peers
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[bench]'
	$(BIN)/python benchmarks/workprecision.py

# zig uses all processors itself. The second installation takes along what the first step has built.
native-binaries: $(STAMP) ## the library of FMUs for Linux, Windows and macOS, by ziglang
	$(BIN)/python -m pip install --quiet $$($(BIN)/python -c '$(READ_BINARIES)')
	$(BIN)/cmake --build $$(ls -td build/editable-* | head -1) --target native_binaries -j 1
	@rm -f $(STAMP)
	@$(MAKE) --no-print-directory build

nightly: lint types docs native-binaries ## all tests with full counts, sanitizers, the wheel
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[judges]'
	MBDFMU_COUNTS=full $(BIN)/python -m pytest -n 2
	@$(MAKE) --no-print-directory sanitize sanitize-threads wheel

# The interpreter is not instrumented, so the sanitizer's runtime is loaded first; what Python itself leaks is not ours.
# What runs no native code that other tests do not run too: texts, pictures, pages.
TEXTS := modelica modelica_multibody animation docs examples benchmarks reproduce

# Run from another folder: at the root a subprocess would find ./mbdfmu, which has no compiled core.
# --capture=sys lets the report of a sanitizer through, which is the last thing that a worker writes. A segmentation fault
# stays one (handle_segv), since tests of FMUs that crash look for it; pytest shows where it was.
sanitize: $(STAMP) ## the tests on a core that stops at memory errors (gcc)
	$(PYTHON) -m venv --clear build/sanitize/venv
	build/sanitize/venv/bin/python -m pip install --quiet $(call BUILD_REQUIRES,build/sanitize/venv)
	build/sanitize/venv/bin/python -m pip install --quiet --no-build-isolation '.[test]' \
		-C build-dir=build/sanitize/cmake -C cmake.build-type=Debug -C cmake.define.MBDFMU_SANITIZE=ON
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:handle_segv=0 UBSAN_OPTIONS=print_stacktrace=1 \
		sh -c 'cd build/sanitize && venv/bin/pytest -c ../../pyproject.toml --rootdir ../.. -n 2 -m "not nightly" --capture=sys ../../tests \
		$(foreach name,$(TEXTS),--ignore ../../tests/test_$(name).py) && \
		MBDFMU_COUNTS=full venv/bin/pytest -c ../../pyproject.toml --rootdir ../.. --capture=sys ../../tests/test_lifecycle.py'

# Threads are those of a host in C, so the sanitizer's runtime is linked into that.
sanitize-threads: $(STAMP) ## FMUs in many threads, with a library that tells races (gcc)
	$(BIN)/cmake -S . -B build/threads -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DMBDFMU_SANITIZE=thread -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
		-Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)" \
		-DCMAKE_PREFIX_PATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
	$(BIN)/cmake --build build/threads --target mbdfmu_fmi
	MBDFMU_THREAD_SANITIZED=$(CURDIR)/build/threads/mbdfmu_fmi.so MBDFMU_COUNTS=full \
		$(BIN)/python -m pytest tests/test_instances.py -k threads

# Run from an empty folder: at the root Python would find ./mbdfmu, which has no compiled core.
# Compiled in the folder of the editable install, which has the same objects.
wheel: $(STAMP) ## build the wheel, install it into a fresh environment and use it there
	rm -rf build/wheel && mkdir -p build/wheel/empty
	$(PYTHON) -m venv build/wheel/venv
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel \
		-C build-dir=$$(ls -td build/editable-* | head -1) .
	build/wheel/venv/bin/python -m pip install --quiet build/wheel/*.whl
	cd build/wheel/empty && ../venv/bin/python -c 'import mbdfmu, mbdfmu._solver' && ../venv/bin/mbdfmu list models
	cd build/wheel/empty && ../venv/bin/mbdfmu list platforms && ../venv/bin/mbdfmu export-fmu slider_crank -o x.fmu && \
		../venv/bin/fmpy validate x.fmu && ../venv/bin/fmpy simulate x.fmu --output-file x.csv && test -s x.csv

clean: ## remove everything that make has built
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find mbdfmu models fmus tests examples benchmarks docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
