package reshape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/examples/egnyte-files/files"
	"stowage/farm"
	"stowage/reshape"
	"stowage/reshape/spec"
)

// clients write a few hundred transactions a second.
func clients(seed uint64) files.Clients {
	return files.Clients{Seed: seed, Pause: 5 * time.Millisecond}
}

// killed begins to reshape tenants, and kills the program at a border.
func killed(f *farmtest.FilesFarm, kill, at string, args ...string) {
	f.T.Helper()
	p := farmtest.RunProgram(f.T, kill+" @ "+at, append([]string{"reshape", "-C", f.Dir}, args...)...)
	if !strings.Contains(p.Stdout+p.Stderr, farmtest.MarkOfKill+at) {
		f.T.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
	}
}

// The program is killed at each border in turn, with its engine or without, once for each tenant; resume goes on.
func TestReshapeKilledAtEveryBorder(t *testing.T) {
	book, _ := reshape.Kind(nil).Runbook(reshape.Name)
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
			for hand, points := range farmtest.Dealt(book.Points(), 2) {
				run(fmt.Sprintf("%s %d", topology, hand), func(t *testing.T) {
					f := farmtest.StartFilesFarm(t, topology, 8000, clients(uint64(hand)))
					f.Write()
					if len(f.Tenants) <= len(points) {
						t.Fatalf("%d tenants for %d kills", len(f.Tenants), len(points))
					}
					for n, at := range points {
						killed(f, []string{"both", "stowage"}[n%2], at, "--tenants", "1")
						f.Stowage(farmtest.ExitFine, "1 of 1 tenant right", "resume")
						if active := f.Active(); active != n+1 {
							t.Fatalf("killed at %q: %d tenants are active, want %d", at, active, n+1)
						}
						for name, db := range f.Sides() {
							f.Right(name, db)
							_ = db.Close()
						}
					}
					f.Rest()
				})
			}
		}
	})
}

// A run that was killed before a step and is then given up leaves tables and flags as they were; what an earlier wave rests on stays.
func TestReshapeIsTakenBack(t *testing.T) {
	book, _ := reshape.Kind(nil).Runbook(reshape.Name)
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		run("the first wave", func(t *testing.T) {
			f := farmtest.StartFilesFarm(t, farm.ActiveActive, 4000, clients(3))
			f.Write()
			was := f.Definitions()
			for n, s := range book.Steps[1:] {
				killed(f, []string{"both", "stowage"}[n%2], "before "+s.Name, "--all")
				f.Stowage(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
				for name, is := range f.Definitions() {
					if is != was[name] {
						t.Fatalf("killed before %s and given up: %s has\n%s\nand had\n%s", s.Name, name, is, was[name])
					}
				}
			}
			f.Rest()
		})
		run("a later wave", func(t *testing.T) {
			f := farmtest.StartFilesFarm(t, farm.ActiveActive, 4000, clients(4))
			f.Write()
			f.Stowage(farmtest.ExitFine, "right", "reshape", "--tenants", "2")
			was := f.Definitions()
			for n, s := range book.Steps[1:] {
				killed(f, []string{"both", "stowage"}[n%2], "before "+s.Name, "--all")
				f.Stowage(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
				if active := f.Active(); active != 2 {
					t.Fatalf("killed before %s and given up: %d tenants are active, want 2", s.Name, active)
				}
			}
			for name, is := range f.Definitions() {
				if is != was[name] {
					t.Errorf("%s has\n%s\nand had\n%s", name, is, was[name])
				}
			}
			f.Rest()
		})
		for _, keep := range []spec.Keep{spec.Triggers, spec.Applier} {
			run("what another run has prepared, "+string(keep), func(t *testing.T) {
				f := farmtest.StartFilesFarm(t, farm.ActiveActive, 4000, clients(5))
				if keep == spec.Applier {
					f.KeptByApplier(time.Minute)
				}
				f.Write()
				f.Stowage(farmtest.ExitFine, "", "reshape", "--prepare")
				was := f.Definitions()
				if keep == spec.Applier {
					b := f.Apply()
					defer b.Kill()
				}
				killed(f, "both", "before fill", "--all")
				f.Stowage(farmtest.ExitFine, "", "abort", "--reason", "wrong day")
				for name, is := range f.Definitions() {
					if is != was[name] {
						t.Errorf("%s has\n%s\nand had\n%s", name, is, was[name])
					}
				}
				f.Rest()
			})
		}
	})
}
