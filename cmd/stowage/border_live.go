//go:build livetest

package main

import (
	"os"
	"path/filepath"

	"stowage/command"
	"stowage/internal/border"
)

// Machines of e2e/ are network namespaces, whose kernel is that of this one: each has a file that says which start of it this is. What carries a command out has no
// environment of ours, and finds it in the directory of its agent.
func init() {
	for _, file := range []string{os.Getenv("STOWAGE_BOOT_ID_FILE"), filepath.Join(os.Args[len(os.Args)-1], "../../boot_id")} {
		if _, err := os.Stat(file); err == nil {
			command.BootIDFile = file
			return
		}
	}
}

// ordered is what tests of e2e/ put at the borders between steps: they run a
// program that is built with this tag.
func ordered() func(string) error { return border.Ordered() }
