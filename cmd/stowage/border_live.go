//go:build livetest

package main

import "stowage/internal/border"

// ordered is what tests of e2e/ put at the borders between steps: they run a
// program that is built with this tag.
func ordered() func(string) error { return border.Ordered() }
