//go:build race

// Package raced says whether the race detector is on, for tests that leave out
// what takes twenty times as long with it.
package raced

// On is true in a build with the race detector.
const On = true
