// Package decide answers: which of these storages is to be bought, and what
// does that rest on?
//
// A Decision has goals (fast, reasonably priced, reasonably safe) with weights
// and hard limits, and candidates with figures: measured by a bench, published
// by somebody, or claimed by a data sheet. Judge makes an Outcome of it: who is
// out and by how much, who is ahead and how surely, what one lost device costs,
// and what would have to be otherwise for somebody else to be ahead.
//
// Invariants:
//
//   - A missing figure is unknown. It is never 0, passes no hard limit, and
//     whoever lacks one cannot be named the winner, nor can anybody whom it
//     could overtake.
//   - Every figure keeps what it rests on (Basis) and where it comes from, and
//     what is reckoned from several rests on the weakest of them.
//   - A figure without an interval bounds nothing, unless the decision says how
//     far such figures may be off (Doubt).
//   - Worth is a weighted geometric mean: only ratios count. So the unit of a
//     price does not matter, and a further candidate does not change how two
//     others stand to each other.
//   - Sensitivity is found by judging again: what it says flips, flips.
//
// It is pure. Package workspace reads decision.yaml, and report writes the
// document.
package decide
