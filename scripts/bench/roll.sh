#!/usr/bin/env bash
# Rolls a farm under load: a restart of all hosts, an option that needs a restart, a minor upgrade by packages; beside it a shell loop that restarts the same servers. Called by
# scripts/bench.sh. Needs root and what e2e/long/agents needs to boot machines.
#
# Fails when a query of a roll failed or the ledger is not whole; the rows are written all the same.
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

[[ -x bin/stowage-engine ]] || die "build first: make build"
go build -trimpath -tags livetest -o bin/stowage-live ./cmd/stowage || die "the program for tests does not build"
export STOWAGE_LIVE=$PWD/bin/stowage-live
echo "==> bench roll: restarts, an option, a minor upgrade, and a loop of restarts" >&2
quiet_from
failed=
go test -v -count=1 -timeout 30m ./e2e/long/roll -run '^TestLoopOfRestartsFailsQueries$' >"$work/log" 2>&1 || failed=1
go test -v -count=1 -timeout 30m ./e2e/long/agents -run '^TestBootedMachinesAreUpgraded$' >>"$work/log" 2>&1 || failed=1
grep 'NOT TESTED' "$work/log" >&2 && failed=1
while IFS=$'\t' read -r what lost acknowledged ledger out; do
	row roll "| $(date -u +%F) | $what | $lost | $acknowledged | $ledger | $out | $(noise) |"
done < <(sed -n 's/^.*FIGURE\t//p' "$work/log")
grep -q FIGURE "$work/log" || { tail -20 "$work/log" >&2; die "nothing was measured"; }
[[ ! $failed ]] || { grep -v FIGURE "$work/log" | tail -40 >&2; die "something failed, or was not tested"; }
