// Package plan holds plans of schema changes: which tables of which shards are changed, what each change means there, how each pair does it, and in which waves.
//
// It answers: "what will happen to which table, by which way, in which order?" Its main type is Plan; Make makes one of what servers have and of what a throw-away server says that each
// change means (schema.Judgement).
//
// Invariants: pure; the same farm and the same definitions give the same plan. A table whose change is refused is in no pair of a plan.
package plan
