// Package claims holds what several sources say of one farm against each
// other.
//
// It answers: "who says what, who disagrees, and whose fault is it?" A Claim
// is one sentence of one source, with its place. Set collects claims, and
// Reconcile makes a Report of them: every disagreement with all claims side by
// side, the source that decides, and the culprits.
//
// Invariants: no source is true by being the majority. A culprit is called
// sure only by a live server that speaks of itself, by a declared authority
// that somebody else confirms, by a source that contradicts itself, or by a
// name that is only misspelt. Everything else is "stale or wrong" or a "tie".
// A source that could not be read has no vote and is never blamed; a source
// that was read in part is never said to lack something. A copy of another
// source has no vote of its own. Equal claims give equal reports.
//
// It reads no file and asks nobody: see inventory/sources.
package claims
