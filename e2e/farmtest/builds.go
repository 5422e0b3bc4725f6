package farmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The builds of MariaDB that the machine's own suite offers, the older first, and one of ours whose server does not start.
const (
	OlderBuild  = "1:10.11.18-0+deb12u1"
	NewerBuild  = "1:10.11.19-0+deb12u1"
	BrokenBuild = "1:10.11.20-0+deb12u1"
)

// serverPackages are what Debian builds from MariaDB's source, as far as it is installed where tests run.
var serverPackages = []string{"mariadb-server", "mariadb-server-core", "mariadb-client", "mariadb-client-core", "mariadb-common", "mariadb-backup", "libmariadb3"}

// Builds makes a directory a source of packages for apt, with both builds, and that of ours. It skips the test where they cannot be had: they are downloaded once.
func Builds(t *testing.T, dir string) {
	t.Helper()
	cache := filepath.Join(os.Getenv("HOME"), ".cache/stowage/mariadb-builds")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(in, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = in
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said.String())
		}
		return string(out)
	}
	for _, version := range []string{OlderBuild, NewerBuild} {
		for _, name := range serverPackages {
			pattern := filepath.Join(cache, fmt.Sprintf("%s_%s_*.deb", name, strings.ReplaceAll(version, ":", "%3a")))
			if found, _ := filepath.Glob(pattern); len(found) == 0 {
				get := exec.Command("apt-get", "download", name+"="+version)
				get.Dir = cache
				if out, err := get.CombinedOutput(); err != nil {
					t.Skipf("NOT TESTED: packages of two builds of MariaDB: apt cannot download %s %s: %v\n%s", name, version, err, out)
				}
			}
			found, _ := filepath.Glob(pattern)
			if len(found) != 1 {
				t.Fatalf("%s: %v", pattern, found)
			}
			run(dir, "cp", found[0], filepath.Join(dir, strings.ReplaceAll(filepath.Base(found[0]), "%3a", "_"))) // apt would read %3a as a colon
			if version == NewerBuild {
				breakBuild(t, run, dir, name, found[0])
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(run(dir, "dpkg-scanpackages", "--multiversion", ".")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// breakBuild makes a package of the broken build of one that is well.
func breakBuild(t *testing.T, run func(in, name string, args ...string) string, dir, name, from string) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), name)
	run(dir, "dpkg-deb", "-R", from, tree)
	run(tree, "sed", "-i", "s/"+NewerBuild+"/"+BrokenBuild+"/g", "DEBIAN/control")
	if server := filepath.Join(tree, "usr/sbin/mariadbd"); name == "mariadb-server-core" {
		if err := os.WriteFile(server, []byte("#!/bin/sh\necho '[ERROR] this build does not start' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(dir, "dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, filepath.Join(dir, name+"_broken.deb"))
}
