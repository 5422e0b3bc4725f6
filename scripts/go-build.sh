#!/usr/bin/env bash
# `go build` that shows how far it is: on a terminal one line that is rewritten, elsewhere a line every ten seconds. It says
# nothing when there is nothing to compile.
#
#   scripts/go-build.sh FLAG... -o FILE PACKAGE      what go build takes, with -o FILE
#
# Which packages have to be compiled is what `go list` calls stale: half a second for stowage, one for stowage-engine.
set -euo pipefail

every=${STOWAGE_PROGRESS_SECONDS:-10} # between two lines, where there is no terminal
name="" flags=()                      # the file that is built; what go list takes
for ((i = 1; i < $#; i++)); do
	if [[ ${!i} == -o ]]; then
		((++i))
		name=${!i}
	else
		flags+=("${!i}")
	fi
done
[[ $name ]] || { echo "usage: scripts/go-build.sh FLAG... -o FILE PACKAGE" >&2; exit 2; }
name=bin/${name##*/}

downloads=0 compiled=0 total=0 program="" shown=$SECONDS
declare -A stale=()
width=80
[[ ! -t 2 ]] || width=$(stty size <&2 | cut -d ' ' -f 2)
((width > 0)) || width=80

# say prints a line that stays.
say() {
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	printf '%s\n' "$1" >&2
}

# show says how far it is.
show() {
	local line
	printf -v line '    %d:%02d  %s: %s' $((SECONDS / 60)) $((SECONDS % 60)) "$name" "$1"
	if [[ -t 2 ]]; then
		printf '\r\033[K%s' "${line:0:width-1}" >&2
	elif ((SECONDS - shown >= every)); then
		printf '%s\n' "$line" >&2
		shown=$SECONDS
	fi
}

# follow reads what go says, and shows it. It passes on what it does not know: warnings and errors.
follow() {
	local line ended now=""
	while true; do
		ended=0
		IFS= read -r -t 1 line || ended=$?
		if ((ended > 128)); then # a second without a line
			[[ ! $now ]] || show "$now"
		elif ((ended)); then
			[[ ! -t 2 ]] || printf '\r\033[K' >&2
			return
		elif [[ $line == "go: downloading "* ]]; then
			now="$((++downloads)) modules downloaded, now ${line#go: downloading }"
			show "$now"
		elif [[ ${stale[$line]:-} ]]; then # go prints the name when the compiler begins
			stale[$line]=""
			now="$((++compiled)) of $total packages, now $line"
			[[ $line != "$program" ]] || now="the packages are compiled; the program is compiled and linked"
			show "$now"
		elif [[ ! $line =~ ^[A-Za-z0-9._~/-]+$ ]]; then # no name of a package
			say "$line"
		fi
	done
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
go list "${flags[@]}" -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "${!#}" 2>&1 >"$list" | follow # a Go that fails says why
while IFS= read -r package; do
	stale[$package]=yes program=$package
done <"$list"
total=${#stale[@]} # a stale package may turn out to be the same as before: then go names fewer
if ((total > 1)); then # the program itself is stale where it was never installed
	go build "${@:1:$#-1}" -v "${!#}" 2>&1 | follow
else
	go build "$@"
fi
