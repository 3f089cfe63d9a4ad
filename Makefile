# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start hundreds of processes: each would compile all modules anew where this is set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test pytest thorough lint docs reference pictures papers papers-quick figures bench field estimate \
  chaos chaos-quick fuzz load fuzz-serve label-studio lock clean

demo: $(VENV)/.installed
	@$(BIN)/quorate demo

# The type checker has one core, and the tests begin on the others.
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory -j2 pytest lint

# Workers, two more than there are cores, take over each other's tests, of which the longest come
# first (tests/conftest.py). They share the cores: BLAS and polars with threads of their own only
# make them wait.
# Screenshots of what tests look at in a browser are left in screenshots/.
pytest: $(VENV)/.installed-dev
	rm -rf screenshots
	OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 QUORATE_SCREENSHOTS=$(CURDIR)/screenshots \
	  $(BIN)/pytest -n auto --dist worksteal

# The same tests, whose random examples, seeds and attacks are many times as many; hours.
thorough:
	QUORATE_TESTS=thorough $(MAKE) --no-print-directory pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed-dev
	$(BIN)/zensical serve

# What the code knows of the documentation: options, papers, tables of methods, the command line, names.
reference: $(VENV)/.installed-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/pictures/draw.py

# The pictures on the pages, of what the pages' own code makes; in a real browser.
pictures: $(VENV)/.installed-dev
	$(BIN)/python docs/pictures/photograph.py

# The tables and figures of the papers beside the published ones, in about half an hour on two cores.
papers: $(VENV)/.installed-peers
	$(BIN)/python -m reproductions all --out docs/results --page docs/reproduction.md

# Figures of papers and benchmarks, and the page of the papers, from the results that are kept.
figures: $(VENV)/.installed-dev
	$(BIN)/python -m reproductions --render --out docs/results --page docs/reproduction.md
	$(BIN)/python benchmarks/figures.py

# The papers with fewer trials, in two minutes, into a directory that is left for you to look at.
papers-quick: $(VENV)/.installed-dev
	out=$$(mktemp -d) && $(BIN)/python -m reproductions all --quick --out $$out --page $$out/page.md

# Quorate against others on the same votes, what a vote costs, and a cluster that loses parts of itself.
bench: $(VENV)/.installed-peers
	$(BIN)/python benchmarks/files.py -o docs/results/files
	$(BIN)/python benchmarks/cost.py -o docs/results/cost
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/switch.py

# What the default method is worth, on public and simulated crowds, and with known answers.
field: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/field.py

# Coverage and width of estimates, plans, rankings and scores: every goal, in less than an hour of one
# core. What was interrupted goes on; `make estimate ANEW=--anew` begins anew.
estimate: $(VENV)/.installed-peers
	$(BIN)/python benchmarks/estimate.py $(ANEW)

# Attacks on what keeps votes: kills, flipped bits, full disks and more, in ten minutes on two cores.
chaos: $(VENV)/.installed-dev
	$(BIN)/python -m chaos --seconds 600

# The same in a minute.
chaos-quick: $(VENV)/.installed-dev
	$(BIN)/python -m chaos --seconds 60

# 10,000 files that are not quite what other tools write: votes or one sentence.
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m chaos readers --times 100

# What `quorate serve` takes: votes one by one and in batches, and the next task, on both databases.
load: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.serve

# 20,000 requests made up from the server's OpenAPI document.
fuzz-serve: $(VENV)/.installed-dev
	$(BIN)/python -m chaos.serve.fuzz

# A real Label Studio server: from annotations over its export to answers, and back as predictions;
# and beside `quorate serve`, which its webhook tells of annotations, and which tells it the answers.
label-studio: $(VENV)/.installed .venv-label-studio/.installed
	$(BIN)/python integrations/label_studio/end_to_end.py .venv-label-studio/bin/label-studio $(BIN)/quorate
	$(BIN)/python integrations/label_studio/live.py .venv-label-studio/bin/label-studio $(BIN)/quorate

.venv-label-studio/.installed:
	$(PYTHON) -m venv .venv-label-studio
	.venv-label-studio/bin/pip install --quiet --disable-pip-version-check label-studio==1.23.2
	@touch $@

# The versions that the tests run with, for every Python that is supported.
lock: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-package quorate --upgrade --quiet -o requirements.lock

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.created pyproject.toml requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-label-studio site screenshots .mypy_cache .pytest_cache .ruff_cache .hypothesis
