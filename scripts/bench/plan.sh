#!/usr/bin/env bash
# Measures `stowage plan`: Etsy in 2016, generated farms of 1,200 and 12,000 servers beside a public prototype on the same data in
# the same run, public instances of vector bin packing, and planning again. Called by scripts/bench.sh.
#
#   CONFORMANCE=../shared/conformance/plan   the folder with gen_farm.py, spread.py and vectorpack/
#   SEEDS="20160101 1 2 3 4"                 farms of 1,200 servers
#   PARTS="etsy farms public"                which of it
#   VBP_STEP=6                               every Nth public instance; 1: all, about an hour
source "$(dirname "$0")/common.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

data=${CONFORMANCE:-../shared/conformance/plan}
ours=$PWD/bin/stowage
python=/usr/bin/python3 # the one that has Debian's numpy

[[ -x bin/stowage ]] || die "build first: make build"
(cd scripts/bench/tools && go build -o "$work/" ./farmgen ./measure) || die "the tools of this benchmark do not build"

# field NAME reads a number from the top level of a plan.
field() { sed -n "s/^ \"$1\": \([-0-9.e+]*\),\{0,1\}\$/\1/p" "$work/plan.json" | head -n 1; }

most_megabytes=0

# plan DIR FLAGS... plans and leaves plan.json, seconds and MB.
plan() {
	local dir=$1
	shift
	"$work/measure" -rounds 1 "x=$ours -C $dir plan --dry-run --json $* >$work/plan.json" >"$work/took" || die "plan of $dir failed"
	seconds=$(field seconds)
	whole=$(cut -f 5 "$work/took") megabytes=$(cut -f 6 "$work/took")
	((megabytes <= most_megabytes)) || most_megabytes=$megabytes
}

if wanted etsy; then
	echo "==> bench plan: Etsy in 2016" >&2
	quiet_from
	cp -r examples/etsy-2016 "$work/etsy"
	for unit in instance:30 shard:28; do
		plan "$work/etsy" --unit "${unit%:*}"
		figure plan "Etsy 2016, ${unit%:*}s: hosts" "$(field hosts_used)" "==" "${unit#*:}" "bound $(field lower_bound), $(rounded 1 "$seconds") s"
		figure plan "Etsy 2016, ${unit%:*}s: bound" "$(field lower_bound)" "==" "${unit#*:}" "a certificate that placement/check has proved again"
		figure plan "Etsy 2016, ${unit%:*}s: seconds" "$(rounded 2 "$seconds")" "<=" 5 "to solve and to check"
	done
fi

[[ -d $data ]] || { echo "bench plan: NOT MEASURED: no folder $data with the generator and the public instances" >&2; exit 0; }
$python -c 'import numpy' || die "$python has no numpy: scripts/setup.sh bench installs it"

farms() { # K SEED LIMIT_SHARD LIMIT_INSTANCE
	local unit limit peer
	$python "$data/gen_farm.py" "$1" "$2" "$work/farm.csv"
	for unit in shard instance; do
		limit=$3
		[[ $unit == shard ]] || limit=$4
		echo "==> bench plan: $((120 * $1)) servers, seed $2, unit $unit" >&2
		quiet_from
		mkdir -p "$work/farm"
		"$work/farmgen" "$work/farm.csv" "$work/farm" "$unit"
		plan "$work/farm"
		peer=$($python scripts/bench/plan_peer.py "$data" "$1" "$2" "$unit")
		figure plan "$((120 * $1)) servers, ${unit}s, seed $2: hosts of one side" "$(awk -v h="$(field hosts_used)" 'BEGIN { print h / 2 }')" "<=" "${limit:-${peer% *}}" \
			"both sides: bound $(field lower_bound), gap $(awk -v g="$(field gap)" 'BEGIN { printf "%.2f %%", 100 * g }'); the prototype: ${peer% *} in ${peer#* } s"
		figure plan "$((120 * $1)) servers, ${unit}s, seed $2: no worse than the prototype" "$(awk -v h="$(field hosts_used)" -v p="${peer% *}" 'BEGIN { print h / 2 - p }')" "<=" 0 "hosts of one side more"
		figure plan "$((120 * $1)) servers, ${unit}s, seed $2: seconds" "$(rounded 1 "$seconds")" "<=" 10 "to solve and check; with reading and writing files $(rounded 1 "$whole") s, $megabytes MB"
	done
}
if wanted farms; then
	for seed in ${SEEDS:-20160101 1 2 3 4}; do
		if [[ $seed == 20160101 ]]; then farms 10 "$seed" 135 138; else farms 10 "$seed" "" ""; fi
	done
	farms 100 20160101 1354 1376
	figure plan "12,000 servers: memory, MB" "$most_megabytes" "<=" 2048 "the most of any run"
	# Without a plan there is nothing to explain, and that is said once the farm is read and checked.
	"$work/measure" -rounds 3 "x=! $ours -C $work/farm plan explain nobody 2>/dev/null" >"$work/took" || die "reading the farm failed"
	figure plan "reading a farm.yaml of 96,000 shards, seconds" "$(cut -f 5 "$work/took")" "<=" 5 "$(($(stat -c %s "$work/farm/farm.yaml") / 1000000)) MB, read and checked; $(cut -f 2 "$work/took") s of processors"

	echo "==> bench plan: the same twice" >&2
	quiet_from
	$python "$data/gen_farm.py" 10 20160101 "$work/farm.csv"
	"$work/farmgen" "$work/farm.csv" "$work/farm" instance
	for n in 1 2; do
		GOMAXPROCS=$n plan "$work/farm"
		grep -v '^ "\(made\|seconds\)"' "$work/plan.json" >"$work/plan$n"
	done
	figure plan "lines in which two plans of one farm differ" "$(diff "$work/plan1" "$work/plan2" | grep -c '^[<>]' || true)" "==" 0 "on one processor and on two; made and seconds left out"

	echo "==> bench plan: planning again" >&2
	quiet_from
	CONFORMANCE=$(readlink -f "$data") K=10 go test -count=1 -run TestPlanningAgainMovesLittle -v ./placement >"$work/again" || cat "$work/again" >&2
	again=$(sed -n 's/.*FIGURE planning again: \([0-9.]*\) of.*/\1/p' "$work/again")
	figure plan "1,200 servers planned again: data copied / data that had to move" "${again:-9}" "<=" 1.2 \
		"$(sed -n 's/.*FIGURE planning again: [0-9.]* of //p' "$work/again")"
fi

if wanted public; then
	echo "==> bench plan: public instances" >&2
	quiet_from
	: >"$work/vbp"
	n=0
	while IFS=$'\t' read -r family file bound optimum heuristic; do
		path=$data/vectorpack/$family/$file
		[[ -f $path ]] || continue
		n=$((n + 1))
		((n % ${VBP_STEP:-6} == 1 || ${VBP_STEP:-6} == 1)) || continue
		"$work/measure" -rounds 1 "x=$ours plan --vbp $path --json >$work/plan.json" >"$work/took" || die "packing $path failed"
		$python scripts/bench/plan_peer.py check "$path" "$work/plan.json" || die "the packing of $path is wrong"
		echo "$(field hosts_used) $(field lower_bound) ${heuristic:-0} ${optimum:-0} $(cut -f 5 "$work/took")" >>"$work/vbp"
	done < <(sed 's/\t\t/\t0\t/' "$data/vectorpack/known.tsv")
	share() { awk "{ n += $2 } $1 { k++ } END { printf \"%.0f\", n ? 100 * k / n : 0 }" "$work/vbp"; }
	what="$(wc -l <"$work/vbp") instances, the slowest $(sort -k 5 -n "$work/vbp" | tail -n 1 | cut -d' ' -f 5) s"
	figure plan "public instances packed within 10 s, %" "$(share '$5 <= 10' 1)" "==" 100 "$what; every packing counted again"
	figure plan "public instances at least as good as the best published heuristic, %" "$(share '$1 <= $3' 1)" ">=" 95 "$what"
	figure plan "public instances strictly better than it, %" "$(share '$1 < $3' 1)" ">=" 33 "$what"
	figure plan "public instances equal to the optimum, where it is known, %" "$(share '$4 > 0 && $1 == $4' '($4 > 0)')" ">=" 60 "$what"
	figure plan "public instances proved optimal, %" "$(share '$1 == $2' 1)" ">=" 33 "$what"
fi

[[ ! $missed ]] || die "goals that were not reached: ${missed#; }"
