#!/usr/bin/env bash
# Checks the models of models/: each holds within every row of models/bounds.tsv, searched exhaustively, and falls when any one
# guard of models/guards.tsv is taken out. A guard that can be taken out without harm is an error: either the model is too
# coarse or the guard is for nothing.
#
#   scripts/models.sh            all of it: `make models`; 2 min 39 s on two cores with little other work, and alter besides
#   scripts/models.sh --sample   the bounds that are marked so, and all guards: `make test-all`
#   scripts/models.sh copier     one model
#   scripts/models.sh --traces   writes models/traces anew instead: for each guard the shortest run that goes wrong without it
#
# Needs spin and a C compiler (scripts/setup.sh test).
set -euo pipefail
cd "$(dirname "$0")/../models"

traces= sample= only=
for argument in "$@"; do
	case $argument in
	--traces) traces=yes ;;
	--sample) sample=yes ;;
	swing | cutover | copier | alter | reshape | applier) only=$argument ;;
	*) echo "models: unknown argument $argument" >&2; exit 2 ;;
	esac
done
for program in spin gcc; do
	command -v "$program" >/dev/null || { echo "models: $program is not there; scripts/setup.sh test installs it" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
here=$PWD

# build DIR MODEL BOUNDS GUARD FLAG...: makes DIR/pan, of the model without the guard unless that is empty.
build() {
	local dir=$1 model=$2 defines=()
	for bound in $3; do defines+=("-D$bound"); done
	[[ ! $4 ]] || defines+=("-DNO_$4")
	cp "$here/$model.pml" "$dir/"
	printf '%s\n' "${defines[@]}" >"$dir/defines"
	shift 4
	if ! (cd "$dir" && spin "${defines[@]}" -a "$model.pml" && gcc -w -DSAFETY -DNOFAIR "$@" -o pan pan.c) >"$dir/build.log" 2>&1; then
		cat "$dir/build.log"
		touch "$work/failed"
		return 1
	fi
}

# replay DIR MODEL: the run that pan found, in the words of the model.
replay() {
	local defines
	mapfile -t defines <"$1/defines"
	local names='s/#0/A/g; s/#1/B/g; s/#2/N/g'
	[[ $2 == cutover ]] && names='s/#0/P/g; s/#1/N/g'
	[[ $2 == copier ]] && names='s/#0/S/g; s/#1/T/g'
	(cd "$1" && spin -t -T "${defines[@]}" "$2.pml") | sed -n '/^\(stowage\|copier\|client\|server\)[ #0-9]*: \|^FAULT/p' |
		sed -E "$names; s/\b[hsp]_([a-z])/\1/g; s/\bundo_/undo /g; s/([a-z])_([a-z])/\1-\2/g; /^FAULT/q"
}

# holds MODEL BOUNDS: the whole model, every state.
holds() {
	local dir start=$SECONDS
	dir=$(mktemp -d "$work/holds.XXXX")
	build "$dir" "$1" "$2" "" -O2 -DCOLLAPSE -DMEMLIM=6000 || return 0
	(cd "$dir" && ./pan -m200000 >pan.log 2>&1) || true
	local states
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$dir/pan.log")
	if [[ -e $dir/$1.pml.trail ]]; then
		echo "FAIL	$1 $2"
		replay "$dir" "$1"
		touch "$work/failed"
	elif ! grep -q 'errors: 0' "$dir/pan.log" || grep -qE 'max search depth too small|reached -DMEMLIM|Search not completed|out of memory' "$dir/pan.log"; then
		echo "FAIL	$1 $2: not searched to the end"
		tail -n 20 "$dir/pan.log"
		touch "$work/failed"
	else
		echo "ok	$1 $2: $states states, $((SECONDS - start)) s"
		echo "$states" >>"$work/states"
	fi
	rm -rf "$dir"
}

# falls MODEL GUARD BOUNDS HELD WITHOUT: the model without the guard. Breadth first finds the shortest run, and takes longer.
falls() {
	local dir shortest=(-O0)
	dir=$(mktemp -d "$work/falls.XXXX")
	[[ ! $traces ]] || shortest=(-O1 -DBFS)
	build "$dir" "$1" "$3" "$2" "${shortest[@]}" -DMEMLIM=4000 || return 0
	(cd "$dir" && ./pan -m200000 >pan.log 2>&1) || true
	if [[ ! -e $dir/$1.pml.trail ]]; then
		echo "FAIL	$1 without $2: nothing goes wrong within $3"
		touch "$work/failed"
	else
		replay "$dir" "$1" >"$dir/trace"
		if ! grep -q '^FAULT' "$dir/trace"; then
			echo "FAIL	$1 without $2: the model itself is at fault"
			tail -n 5 "$dir/trace" "$dir/pan.log"
			touch "$work/failed"
		else
			echo "$1 $2" >>"$work/fallen"
			[[ ! $traces ]] || { printf '%s without %s, within %s:\n%s.\n\n' "$1" "$2" "$3" "$5"; cat "$dir/trace"; } >"$here/traces/$1-$2.txt"
		fi
	fi
	rm -rf "$dir"
}

# Two at once: the largest takes a gigabyte.
in_turn() {
	while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
	"$@" &
}

[[ ! $traces ]] || mkdir -p traces
chosen() { [[ ! $only || $1 == "$only" ]]; }
while IFS=$'\t' read -r model bounds when _; do
	if chosen "$model" && [[ ! $traces ]] && [[ ! $sample || $when == sample ]]; then in_turn holds "$model" "$bounds"; fi
done < <(tail -n +2 bounds.tsv)
while IFS=$'\t' read -r model guard bounds held without; do
	! chosen "$model" || in_turn falls "$model" "$guard" "$bounds" "$held" "$without"
done < <(tail -n +2 guards.tsv)
wait
echo "$(awk '{n += $1} END {print n + 0}' "$work/states" 2>/dev/null) states; $(wc -l 2>/dev/null <"$work/fallen" || echo 0) guards, each of them needed; $SECONDS s"
[[ ! -e $work/failed ]]
