// Package catalogue says which backups there are, which belong together, which
// may go, and what is wrong with them.
//
// It answers: "from what can this instance be restored, up to which second, and
// who has ever tried?" Its main type is Backup; Chains puts them together.
//
// Invariants: a chain goes as a whole or not at all; the newest chain that is
// proven never goes; a backup that was never restored is called unproven by
// whatever shows it. The package is pure: no clock, no connection, no file.
package catalogue
