#!/usr/bin/env bash
# What `make test-all` takes a sample of, whole: the program and its engine killed at every border of every runbook, steps that fail
# there, and servers killed, cut off and frozen there. Some two hours on two cores; farms run side by side.
#
#   LANES=6            so many farms at the faults of servers
#   RUNBOOK=replace    only those of replace, switchover, replica, single, shard, shard-primary, alter, alter-apart or alter-primary
#   PARTS="kills servers"
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."
source scripts/farms.sh

failed=
if [[ ${PARTS:-kills} == *kills* ]]; then
	STOWAGE_ALL_POINTS=1 STOWAGE_FAULTS=all go test -p 1 -count=1 -timeout 12h -run 'Kill|Fail|Disk' ./e2e/long/kills ./e2e/long/undo ./e2e/long/shards ./e2e/long/faults ./e2e/long/record ./e2e/long/bench ./e2e/long/flavors || failed=1
fi
if [[ ${PARTS:-servers} == *servers* ]]; then
	STOWAGE_FAULTS=all LANES=${LANES:-6} go test -count=1 -v -timeout 12h -run '^TestFaultAtBorders$' ./e2e/long/faults || failed=1
fi
[[ ! $failed ]]
