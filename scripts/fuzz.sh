#!/usr/bin/env bash
# Runs every fuzz target of the main module for a while, two at once: no input, however wrong, ends in a panic or breaks what
# the target asserts. `make test-all` calls it; a finding is left in the package's testdata/fuzz, where every later test run
# tries it again, and printed, so that a log is enough to have it again.
#
#   FUZZ_SECONDS=30       for each target
#   FUZZ_FAILS_ON=crash   exit with 0 when an assertion is broken by an input that nobody had before: docs/decisions/0016
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-30}
cached=$(go env GOCACHE)/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

# inputs prints each input that a log names: one that was found now, one of testdata/fuzz, or one that an earlier run of
# this machine left in Go's cache. Those that the test itself adds (seed#3) stand in its text.
inputs() { # PACKAGE LOG
	local name file
	while read -r name; do
		for file in "$1/testdata/fuzz/$name" "$cached"/*/"$1/$name"; do
			[[ -f $file ]] || continue
			echo "--- the failing input, to be saved as $1/testdata/fuzz/$name:"
			if (($(wc -c <"$file") <= 8192)); then
				cat "$file"
			else
				echo "(base64 -d | gunzip)"
				gzip -9c "$file" | base64
			fi
			echo "---"
			break
		done
	done < <(grep -oE 'Fuzz[A-Za-z0-9_]+/[0-9a-f]{16,}' "$2" | sort -u)
}

one() { # PACKAGE TARGET
	local log=$work/${1//\//-}-$2 # two packages may have a target of the same name
	# A machine that is busy may report that the time was up as a failure of its own; only a failing input is one.
	if go test -run '^$' -fuzz "^$2\$" -fuzztime "${seconds}s" -fuzzminimizetime 20x -parallel 1 "./$1" >"$log" 2>&1; then
		echo "ok  	$1 $2 $(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
	elif grep -q 'Failing input written to' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
		{ echo "FAIL	$1 $2"; cat "$log"; inputs "$1" "$log"; } >"$log.said"
		cat "$log.said"
		if [[ ${FUZZ_FAILS_ON:-} != crash ]] || grep -qE 'panic: |fatal error: |hung or terminated|signal: killed' "$log" || ! grep -q 'Failing input written to' "$log"; then
			touch "$work/failed"
		fi
	else
		echo "ok  	$1 $2 (stopped by the clock)"
	fi
}

while IFS=: read -r file target; do
	while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
	one "$(dirname "$file")" "$target" &
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/func //; s,^\./,,' | sort)
wait
[[ ! -e $work/failed ]]
