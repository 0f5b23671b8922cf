# opsd: `make run` and `make test` are all a newcomer needs. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
SEEDS ?= 2000
MINUTES ?= 2
SEED ?= 1
COUNT ?= 100
TARGET ?= OpsCore
SYSTEMD_UNIT_DIR ?= $(PREFIX)/lib/systemd
# The Swift runtime goes into the programs: installed ones need libsqlite3, libsystemd, libcurl
# (only opsd-fetch and opsd-transfer), libmicrohttpd (only opsd-web) and libc; opsctl and opsd-step need no library.
RELEASE := -c release --static-swift-stdlib
BIN := .build/release

.PHONY: help setup run test test-python test-metrics test-schema test-hosts test-web test-slurm slurm-torture bench-slurm build install man boot deb format lint bench simulate torture canaries mutants fuzz sanitize calendar-oracles transfer-torture bench-schedules bench-page bench-transfer clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the missing -dev packages of Debian (with sudo if necessary)
	@scripts/setup

build: setup ## build the programs, optimised, into .build/release
	swift build $(RELEASE) --product opsd
	swift build $(RELEASE) --product opsd-runner
	swift build $(RELEASE) --product opsctl
	swift build $(RELEASE) --product opsd-fetch
	swift build $(RELEASE) --product opsd-transfer
	swift build $(RELEASE) --product opsd-slurm
	swift build $(RELEASE) --product opsd-step
	swift build $(RELEASE) --product opsd-web

run: build ## build, run an example graph in a private daemon, show it live, leave nothing running
	@scripts/tour $(BIN)

test: setup ## run every test
	@scripts/setup python3=/usr/bin/python3 e2fsprogs=/sbin/mkfs.ext4 btrfs-progs=/sbin/mkfs.btrfs
	swift build --explicit-target-dependency-import-check error --build-tests
	@scripts/clean-run scripts/test
	@# Beside one another: a torture waits for most of its time.
	@BIN=.build/debug scripts/clean-run scripts/torture 2 1 & torture=$$!; \
	scripts/clean-run scripts/test-as-user .build/debug 'EndToEndTests\.[A-R]' 'EndToEndTests\.[S-Z]' OpsRunnerTests; tests=$$?; \
	wait $$torture; torture=$$?; \
	[ $$tests = 0 ] || echo "make test: the tests as an ordinary user failed; they say why above the torture's lines" >&2; \
	exit $$((torture | tests))

test-python: setup ## check the Python client: ruff, mypy, its tests, and CPython's own tests of executors
	swift build --explicit-target-dependency-import-check error --product opsd
	swift build --explicit-target-dependency-import-check error --product opsd-runner
	scripts/clean-run scripts/test-python .build/debug

test-metrics: setup ## check opsctl metrics, the alert rules and the dashboard with Prometheus
	swift build --explicit-target-dependency-import-check error --product opsd
	swift build --explicit-target-dependency-import-check error --product opsd-runner
	swift build --explicit-target-dependency-import-check error --product opsctl
	scripts/clean-run scripts/test-metrics .build/debug

test-schema: setup ## check opsctl schema with the examples and generated graph files
	@for product in opsd opsd-runner opsctl; do swift build --explicit-target-dependency-import-check error --product $$product || exit 1; done
	scripts/clean-run scripts/test-schema .build/debug

test-hosts: setup ## try opsctl --host through a real sshd on the loopback interface
	swift build --explicit-target-dependency-import-check error --product opsd
	swift build --explicit-target-dependency-import-check error --product opsd-runner
	swift build --explicit-target-dependency-import-check error --product opsctl
	scripts/clean-run scripts/test-hosts .build/debug

test-web: setup ## check the page in Chromium: every view and action, hostile clients, a hundred tabs
	@for product in opsd opsd-runner opsctl opsd-web; do swift build --product $$product || exit 1; done
	scripts/clean-run scripts/test-web .build/debug
	scripts/clean-run scripts/test-web .build/debug --cockpit

test-slurm: setup ## run operations as jobs of a real Slurm on the loopback interface, and kill its controller
	@for product in opsd opsd-runner opsctl opsd-slurm opsd-step; do swift build --explicit-target-dependency-import-check error --product $$product || exit 1; done
	scripts/clean-run scripts/test-slurm .build/debug

slurm-torture: setup ## torture operations on a real Slurm for MINUTES=n with SEED=s
	@for product in opsd opsd-runner opsctl opsd-slurm opsd-step; do swift build --product $$product || exit 1; done
	scripts/clean-run scripts/slurm-torture .build/debug $$(( $(MINUTES) * 60 )) $(SEED)

bench-slurm: build ## measure operations on a real Slurm beside sbatch
	scripts/bench-slurm $(BIN)

install: build ## install into $(DESTDIR)$(PREFIX)
	scripts/install "$(BIN)" "$(DESTDIR)" "$(PREFIX)" "$(SYSTEMD_UNIT_DIR)"

man: setup ## write the manual pages below .build/man; read one with: man -M .build/man opsctl
	swift build --product opsctl
	.build/debug/opsctl man .build/man
	for section in 1 5 8; do install -d .build/man/man$$section && install -m 644 docs/man/*.$$section .build/man/man$$section/; done

boot: build ## boot a systemd in namespaces (as root), install, restart, hang, kill, cut its power; enforce limits under UML
	scripts/boot $(BIN)

deb: build ## build Debian packages into .build/deb (needs debhelper), and check them with lintian
	scripts/package $(BIN)

format: ## format every Swift source in place
	swift format format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks examples

lint: ## check formatting, scripts, the code of process copies, and spelling and style of the documents
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks examples
	scripts/lint-scripts
	scripts/lint-copies
	@scripts/setup codespell python3-proselint=/usr/bin/proselint || :
	scripts/lint-spelling

simulate: setup ## run SEEDS=n random worlds, every small one, and SEEDS=n schedules
	swift run -c release simulate $(SEEDS)
	swift run -c release simulate schedules $(SEEDS)
	swift run -c release simulate executors $(SEEDS)
	swift run -c release simulate worlds

torture: build ## crash, stop and starve the programs for MINUTES=n with SEED=s, then prove that every promise held
	@scripts/setup python3=/usr/bin/python3 e2fsprogs=/sbin/mkfs.ext4 xfsprogs=/sbin/mkfs.xfs btrfs-progs=/sbin/mkfs.btrfs
	swift build $(RELEASE) --product torture-mark
	swift build $(RELEASE) --product torture-hostile
	swift build $(RELEASE) --product torture
	scripts/torture $(MINUTES) $(SEED)

canaries: build ## plant faults that the torture has to find
	@scripts/setup python3=/usr/bin/python3
	swift build $(RELEASE) --product torture-mark
	swift build $(RELEASE) --product torture-hostile
	swift build $(RELEASE) --product torture
	scripts/canaries

mutants: setup ## plant COUNT=n random faults with SEED=s in TARGET=OpsCore, and count how many its tests find
	@scripts/setup python3
	scripts/mutants $(COUNT) $(SEED) --target $(TARGET)

fuzz: setup ## fuzz each parser of untrusted bytes with libFuzzer, for MINUTES=n each
	@scripts/setup clang xxd
	scripts/fuzz $$(( $(MINUTES) * 60 ))

sanitize: setup ## run the tests with the address and the thread sanitizer, or with the one of KIND=k
	for kind in $(or $(KIND),address thread); do scripts/sanitize $$kind || exit 1; done

calendar-oracles: setup ## compare calendar and time zones with Python, systemd, croniter and a walk, with SEED=s
	@scripts/setup python3 systemd=/usr/bin/systemd-analyze
	swift build --product calendar-probe
	@python3 -m pip --version >/dev/null 2>&1 || scripts/setup python3-pip=/usr/bin/pip3
	@[ -d .build/croniter ] || python3 -m pip install --quiet --target .build/croniter croniter || true
	PYTHONPATH=.build/croniter scripts/calendar-oracles .build/debug/calendar-probe --seed $(SEED)

transfer-torture: setup ## kill fetches of COUNT=n files with SEED=s, and opsd with its executor during 1,000; compare every byte
	@scripts/setup python3
	@for product in opsd opsd-runner opsctl opsd-fetch opsd-transfer; do swift build $(RELEASE) --product $$product || exit 1; done
	python3 -B Tests/OpsTransferTests/Server/kill_torture.py $(BIN)/opsd-fetch $(COUNT) $(SEED)
	python3 -B Tests/OpsTransferTests/Server/executor_torture.py $(BIN) 1000 $(SEED)

bench: setup ## measure, side by side in one run; draws docs/growth.svg
	@for product in opsd opsd-runner opsctl bare load core-bench; do swift build $(RELEASE) --product $$product || exit 1; done
	scripts/bench $(BIN)

bench-schedules: build ## measure a daemon with 10,000 schedules
	swift build $(RELEASE) --product load
	scripts/bench-schedules $(BIN)

bench-page: build ## measure the first view of the page with 1,000,000 stored operations
	@scripts/setup python3
	scripts/bench-page $(BIN)

bench-transfer: setup ## measure the transfer engine and curl, aria2c and wget2 in turn
	@scripts/setup nginx-light=/usr/sbin/nginx openssl curl aria2=/usr/bin/aria2c wget2
	swift build $(RELEASE) --product transfer-bench
	scripts/bench-transfer $(BIN)

clean: ## remove what was built
	rm -rf .build
