#!/usr/bin/env bash
# Puts faults in, one at a time, and says which tier finds each, in how many seconds. The faults are e2e/faultseeds/*.patch: what
# is wrong, and where tests are expected to find it ("found by"), which are tried first. Nothing is changed in this clone: Go
# compiles the changed files instead (-overlay).
#
#   scripts/test-the-tests.sh            all of them
#   scripts/test-the-tests.sh 03 08      those
#
# Fails when fewer than 10 of 12 are found by what `make test` runs, or one is found by nothing. A change that does not compile
# is a fault of the patch.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN=auto CGO_ENABLED=0 GOFLAGS=-trimpath
source scripts/farms.sh
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# overlay PATCH: makes the changed files and the list of them.
overlay() {
	local patch=$1 dir=$work/tree file
	rm -rf "$dir" && mkdir -p "$dir"
	while read -r file; do
		mkdir -p "$dir/$(dirname "$file")"
		cp "$file" "$dir/$file"
		printf '%s\n' "$file"
	done < <(sed -n 's,^+++ b/,,p' "$patch") >"$work/files"
	(cd "$dir" && GIT_CEILING_DIRECTORIES=$work git apply "$root/$patch") || return 1
	awk -v root="$root" -v dir="$dir" 'BEGIN { printf "{\"Replace\": {" } { printf "%s\"%s/%s\": \"%s/%s\"", (NR > 1 ? "," : ""), root, $0, dir, $0 } END { print "}}" }' "$work/files" >"$work/overlay.json"
}

# finds PACKAGES [-run=TESTS]: whether a test of theirs fails. A package that does not compile ends everything.
finds() {
	local packages=$1 live=
	if [[ $packages == *e2e/* ]]; then
		live=$work/stowage-live
		go build -overlay "$work/overlay.json" -tags livetest -o "$live" ./cmd/stowage || return 2
	fi
	set -f # -run has its own wildcards
	# shellcheck disable=SC2086 # a list
	STOWAGE_LIVE=$live go test -short -failfast -overlay "$work/overlay.json" -count=1 -timeout 20m $packages >"$work/log" 2>&1 && return 1
	! grep -qE '\[(build|setup) failed\]' "$work/log" || { cat "$work/log"; return 2; }
	grep -qE '^ *--- FAIL: |^panic: ' "$work/log"
}

quick=0 all=0 n=0 lost=
printf '%-28s %-12s %8s  %s\n' fault "found by" seconds test
for patch in e2e/faultseeds/*.patch; do
	name=$(basename "$patch" .patch)
	(($# == 0)) || [[ " $* " == *" ${name%%-*} "* ]] || continue
	n=$((n + 1)) tier= start=$SECONDS
	overlay "$patch" || { echo "$name: does not apply any more"; exit 1; }
	first=$(sed -n 's/^found by: //p' "$patch")
	for attempt in "$first" "./e2e/moves ./e2e/guards" "./e2e/long/kills ./e2e/long/undo ./e2e/long/shards ./e2e/long/switchover"; do
		code=0
		finds "$attempt" || code=$?
		((code != 2)) || { echo "$name: does not compile"; exit 1; }
		((code == 0)) || continue
		tier=test
		[[ $attempt != *e2e/long/* ]] || tier=test-all
		break
	done
	case $tier in
	test) quick=$((quick + 1)) all=$((all + 1)) ;;
	test-all) all=$((all + 1)) ;;
	*) lost="$lost $name" ;;
	esac
	printf '%-28s %-12s %8d  %s\n' "${name#*-}" "${tier:+make }${tier:-NOTHING}" $((SECONDS - start)) "$(grep -oE -m 1 -- '--- FAIL: [^ ]*' "$work/log" | sed 's/--- FAIL: //')"
done
echo "$n faults: make test finds $quick, make test-all $all"
[[ ! $lost ]] || { echo "found by nothing:$lost" >&2; exit 1; }
((quick * 12 >= n * 10))
