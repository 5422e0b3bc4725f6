#!/usr/bin/env bash
# Everything that is tested: vet, lint, all tests of both modules, and a while of fuzzing. `make test` has done the set-up and the build before.
#
# A fault found by vet or lint does not keep the tests from running; the exit code tells of any of them.
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."

# All of it together. Tests start real servers: two packages at once keep two cores busy, more only makes them wait.
limit=$((50 * 60))
at_once=2

failed=
check() { # TEXT COMMAND...
	local text=$1
	echo "==> $text"
	shift
	"$@" || failed="$failed${failed:+, }$text"
}

run_tests() { # MODULE
	local left=$((limit - SECONDS))
	((left > 0)) || { echo "the $((limit / 60)) minutes are used up before the tests of $1" >&2; return 1; }
	# go test kills a package that is over time and prints where it stood.
	(cd "$1" && go test -p "$at_once" -timeout "${left}s" ./...)
}

check "go vet, main module" go vet ./...
check "go vet, engined" go -C engined vet ./...
check "lint" scripts/lint.sh
check "models, a sample" scripts/models.sh --sample
check "go test, main module" run_tests .
check "go test, engined" run_tests engined
check "fuzzing, ${FUZZ_SECONDS:-30} s a target" scripts/fuzz.sh

if [[ $failed ]]; then
	echo "failed: $failed" >&2
	exit 1
fi
