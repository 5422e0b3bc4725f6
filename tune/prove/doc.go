// Package prove tries a setting that a rule proposes: the rule's step of the
// storage benchmark is run without and with it, by turns, and the setting stays
// only when that helped.
//
// It answers: "this advice is for machines like mine; is it true on mine?" Plan
// says what would be tried, where and by which step, or why that cannot be; it
// changes nothing and measures nothing. Prover carries one Trial out and gives a
// Proof.
//
// Invariants: nothing is changed that the journal does not know as being on
// trial, so that whoever comes after a kill -9 puts it back; whatever goes wrong,
// the settings are as before when Prove returns, or its error says
// farm.ErrOutcomeUnknown. A setting is kept only when bench compare's rules call
// it better, twice in a row, and neither its slowest requests nor its durability
// paid for that. It never measures a device, only a directory, as the benchmark
// does.
//
// Package bench measures and package tune/fix changes settings; neither knows
// that it happens for a proof.
package prove
