# Stowage. `make` alone prints the targets; continuous integration runs exactly these.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# A module may ask for a newer Go than the one installed: let Go fetch it.
export GOTOOLCHAIN := auto
# Nothing here needs a C compiler.
export CGO_ENABLED := 0

ARGS ?=
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unreleased)

.PHONY: help
help:
	@echo "Stowage packs a sharded MySQL or MariaDB farm into fewer servers, live. Targets:"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup build ## a real farm on this machine, downsized under load; options in ARGS="--pairs 4 --hosts 2"
	@echo "==> taking down what an earlier demo left, if anything" >&2
	@said=$$(bin/stowage demo down $(ARGS) 2>&1) || { echo "$$said" >&2; exit 1; }
	@echo "==> stowage demo $(ARGS)" >&2
	@bin/stowage demo $(ARGS)

.PHONY: test
test: ## everything that is tested: vet, lint, all tests of both modules, on real servers
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory build
	@scripts/test.sh

.PHONY: build
build: ## bin/stowage and bin/stowage-engine
	@echo "==> building bin/stowage and bin/stowage-engine (the first time: some minutes, most of it for the engine)" >&2
	@go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/stowage ./cmd/stowage
	@cd engined && go build -trimpath -o ../bin/stowage-engine .

.PHONY: setup
setup: ## install what is missing: MariaDB and mariadb-backup, from Debian; no server is started
	@scripts/setup.sh

.PHONY: lint
lint: ## gofmt and golangci-lint, both modules
	@scripts/lint.sh

.PHONY: bench
bench: setup build ## measure the demo and the farm of 60 pairs, add rows to docs/benchmarks.md; BENCH=demo or etsy for one
	@scripts/bench.sh

.PHONY: clean
clean: ## remove bin/ and .cache/
	rm -rf bin .cache
