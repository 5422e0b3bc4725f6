package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/backup/kept"
	"stowage/explain"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

// nameSource is a workspace as completion reads it. Nothing is asked of a server, and nothing is written. What cannot be read is empty.
type nameSource struct {
	ws   *workspace.Workspace // nil: there is none
	farm *farm.Farm
	db   *store.Store
}

func newNameSource(dir string) *nameSource {
	ws, _ := workspace.Open(dir) // whoever completes a word does not ask why
	return &nameSource{ws: ws}
}

func (k *nameSource) close() {
	if k.db != nil {
		_ = k.db.Close()
	}
}

// Farm is farm.yaml, or what of it has a name, read when it is asked for first.
func (k *nameSource) Farm() *farm.Farm {
	if k.farm == nil {
		k.farm = &farm.Farm{}
		if k.ws == nil {
			return k.farm
		}
		if f, err := k.ws.FarmNames(largestParsed); err == nil {
			k.farm = f
		}
	}
	return k.farm
}

// Store is what is kept, or nil.
func (k *nameSource) Store() *store.Store {
	if k.db == nil && k.ws != nil {
		k.db, _ = store.OpenToRead(k.ws.StatePath("stowage.db"))
	}
	return k.db
}

// largestParsed bounds a farm.yaml that is parsed between two keys: one of 144 kB (960 shards) takes 50 ms of a processor. Of a larger one only names are read.
const largestParsed = 128 << 10

// names are of one kind, or of several.
type names struct {
	read  func(*nameSource) []cobra.Completion
	files bool // names of files are wanted besides
}

func (n names) and(more names) names {
	return names{func(k *nameSource) []cobra.Completion { return append(n.read(k), more.read(k)...) }, n.files || more.files}
}

func (n names) orFiles() names { return names{n.read, true} }

// ofFarm are names that are in farm.yaml.
func ofFarm(list func(*farm.Farm) []cobra.Completion) names {
	return names{read: func(k *nameSource) []cobra.Completion { return list(k.Farm()) }}
}

// ofFiles are files of the workspace, by their names.
func ofFiles(list func(*workspace.Workspace) []string) names {
	return names{read: func(k *nameSource) []cobra.Completion {
		if k.ws == nil {
			return nil
		}
		return list(k.ws)
	}}
}

// ofStore are names of what is kept.
func ofStore(list func(*store.Store) []cobra.Completion) names {
	return names{read: func(k *nameSource) []cobra.Completion {
		if k.Store() == nil {
			return nil
		}
		return list(k.Store())
	}}
}

// The kinds of names.
var (
	allHosts = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, h := range f.Hosts {
			out = append(out, described(string(h.Name), string(h.Type)))
		}
		return out
	})
	allHostTypes = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, t := range f.HostTypes {
			out = append(out, described(string(t.Name), "host type"))
		}
		return out
	})
	allPairs = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, p := range f.Pairs {
			out = append(out, described(string(p.Name), farm.Counted(len(p.Shards), "shard")))
		}
		return out
	})
	allSides = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, p := range f.Pairs {
			for _, s := range p.SideNames() {
				out = append(out, described(string(p.Name)+"/"+string(s), "on "+string(p.Sides[s].Host)))
			}
		}
		return out
	})
	allInstances = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, p := range f.Pairs {
			for _, s := range p.SideNames() {
				out = append(out, described(string(p.Instance(s)), "on "+string(p.Sides[s].Host)))
			}
		}
		return out
	})
	allShards = ofFarm(func(f *farm.Farm) (out []cobra.Completion) {
		for _, p := range f.Pairs {
			for _, s := range p.Shards {
				out = append(out, described(string(s.Name), "in "+string(p.Name)))
			}
		}
		return out
	})

	allPlans     = ofFiles((*workspace.Workspace).PlanNames)
	allAlters    = ofFiles((*workspace.Workspace).AlterNames)
	allSpecs     = ofFiles((*workspace.Workspace).ReshapeNames)
	allRolls     = ofFiles(func(w *workspace.Workspace) []string { plans, _ := w.RollNames(); return plans })
	allPlaybooks = ofFiles(func(w *workspace.Workspace) []string { _, playbooks := w.RollNames(); return playbooks })
	// allResults are results of benches where the report looks for them, as paths from here.
	allResults = ofFiles(func(w *workspace.Workspace) (out []string) {
		here, _ := filepath.Abs(".")
		paths, _ := filepath.Glob(w.Path(benchFiles)) // only a malformed pattern is an error
		for _, p := range paths {
			if rel, err := filepath.Rel(here, p); err == nil {
				p = rel
			}
			out = append(out, p)
		}
		return out
	})

	allRuns = names{read: func(k *nameSource) (out []cobra.Completion) {
		if k.Store() == nil {
			return nil
		}
		runs, _ := act.Runs(k.Store())
		for _, r := range runs {
			out = append(out, described(r.ID, stateOf(k.ws, r)))
		}
		return out
	}}
	allDigests = ofStore(func(s *store.Store) (out []cobra.Completion) {
		docs, _ := s.Documents("digest")
		seen := map[string]bool{}
		for _, d := range docs {
			if !seen[d.Name] {
				seen[d.Name] = true
				out = append(out, described(d.Name, "digest of "+d.Made.Local().Format("2006-01-02 15:04")))
			}
		}
		return out
	})
	allBackups = ofStore(func(s *store.Store) (out []cobra.Completion) {
		all, _ := kept.All(s)
		for _, b := range all {
			out = append(out, described(b.ID, string(b.Kind)+" of "+string(b.Instance)))
		}
		return out
	})

	allCodes = names{read: func(*nameSource) (out []cobra.Completion) {
		for _, c := range explain.Codes() {
			out = append(out, described(c.Code, c.Cause))
		}
		return out
	}}
	sideLetters = names{read: func(*nameSource) []cobra.Completion { return []cobra.Completion{string(farm.A), string(farm.B)} }}
)

// described is a name with what the shell shows beside it, in one line.
func described(name, about string) cobra.Completion {
	about, _, _ = strings.Cut(about, "\n")
	return cobra.CompletionWithDesc(name, cmp.Or(strings.TrimSpace(about), "-"))
}
