# Shared by scripts that run programs in Java: what comes from Maven Central lies in ~/.cache/stowage. Sourced, not run.

maven_die() { echo "maven: $1" >&2; shift; for line in "$@"; do echo "  -> $line" >&2; done; exit 1; }

# need_java PROGRAM PACKAGE...: installs Debian's packages where their program is missing.
need_java() {
	local packages=() log
	while (($#)); do
		command -v "$1" >/dev/null || packages+=("$2")
		shift 2
	done
	((${#packages[@]})) || return 0
	command -v apt-get >/dev/null || maven_die "missing: ${packages[*]}, and this is not Debian" "install Java 17 or newer and Maven by your system's means"
	((EUID == 0)) || maven_die "installing ${packages[*]} needs root" "apt-get install ${packages[*]}"
	echo "==> installing ${packages[*]} from Debian" >&2
	log=$(mktemp)
	if ! { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove "${packages[@]}"; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		maven_die "installing ${packages[*]} failed; the whole log is $log" "correct the cause above and run this again"
	fi
	rm -f "$log"
}

# from_maven NAME GROUP:ARTIFACT:VERSION...: fetches artifacts, and what they need at run time, into ~/.cache/stowage/NAME/lib. Maven asks the
# registry that it is set up for (~/.m2/settings.xml), by default Maven Central.
from_maven() {
	local dir=${XDG_CACHE_HOME:-$HOME/.cache}/stowage/$1 one parts
	shift
	[[ ! -e $dir/version ]] || return 0
	need_java java default-jre-headless mvn maven
	echo "==> fetching $* with Maven into $dir" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	{
		echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
		echo '<groupId>stowage</groupId><artifactId>fetched</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
		for one; do
			IFS=: read -ra parts <<<"$one"
			echo "<dependency><groupId>${parts[0]}</groupId><artifactId>${parts[1]}</artifactId><version>${parts[2]}</version></dependency>"
		done
		echo '</dependencies></project>'
	} >"$dir/pom.xml"
	if ! mvn -B -q -f "$dir/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir/lib" >"$dir/log" 2>&1; then
		grep ERROR "$dir/log" | head -n 5 >&2
		maven_die "Maven fetched nothing; the whole log is $dir/log" "is the registry of ~/.m2/settings.xml to be reached? run this again"
	fi
	printf '%s\n' "$@" >"$dir/version"
}
