// Package discover drafts the first farm.yaml of a farm that already runs.
//
// It answers: "these servers are ours; which of them belong together?" Ask
// reads what servers say of themselves, and follows replication from one to
// the next; Derive turns that into hosts, pairs and shards; Found.Farm into a
// farm with remarks for whoever reads the draft.
//
// Invariants: servers are only read. Derive and all it calls are pure, and
// the same servers give the same draft, byte for byte, in whatever order they
// were named. What fits no topology of farm.yaml is not guessed: it is named,
// with its cause and a remedy, and left out.
package discover
