//go:build !race

package raced

// On is true in a build with the race detector.
const On = false
