#!/usr/bin/env bash
# Ends with what to do when the Go on the PATH is neither the one that go.mod asks for nor able to fetch it.
#
#   scripts/need-go.sh
#
# Go before 1.21 does not know the line "go 1.26.0" and stops with "invalid go version". From 1.21 on Go fetches the one that
# go.mod asks for, unless GOTOOLCHAIN forbids it; the Makefile says GOTOOLCHAIN=auto.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(awk '$1 == "go" { print $2; exit }' go.mod)
fetching=1.21

at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# remedies says where to get a Go, and ends. In November 2026 apt had 1.19 in bookworm, and 1.21 to 1.23 in its backports.
remedies() {
	local arch
	case $(uname -m) in aarch64 | arm64) arch=arm64 ;; *) arch=amd64 ;; esac
	cat >&2 <<-END
	  -> Debian 12: its backports have Go 1.23, which fetches Go $wanted by itself. As root:
	       echo 'deb http://deb.debian.org/debian bookworm-backports main' >/etc/apt/sources.list.d/backports.list
	       apt-get update && apt-get install -t bookworm-backports golang-go
	  -> elsewhere, from https://go.dev/dl, as root:
	       curl -sSL https://go.dev/dl/go$wanted.linux-$arch.tar.gz | tar -C /usr/local -xz
	       export PATH=/usr/local/go/bin:\$PATH
	END
	exit 1
}

if ! path=$(command -v go); then
	echo "go is not on the PATH; go.mod asks for Go $wanted" >&2
	remedies
fi
# Outside of the module, where no line of go.mod stops an old Go or sends a newer one to fetch.
has=$(cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || has=unknown
has=${has#go}
has=${has%% *}
if [[ $has == unknown ]] || ! at_least "$has" "$fetching"; then
	echo "$path is Go $has; go.mod asks for Go $wanted, and Go before $fetching cannot fetch another" >&2
	remedies
fi
at_least "$has" "$wanted" && exit 0
if ! said=$(GOTOOLCHAIN=auto go version 2>&1); then
	echo "$path is Go $has; go.mod asks for Go $wanted, and fetching it failed:" >&2
	echo "     $(tail -n 1 <<<"$said")" >&2
	echo "  -> let this machine reach ${GOPROXY:-https://proxy.golang.org}, or name another with GOPROXY=" >&2
	remedies
fi
