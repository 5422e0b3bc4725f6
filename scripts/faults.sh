#!/usr/bin/env bash
# What `make test` takes a sample of, whole: the program and its engine killed at every border of every runbook, steps that fail
# there, and servers killed, cut off and frozen there. Some two hours on two cores; farms run side by side.
#
#   LANES=6            so many farms at the faults of servers
#   RUNBOOK=replace    only those of replace, switchover, replica, single, shard or shard-primary
#   PARTS="kills servers"
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."
source scripts/farms.sh

failed=
if [[ ${PARTS:-kills} == *kills* ]]; then
	STOWAGE_ALL_POINTS=1 STOWAGE_FAULTS=all go test -count=1 -timeout 12h -run 'Kill|Fail|Disk' ./cmd/stowage || failed=1
fi
if [[ ${PARTS:-servers} == *servers* ]]; then
	STOWAGE_FAULTS=all LANES=${LANES:-6} go test -count=1 -v -timeout 12h -run '^TestFaultAtBorders$' ./cmd/stowage || failed=1
fi
[[ ! $failed ]]
