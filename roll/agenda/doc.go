// Package agenda decides in which order hosts are rolled, and how many at once.
//
// It answers: "in which order are these hosts taken out, which of them together,
// how long does that take, and which pairs are served by one side when?" Its main type
// is Plan, which people review and `stowage roll` carries out as it is.
//
// Invariants: every host stands in one batch; no two hosts of a batch have sides
// of one pair; a batch is within the limits of farm, rack and feed. The same farm
// gives the same plan.
//
// The package is pure: no clock, no context, no connection, no logger.
package agenda
