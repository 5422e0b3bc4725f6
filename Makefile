# Stowage. `make` alone prints the targets; continuous integration runs exactly these.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# A module may ask for a newer Go than the one installed: let Go fetch it.
export GOTOOLCHAIN := auto
# Nothing that is shipped needs a C compiler; the race detector does.
export CGO_ENABLED := 0

ARGS ?=
# What --version prints. The date is the commit's, so that the same source makes the same programs on any day.
VERSION ?= $(shell cat VERSION)
COMMIT := $(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)
DATE := $(shell TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%d 2>/dev/null)
STAMP := -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
# Where programs are put, and what the linker leaves out: tables for a debugger take it half of its time, and stacks do not need them.
# scripts/package.sh sets both.
BIN ?= bin
LINK ?= -w

.PHONY: help
help:
	@echo "Stowage packs a sharded MySQL or MariaDB farm into fewer servers, live. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup build ## a real farm on this machine, downsized under load; options in ARGS="--pairs 4 --hosts 2"
	@echo "==> taking down what an earlier demo left, if anything" >&2
	@said=$$(bin/stowage demo down $(ARGS) 2>&1) || { echo "$$said" >&2; exit 1; }
	@echo "==> stowage demo $(ARGS)" >&2
	@bin/stowage demo $(ARGS)

.PHONY: check
check: ## what needs no servers: gofmt, vet, the tests of all packages; for the hand that types (2 minutes)
	@scripts/test.sh check

.PHONY: test
test: ## every promise, sampled, on real servers: a move and a kill in each runbook, all packages (6 minutes; 15 the first time)
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory build-tests
	@scripts/test.sh test

.PHONY: test-all
test-all: ## everything that is tested: besides, e2e/long, lint, models, fuzzing, races in a live move, faults put in (hours)
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory build-tests
	@scripts/test.sh all

.PHONY: test-the-tests
test-the-tests: ## puts faults in, one at a time, and says which tier finds each, in how many seconds
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory build-tests
	@scripts/test-the-tests.sh

.PHONY: faults
faults: build ## kill -9, failures and faults at every border of every runbook, not the sample that `make test-all` takes: two hours
	@scripts/faults.sh

.PHONY: agents
agents: build ## moves across machines of their own (network namespaces, root), whose agents are killed and whose lines are cut and slowed
	@STOWAGE_AGENT_FAULTS=1 go test -v -count=1 -timeout 3h ./e2e/long/agents

.PHONY: fuzz
fuzz: ## every fuzz target for five minutes, not the seconds that `make test-all` takes: an hour
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-300} scripts/fuzz.sh

.PHONY: chaos
chaos: ## random faults during moves, for as long as you like: ROUNDS=n SEED=s RUNBOOK=switchover, or ROUND=k SEED=s for one of them
	@scripts/setup.sh
	@$(MAKE) --no-print-directory build
	@scripts/chaos.sh

.PHONY: models
models: ## the models of models/, every state of every bound, and each guard taken out in turn
	@scripts/setup.sh test
	@scripts/models.sh

# Package digest alone is compiled by a profile of reading a slow log: its hot functions are inlined, and it takes a tenth less processor time
# (docs/measuring/benchmarks.md). `go build -pgo` would compile every dependency anew, which takes minutes. A new profile:
#   go test -run '^$$' -bench 'SlowLog$$' -benchtime 8s -cpuprofile digest/slowlog.pgo -o /dev/null ./digest
BY_PROFILE := -gcflags=stowage/digest=-pgoprofile=digest/slowlog.pgo

.PHONY: build
build: ## bin/stowage and bin/stowage-engine
	@scripts/need-go.sh
	@echo "==> building $(BIN)/stowage and $(BIN)/stowage-engine (the first time: some minutes, most of it for the engine)" >&2
	@scripts/go-build.sh -trimpath $(BY_PROFILE) -ldflags "$(STAMP) $(LINK)" -o $(BIN)/stowage ./cmd/stowage
	@scripts/go-build.sh -C engined -trimpath -ldflags "$(STAMP) $(LINK)" -o $(abspath $(BIN))/stowage-engine .

.PHONY: build-tests
build-tests: build
	@go build -trimpath -tags livetest -ldflags "$(STAMP) $(LINK)" -o bin/stowage-live ./cmd/stowage

.PHONY: setup
setup: ## install what is missing: MariaDB and mariadb-backup, from Debian; no server is started
	@scripts/setup.sh

.PHONY: flavors
flavors: ## MariaDB 11.8 and MySQL 9.7 for the tests, outside of the repository (a minute, 900 MB, root); without them those tests say NOT TESTED
	@scripts/flavors.sh

.PHONY: kafka
kafka: ## `stowage follow --kafka` into a real broker, killed: installs Java and Maven (Debian, root), fetches Kafka from Maven Central (44 MB); 4 minutes
	@scripts/setup.sh
	@scripts/kafka.sh
	@$(MAKE) --no-print-directory build-tests
	@scripts/test.sh part long/kafka

.PHONY: lint
lint: ## gofmt and golangci-lint, both modules
	@scripts/lint.sh

.PHONY: notices
notices: ## NOTICE and THIRD-PARTY-LICENSES.txt, of the modules that are linked; after every change of go.mod or engined/go.mod
	@go test -count=1 ./internal/notices -write

.PHONY: package
package: ## a package for Debian, with both programs, manual pages, completions and docs, into bin/package; the same bytes for the same commit
	@scripts/package.sh

.PHONY: bench
bench: ## measure what is promised, beside the peers, and add rows to docs/measuring/benchmarks.md; BENCH=demo, etsy, digest, compare, plan, copier, alter, follow, reshape, pause, seed, backup, snapshot, storage, engine, inventory, capacity, load or reboots for one
	@scripts/setup.sh
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@scripts/bench.sh

.PHONY: bench-etsy
bench-etsy: ## the farm of examples/etsy-2016 for real: 120 servers onto 30 machines with agents, a fault a minute; SEED=s, PAIRS=n, EVERY=seconds
	@scripts/setup.sh
	@$(MAKE) --no-print-directory build
	@scripts/bench/etsy.sh

.PHONY: clean
clean: ## remove bin/ and .cache/
	rm -rf bin .cache
