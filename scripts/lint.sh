#!/usr/bin/env bash
# Formatting and faults, in all modules, with the one configuration .golangci.yml.
#
#   scripts/lint.sh            both
#   scripts/lint.sh --format   formatting only: gofmt is part of Go
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."

version=v2.15.0
config=$PWD/.golangci.yml

echo "==> gofmt"
unformatted=$(gofmt -l .)
if [[ $unformatted ]]; then
	echo "not formatted (gofmt -w):" >&2
	echo "$unformatted" >&2
	exit 1
fi

[[ ${1:-} != --format ]] || exit 0

# Built from source by Go itself, once a version, and kept outside of every clone: 72 s and 100 s of CPU (2 cores).
kept=${XDG_CACHE_HOME:-$HOME/.cache}/stowage/golangci-lint-$version
if [[ ! -x $kept/golangci-lint ]]; then
	echo "==> building golangci-lint $version into $kept (a minute or two)"
	mkdir -p "$kept"
	making=$(mktemp -d "$kept/making.XXXX")
	(cd / && GOFLAGS= GOBIN=$making go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version")
	mv "$making/golangci-lint" "$kept/golangci-lint"
	rmdir "$making"
fi

echo "==> golangci-lint $version"
# Another checkout on this machine may be linted just now: that is no fault of this one.
failed=
for module in . engined scripts/bench/tools; do
	(cd "$module" && "$kept/golangci-lint" run --allow-parallel-runners --config "$config" ./...) || failed=yes
done
[[ ! $failed ]]
