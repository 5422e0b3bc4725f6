#!/usr/bin/env bash
# Measures what `stowage digest compare` claims falsely and what it finds, on load that drifts slowly (digest/aa_test.go), and adds
# rows to docs/measuring/benchmarks.md. Some 40 minutes on two idle processors. Called by scripts/bench.sh.
#
#   PAIRS=200          pairs of windows of the same load, for each window, correlation time and kind of load; of changes half as many
#   SEED=500000        other numbers, other weather
#   COMPARED="FILES"   takes the rows from what earlier runs of the tests printed, and runs nothing
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT

export STOWAGE_DIGEST_AA_SEED=${SEED:-500000}
pairs=${PAIRS:-200}
compared=${COMPARED:-}
quiet_from
if [[ ! $compared ]]; then
	for which in DriftsSlowly TurnsAChange; do
		echo "==> bench compare: $which, $pairs pairs" >&2
		compared+=" $work/$which"
		STOWAGE_DIGEST_AA=$pairs go test -count=1 -timeout 6h -v -run "$which" ./digest >"$work/$which" || { cat "$work/$which" >&2; die "$which failed"; }
		pairs=$((pairs / 2))
	done
fi
noise=$([[ ${COMPARED:-} ]] && echo "of earlier runs: not noted; the figures do not depend on it" || noise)

# Each line of the tests' output is a sentence; what is wanted of it is before or behind known words.
# shellcheck disable=SC2086
sed -n 's/^.*: \([0-9]*\) s windows, correlation *\([0-9]*\) s, \([a-z]*\) load: false \([0-9.]*\) % of [0-9]* judgements, exit 1 in \([0-9.]*\) % of \([0-9]*\) pairs.*unchanged \([0-9.]*\) %.*/\1 s | \2 s | \3 | \6 | \4 % | \5 % | \7 %/p' $compared |
	while read -r line; do row compare-false "| $(date -u +%F) | $line | $noise |"; done
# shellcheck disable=SC2086
sed -n 's/^.*: \([0-9]*\) s windows, correlation *\([0-9]*\) s, \(.*[^ ]\) *found *\([0-9.]*\) %, wrong way \([0-9]*\), others blamed \([0-9.]*\) %, host seen *\([0-9.]*\) %.* of \([0-9]*\) pairs$/\1;\2;\3;\4;\5;\6;\7;\8/p' $compared |
	awk -F ';' '
	{ key = $1 " s | " $2 " s"; if (!(key in of)) order[++n] = key; of[key] = $8; found[key, $3] = $4; seen[key, $3] = $7; wrong[key] += $5; if ($6 > blamed[key]) blamed[key] = $6 }
	END { for (i = 1; i <= n; i++) { k = order[i]
		printf "%s | %s | %s %% | %s %% | %s %% | %s %% | %s %% | %d | %s %%\n", k, of[k], found[k, "one class x2"], found[k, "one class x1.3"], found[k, "7 of 12 classes x10"], seen[k, "host x1.8"], found[k, "host x1.8, one class x2"], wrong[k], blamed[k] + 0 } }' |
	while read -r line; do row compare-change "| $(date -u +%F) | $line | $noise |"; done
