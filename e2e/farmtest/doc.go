// Package farmtest makes farms under load on servers of their own, and runs
// the program on them.
//
// It answers: "how does a test move a real farm while clients write, kill the
// program or a server at a point of its choice, and say whether anything was
// lost?" Its main type is LiveFarm; StartFarm makes one, CheckWhole judges it.
//
// Invariants: the program is a process of its own, built with the tag livetest
// (see internal/border) and in nothing else different from the one that is
// shipped; nothing of a farm is left when its test ends; a test that cannot be
// run here says what was not tested.
//
// The tests are in the packages beside it. Their paths are their tiers: `make
// test` runs what is in e2e/, `make test-all` besides what is in e2e/long/:
// docs/internals/tests.md.
package farmtest
