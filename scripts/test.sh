#!/usr/bin/env bash
# Everything that is tested: vet, lint, all tests of both modules, and a while of fuzzing. `make test` has done the set-up and the build before.
#
# A fault found by vet or lint does not keep the tests from running; the exit code tells of any of them. A few tests that
# fail are run once more by themselves; what then passes is told at the end and does not fail the run: docs/decisions/0016.
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."
source scripts/farms.sh

# What is sampled takes turns, commit by commit: cmd/stowage/sample_test.go.
export STOWAGE_SEED=${STOWAGE_SEED:-$(git rev-list --count HEAD 2>/dev/null || echo 0)}

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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
most_again=8 # failed tests; more are no accident. Six were, each alone fine, on a machine of which others took a fifth

run_tests() { # MODULE
	local left=$((limit - SECONDS)) log=$work/tests
	((left > 0)) || { echo "the $((limit / 60)) minutes are used up before the tests of $1" >&2; return 1; }
	# go test kills a package that is over time and prints where it stood.
	(cd "$1" && go test -p "$at_once" -timeout "${left}s" ./... 2>&1 | tee "$log") || run_again "$1" "$log"
}

# run_again runs the tests that a log says have failed, package by package. It fails when one fails again, or when more went
# wrong than tests that failed: no build, a panic, no end.
run_again() { # MODULE LOG
	local failed package tests
	failed=$(awk '
		/^--- FAIL: / { tests = tests (tests ? "|" : "") $3; n++ }
		/^FAIL\t/ { if (NF != 3 || tests == "") bad = 1; else print $2, tests; tests = "" }
		/^(ok|\?) *\t/ { tests = "" }
		/^panic: |^fatal error: / { bad = 1 }
		END { if (bad || n > '"$most_again"') exit 1 }' "$2") || return 1
	[[ $failed ]] || return 1
	while read -r package tests; do
		echo "==> again, by themselves: $tests of $package"
		(cd "$1" && go test -count=1 -timeout 20m -run "^($tests)\$" "$package") || return 1
		echo "$package: ${tests//|/, } failed beside other tests and passed alone" >>"$work/unsteady"
	done <<<"$failed"
}

check "go vet, main module" go vet ./...
check "go vet, engined" go -C engined vet ./...
check "lint" scripts/lint.sh
check "models, a sample" scripts/models.sh --sample
check "go test, main module" run_tests .
check "go test, engined" run_tests engined
check "fuzzing, ${FUZZ_SECONDS:-30} s a target" env FUZZ_FAILS_ON=crash scripts/fuzz.sh

echo "sampled with STOWAGE_SEED=$STOWAGE_SEED (make faults takes all):"
go test -count=1 -v -run '^TestWhatATurnTakes$' ./cmd/stowage | sed -n 's/^ *sample_test.go:[0-9]*: /  /p' || :
if [[ -e $work/unsteady ]]; then
	echo "unsteady, each a fault of a test or of what it tests:" >&2
	cat "$work/unsteady" >&2
fi
if [[ $failed ]]; then
	echo "failed: $failed" >&2
	exit 1
fi
