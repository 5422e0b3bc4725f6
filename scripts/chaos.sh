#!/usr/bin/env bash
# Random fault schedules against a small farm under load: servers killed, frozen and cut off, Stowage and its engine killed, at
# borders and at any moment, while sides, primaries, single instances and shards are moved. After every round the ledger is held
# against all sides, and routing, farm.yaml, option files and servers against each other.
#
#   ROUNDS=200 SEED=1 make chaos     rounds 1 to 200 of seed 1 (the defaults)
#   SEED=1 ROUND=17 make chaos       one of them, alone
#   RUNBOOK=switchover ...           only replace, switchover, replica, single, shard, shard-primary, alter, alter-apart or alter-primary
#   MINUTES=480 ROUNDS=10000 ...     no new round after that time
#   LANES=3 ...                      so many farms side by side (6)
#
# Needs root, for network namespaces of its own; nothing of it is seen outside of them. A round takes 3 s of a processor.
set -euo pipefail
export GOTOOLCHAIN=auto CGO_ENABLED=0
cd "$(dirname "$0")/.."
source scripts/farms.sh

export ROUNDS=${ROUNDS:-200} SEED=${SEED:-1} MINUTES=${MINUTES:-600} LANES=${LANES:-6}
echo "==> chaos: ${RUNBOOK:+$RUNBOOK, }${ROUND:+round $ROUND alone, of }$ROUNDS rounds of seed $SEED, at most $MINUTES minutes" >&2
go test ./e2e/long/faults -run '^TestChaos$' -count=1 -timeout 0 -v
