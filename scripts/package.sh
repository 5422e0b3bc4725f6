#!/usr/bin/env bash
# Makes a package for Debian of the source as it is: both programs without debug symbols, manual pages, completions, units, docs
# and examples.
#
#   scripts/package.sh [DIR]          DIR/stowage_VERSION_ARCH.deb; without DIR in bin/package
#   VERSION=0.1.1 scripts/package.sh  as another version than that of the file VERSION
#
# The same commit gives the same bytes: times are those of the commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC0 GOTOOLCHAIN=auto CGO_ENABLED=0
out=$(realpath -m "${1:-$(dirname "$0")/../bin/package}")
cd "$(dirname "$0")/.."

say() { echo "==> $*" >&2; }
die() { echo "package: $1" >&2; echo "  -> $2" >&2; exit 1; }

nfpm_version=v2.43.0
VERSION=${VERSION:-$(cat VERSION)}
ARCH=$(go env GOARCH)
MAINTAINER=${MAINTAINER:-The Stowage authors <stowage@stowage.example>}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)} ||
	die "the time of this source is not known: it is no clone of git" "set SOURCE_DATE_EPOCH"
export VERSION ARCH MAINTAINER SOURCE_DATE_EPOCH

# nfpm packs; built from source by Go itself, once a version, and kept outside of every clone.
kept=${XDG_CACHE_HOME:-$HOME/.cache}/stowage/nfpm-$nfpm_version
if [[ ! -x $kept/nfpm ]]; then
	say "building nfpm $nfpm_version into $kept"
	mkdir -p "$kept"
	making=$(mktemp -d "$kept/making.XXXX")
	(cd / && GOFLAGS= GOBIN=$making go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$nfpm_version")
	mv "$making/nfpm" "$kept/nfpm"
	rmdir "$making"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
# put FILE... DIR: into a directory of the package.
put() { install -D -m 644 -t "$root/${*: -1}" "${@:1:$#-1}"; }
packed() { gzip -9n; }

say "building the programs, without debug symbols"
make --no-print-directory build BIN="$work/bin" LINK="-s -w" VERSION="$VERSION"
install -D -m 755 -t "$root/usr/bin" "$work/bin/stowage" "$work/bin/stowage-engine"

date=$(date -d "@$SOURCE_DATE_EPOCH" +%F)
"$work/bin/stowage" man "$work/man1"
sed -e "s/@DATE@/$date/" -e "s/@VERSION@/$VERSION/" packaging/stowage-engine.1 >"$work/man1/stowage-engine.1"
mkdir -p "$root/usr/share/man/man1"
for page in "$work"/man1/*.1; do
	packed <"$page" >"$root/usr/share/man/man1/${page##*/}.gz"
done

for to in bash:bash-completion/completions/stowage zsh:zsh/vendor-completions/_stowage fish:fish/vendor_completions.d/stowage.fish; do
	mkdir -p "$root/usr/share/$(dirname "${to#*:}")"
	"$work/bin/stowage" completion "${to%%:*}" >"$root/usr/share/${to#*:}"
done

put packaging/stowage-agent.service packaging/stowage-due.service packaging/stowage-due.timer usr/lib/systemd/system
install -d "$root/etc/stowage"

# Pages keep their places, so that the links between them hold.
doc=usr/share/doc/stowage
put README.md ARCHITECTURE.md SECURITY.md NOTICE VERSION "$doc"
install -m 644 packaging/deb/copyright "$root/$doc/copyright"
packed <CHANGELOG.md >"$root/$doc/changelog.gz"
packed <THIRD-PARTY-LICENSES.txt >"$root/$doc/THIRD-PARTY-LICENSES.txt.gz"
printf 'stowage (%s) unstable; urgency=medium\n\n  * What changed for users: changelog.gz.\n\n -- %s  %s\n' \
	"$VERSION" "$MAINTAINER" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | packed >"$root/$doc/changelog.Debian.gz"
git ls-files docs 'examples/*.yaml' 'examples/*.md' 'examples/*.sql' 'examples/*.csv' 'examples/*.svg' packaging ':!packaging/deb' | while read -r file; do
	put "$file" "$doc/$(dirname "$file")"
done
install -D -m 644 packaging/deb/lintian-overrides "$root/usr/share/lintian/overrides/stowage"

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
cp packaging/deb/{nfpm.yaml,postinst,prerm,postrm} "$work/"
mkdir -p "$out"
package=$out/stowage_${VERSION}_$ARCH.deb
(cd "$work" && "$kept/nfpm" package --packager deb --target "$package.new" >&2)
mv "$package.new" "$package"
say "$(du -h "$package" | cut -f1) in $package; install it: dpkg -i $package"
