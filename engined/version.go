package main

// Set by the linker, from VERSION and git: see Makefile of the main module.
var (
	version = "unreleased"
	commit  string
	date    string
)

// versionText is what --version prints, in the form of stowage --version.
func versionText() string {
	if commit == "" {
		return "stowage-engine version " + version
	}
	return "stowage-engine version " + version + ", commit " + commit + " of " + date
}
