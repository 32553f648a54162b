# make audit   derive and verify everything, print the audit, write the book   (.venv-audit: no torch)
# make test    run the tests                                                    (.venv: everything)
# make lint    style, types and layers
# make certify have Rocq check the scalar claims of a topic: make certify TOPIC=single_neuron
# make site    the documentation, to build/site

PYTHON ?= python3
AUDIT := .venv-audit
FULL := .venv
EXTRAS := numerics,fast,cluster,docs,test
PIP_FLAGS := --disable-pip-version-check --no-input -c constraints.txt

export OMP_NUM_THREADS ?= 1

.PHONY: audit test lint certify site clean
.DEFAULT_GOAL := audit

audit: $(AUDIT)/.stamp
	@status=0; \
	$(AUDIT)/bin/symdyn audit || status=$$?; \
	$(AUDIT)/bin/symdyn book -o build/book || status=$$?; \
	exit $$status

# One process for each processor; a file of tests stays in one of them.
JOBS ?= logical
test: $(FULL)/.stamp
	$(FULL)/bin/python -m pytest -n $(JOBS) --maxprocesses 8 --dist loadfile $(ARGS)

lint: $(FULL)/.stamp
	$(FULL)/bin/ruff check .
	$(FULL)/bin/ruff format --check .
	$(FULL)/bin/mypy
	$(FULL)/bin/lint-imports

TOPIC ?= single_neuron
AT_LEAST ?= 90

certify: $(AUDIT)/.stamp
	@command -v coqc >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] || { \
	    echo 'coqc is missing, and cannot be installed here: install the Debian package coq as root' >&2; exit 1; }; \
	  DEBIAN_FRONTEND=noninteractive apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends coq >/dev/null; }
	$(AUDIT)/bin/symdyn certify --topic $(TOPIC) --at-least $(AT_LEAST) $(ARGS)

site: $(FULL)/.stamp
	$(FULL)/bin/python -m sphinx -W --keep-going -b html docs build/site

$(AUDIT)/.stamp: pyproject.toml constraints.txt
	@$(call environment,$(AUDIT),fast,about a minute)

$(FULL)/.stamp: pyproject.toml constraints.txt
	@$(call environment,$(FULL),$(EXTRAS),a few minutes)

clean:
	rm -rf build $(AUDIT) $(FULL)

# $(1) folder, $(2) extras, $(3) how long it takes the first time
define environment
$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else \
	f"symdyn needs Python 3.11, 3.12 or 3.13 and {sys.executable} is {v[0]}.{v[1]}: make PYTHON=python3.12 ...")'
echo "[1/3] creating $(1) with $$($(PYTHON) --version)"
$(PYTHON) -m venv $(1)
echo "[2/3] installing symdyn with the extras $(2): $(3) the first time"
$(1)/bin/python -m pip install $(PIP_FLAGS) -e '.[$(2)]'
echo "[3/3] $(1) is ready"
touch $(1)/.stamp
endef
