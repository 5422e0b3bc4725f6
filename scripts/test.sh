#!/usr/bin/env bash
# Runs the tests of a tier. Tiers are paths: docs/internals/tests.md says what each is for and how long it takes.
#
#   scripts/test.sh check        no servers, no engine: make check
#   scripts/test.sh test         everything but e2e/long/: make test
#   scripts/test.sh all          everything: make test-all
#   scripts/test.sh ci           test, and then as much of all as fits: .ci/run
#   scripts/test.sh part NAME... parts of all, by the names of scripts/test.sh parts
#   scripts/test.sh parts        what all has besides test, with the minutes that each takes
#
# A fault found by one part does not keep the others from running; the exit code tells of any of them. A few tests that fail
# are run once more by themselves; what then passes is told at the end and does not fail the run: docs/decisions/0016. Nothing
# fails for being slow: what is slow is said. docs/decisions/0030.
set -euo pipefail
cd "$(dirname "$0")/.."
# Programs and tests are compiled in one way, or everything is compiled twice.
export GOTOOLCHAIN=auto CGO_ENABLED=0 GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"
source scripts/farms.sh

# What is sampled takes turns, commit by commit: e2e/farmtest/sample.go.
export STOWAGE_SEED=${STOWAGE_SEED:-$(git rev-list --count HEAD 2>/dev/null || echo 0)}
export STOWAGE_LIVE=${STOWAGE_LIVE:-$PWD/bin/stowage-live}

# Packages of tests wait for their servers for half of the time: four at once keep two cores busy.
at_once=4
# Tests that say t.Parallel mostly wait for servers.
farms=6
# Only hangs take so long: a slow machine is no fault.
hang=120m

failed=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check TEXT COMMAND...: runs it, and says how long it took.
check() {
	local text=$1 start=$SECONDS
	echo "==> $text"
	shift
	"$@" || failed="$failed${failed:+, }$text"
	echo "    $text: $((SECONDS - start)) s"
}

# told FILE PROCESS: what a process that ran beside others wrote, and how it ended.
told() {
	local code=0
	wait "$2" || code=$?
	cat "$1"
	return $code
}

most_again=8 # failed tests; more are no accident. Six were, each alone fine, on a machine of which others took a fifth

# run_tests MODULE ARG...: go test, and once more what failed.
run_tests() {
	local module=$1 log
	log=$(mktemp "$work/tests.XXXX")
	shift
	(cd "$module" && go test -p "$at_once" -parallel "$farms" -timeout "$hang" "$@" 2>&1 | tee "$log") || run_again "$module" "$log"
}

# run_again runs the tests that a log says have failed, package by package. It fails when one fails again, or when more went
# wrong than tests that failed: no build, a panic, no end, a race (which is a fault however seldom it shows).
run_again() { # MODULE LOG
	local failed package tests
	failed=$(awk '
		/^--- FAIL: / { tests = tests (tests ? "|" : "") $3; n++ }
		/^FAIL\t/ { if (NF != 3 || tests == "") bad = 1; else print $2, tests; tests = "" }
		/^(ok|\?) *\t/ { tests = "" }
		/^panic: |^fatal error: |race detected during execution/ { bad = 1 }
		END { if (bad || n > '"$most_again"') exit 1 }' "$2") || return 1
	[[ $failed ]] || return 1
	while read -r package tests; do
		echo "==> again, by themselves: $tests of $package"
		(cd "$1" && go test -count=1 -timeout "$hang" -run "^($tests)\$" "$package") || return 1
		echo "$package: ${tests//|/, } failed beside other tests and passed alone" >>"$work/unsteady"
	done <<<"$failed"
}

# Packages, by what their tests stand on.
module() { go list ./...; }
quick() { module | grep -v '/e2e/long/'; }
long() { go list ./e2e/long/... | sed 's,.*/e2e/long/,,'; }
# longest_first: a package that takes a minute and begins last has the cores for itself.
longest_first() {
	awk '/\/(copier|agent|engine|route|digest|mysql|mysql\/rows|record|replay|host|placement\/check)$|\/cmd\/|\/e2e\// { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }'
}
# pure are those whose tests start no server, no engine and no browser: what they are on says so.
pure() {
	go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | awk '
		!/\.test / || /\/e2e\// { next }
		/ stowage\/(internal\/(mariadbtest|browsertest|netlab)|e2e\/farmtest|route\/routetest|host\/hosttest|engine)( |$)/ { next }
		{ sub(/\.test$/, "", $1); print $1 }'
}

# threaded are those of pure whose own files start goroutines: elsewhere there is nothing to race, and searches take ten times as long.
threaded() {
	pure | while read -r package; do
		! grep -qsE '\bgo func|\.Go\(|t\.Parallel|^[[:space:]]*go [a-z]' "./${package#stowage}"/*.go || echo "$package"
	done
}

# -short leaves out what takes minutes of a processor: the part whole of test-all has it.
raced() { CGO_ENABLED=1 run_tests . -race -short "$@"; }
raced_all() { CGO_ENABLED=1 run_tests . -race -short $(pure); }

# raced_move: the test and the program it runs both have the race detector; a race ends the program with exit code 66.
raced_move() {
	local CGO_ENABLED=1
	export CGO_ENABLED
	go build -race -tags livetest -o "$work/stowage-race" ./cmd/stowage || return 1
	STOWAGE_LIVE=$work/stowage-race go test -race -count=1 -timeout "$hang" -run '/^replace$' ./e2e/moves
}

tier_check() {
	check "gofmt" scripts/lint.sh --format
	check "go vet" go vet ./...
	check "tests that need no server" env STOWAGE_SERVERS=none go test -short -timeout "$hang" $(quick | grep -v /e2e/)
}

# beside is what runs beside tests that wait for servers, and takes what they leave of the processors.
beside() {
	go vet ./... && go -C engined vet ./... && run_tests engined ./... && raced -p 2 "$@"
}

tier_test() {
	local threaded
	threaded=$(threaded)
	beside $threaded >"$work/beside" 2>&1 &
	local beside=$!
	check "go test, main module" run_tests . -short $(quick | grep -vxF "$threaded" | longest_first)
	check "beside the others: go vet, go test in engined, go test -race of packages that start goroutines and no servers" told "$work/beside" $beside
}

# part NAME: one part of what test-all has besides test.
part() {
	case $1 in
	whole) check "what -short leaves out" run_tests . $(quick | grep -v /e2e/) ;;
	turns) check "e2e, what takes turns" run_tests . $(quick | grep /e2e/) ;;
	lint) check "lint" scripts/lint.sh ;;
	models) check "models, a sample" scripts/models.sh --sample ;;
	fuzz) check "fuzzing, ${FUZZ_SECONDS:-30} s a target" env FUZZ_FAILS_ON=crash scripts/fuzz.sh ;;
	race)
		check "go test -race, a live move" raced_move
		check "go test -race, all packages that start no servers" raced_all
		;;
	faultseeds) check "test the tests" scripts/test-the-tests.sh ;;
	agentfaults) check "e2e/long/agents, faults" env STOWAGE_AGENT_FAULTS=1 "${BASH:-bash}" scripts/test.sh package ./e2e/long/agents ;;
	long/*) check "e2e/$1" run_tests . "./e2e/$1" ;;
	*) echo "test: there is no part $1; there are:" >&2; parts >&2; exit 2 ;;
	esac
}

# parts are their names and the minutes each took on two cores, by scripts/parts.tsv; "-": nobody has measured it.
parts() {
	{ printf '%s\n' whole turns lint models fuzz race faultseeds agentfaults; long | sed 's,^,long/,'; } | while read -r name; do
		printf '%s\t%s\n' "$name" "$(awk -v n="$name" '$1 == n { print $2; exit }' scripts/parts.tsv)"
	done
}

# tier_some runs parts until the time is up, beginning with another one after each commit. A part that nobody has measured cannot
# be planned for: run it once, and write its minutes into scripts/parts.tsv.
tier_some() { # SECONDS
	local until=$1 names n name minutes i left= unmeasured=
	mapfile -t names < <(parts)
	n=${#names[@]}
	for ((i = 0; i < n; i++)); do
		read -r name minutes <<<"${names[(STOWAGE_SEED * 11 + i) % n]}"
		if [[ $minutes == - ]]; then
			unmeasured="$unmeasured $name"
		elif ((SECONDS + minutes * 60 <= until)); then
			part "$name"
		else
			left="$left $name"
		fi
	done
	echo "not run, because the time was up (the next commits have their turn; make test-all has all):${left:- nothing}"
	echo "not run, for scripts/parts.tsv has no minutes of it:${unmeasured:- nothing}"
}

summary() {
	echo "==> $1: $((SECONDS / 60)) min $((SECONDS % 60)) s, sampled with STOWAGE_SEED=$STOWAGE_SEED"
	if [[ -e $work/unsteady ]]; then
		echo "unsteady, each a fault of a test or of what it tests:" >&2
		cat "$work/unsteady" >&2
	fi
	if [[ $failed ]]; then
		echo "failed: $failed" >&2
		exit 1
	fi
}

case ${1:-} in
check) tier_check ;;
test) tier_test ;;
all)
	tier_test
	while read -r name _; do part "$name"; done < <(parts)
	;;
ci)
	tier_test
	# 25 minutes of what is left, and no more than 36 in all, with the CI_SPENT seconds that setting up and compiling took.
	most=$((2160 - ${CI_SPENT:-0}))
	tier_some $((SECONDS + 1500 < most ? SECONDS + 1500 : most))
	;;
part)
	shift
	for name; do part "$name"; done
	;;
parts) parts; exit ;;
package) run_tests . "$2" ; exit ;;
*) echo "test: say which: check, test, all, ci, part NAME or parts" >&2; exit 2 ;;
esac
summary "$*"
