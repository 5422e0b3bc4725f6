package main

// Set by the linker, from VERSION and git: see Makefile. The commit ends with -dirty where files differed from it, and the date is the commit's: the same
// source makes the same program on any day.
var (
	version = "unreleased"
	commit  string
	date    string
)

// versionText is what --version prints of this program.
func versionText() string {
	if commit == "" {
		return version
	}
	return version + ", commit " + commit + " of " + date
}

// stamp names this program in results and answers that outlast it: 0.1.0+4bf380f1a2b3.
func stamp() string {
	if commit == "" {
		return version
	}
	return version + "+" + commit
}
