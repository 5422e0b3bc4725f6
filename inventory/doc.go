// Package inventory asks the sources of truth what the farm is, and shows
// where they disagree.
//
// It answers: "what do we have, and who says so?" Today there are two sources:
// farm.yaml, which people agreed on, and the live servers, which know best
// what runs. Inventory is the main type: every instance as its server
// describes it, and the findings.
//
// Invariants: it reads only; an instance that cannot be reached is a finding
// and never a failure of the whole; nothing is written to farm.yaml unless a
// person accepts it.
package inventory
