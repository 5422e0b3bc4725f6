#!/usr/bin/env bash
# Formatting and faults, in both modules, with the one configuration .golangci.yml.
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."

# Built from source by Go itself: 72 s and 100 s of CPU the first time (2 cores), then from the build cache.
linter=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
config=$PWD/.golangci.yml

echo "==> gofmt"
unformatted=$(gofmt -l .)
if [[ $unformatted ]]; then
	echo "not formatted (gofmt -w):" >&2
	echo "$unformatted" >&2
	exit 1
fi

echo "==> golangci-lint (built the first time: a minute or two)"
# Another checkout on this machine may be linted just now: that is no fault of this one.
failed=
for module in . engined scripts/bench/tools; do
	(cd "$module" && go run "$linter" run --allow-parallel-runners --config "$config" ./...) || failed=yes
done
[[ ! $failed ]]
