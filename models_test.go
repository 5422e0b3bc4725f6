package stowage_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stowage/act"
	"stowage/alter"
	"stowage/alter/plan"
	"stowage/move"
	"stowage/swing"
)

// The models of models/ say what the code does, step by step and phase by phase, under the same names. These tests hold
// the two together: a phase that comes, goes, or moves in one of them must do so in the other, or be explained here.

// Phases of a model that are no phases of the code, each with the one it is part of and the function that is it.
var modelParts = map[string]map[string][2]string{
	"swing": {
		"wait":         {"barrier", "mysql.Server.WaitFor"},  // the waiting of it, in which others go on
		"serve":        {"flip", "swing.Swing.flip"},         // only without ONE_FLIP
		"afterwards":   {"ready", "swing.Swing.afterwards"},  // what an attempt does that finds it done
		"backout":      {"flip", "swing.Swing.backOut"},      // of any phase
		"backout_gate": {"flip", "swing.Swing.backOut"},      // of any phase
		"rewire_wait":  {"wait", "move.replacement.bringUp"}, // of rewire
		"bring_up":     {"repoint", "swing.Swing.Repoint"},   // of rewire
		"follow":       {"repoint", "mysql.Server.Follow"},   // of rewire
	},
	"cutover": {
		"serve": {"flip", "swing.Cutover.flipTo"}, // only without ONE_FLIP
	},
	"copier": {
		"position":      {"lock", "copier.Fence.take"},
		"barrier_again": {"unlock", "copier.Fence.reachAgain"},
		"open":          {"unlock", "copier.Fence.open"},
		"save":          {"unlock", "copier.Fence.save"},
		"save_late":     {"unlock", "copier.Fence.save"}, // only without SAVE_FIRST
	},
	"alter": {
		"wait":         {"barrier", "mysql.Server.WaitFor"},          // the waiting of it, in which others go on
		"afterwards":   {"ready", "swing.Swing.afterwards"},          // what an attempt does that finds it done
		"option_file":  {"hold", "host.HoldOptions"},                 // of hold, its undo and release
		"hold_applier": {"hold", "mysql.Server.HoldApplier"},         // of hold and of all that alters
		"start":        {"release", "mysql.Server.StartReplicating"}, // of release, and of all that is held for a while only
		"reopen":       {"switch", "alter.work.switchBack"},          // of its undo
		"open_gates":   {"switch", "alter.work.switchBack"},          // of its undo
	},
}

// Steps and phases of the code that a model leaves out, each with the reason.
var notModelled = map[string]map[string]string{
	"swing": {
		"catch-up": "waits, and changes nothing", "warm": "reads, and changes nothing",
		"record": "farm.yaml is not part of who serves whom",
	},
	"copier": {
		"ready":  "waits with nothing closed, and changes nothing",
		"close":  "the model's client sleeps for as long as it likes between its look and its statement: it needs no gate",
		"drain":  "as close",
		"gather": "one side only is modelled; an active-active source is brought to one side before, by a barrier as in the swing",
		"arrive": "as gather, of the target",
	},
	"alter": {
		"preflight": "looks, and changes nothing",
		"catch-up":  "waits, and changes nothing", "check": "looks, and changes nothing", "warm": "reads, and changes nothing",
		"twin-catch-up": "as catch-up", "twin-check": "as check", "twin-warm": "as warm",
		"compare": "the model compares at the end, and nothing differs there",
	},
}

// housekeeping are phases that stand for the engine rather than for the step.
var housekeeping = []string{"begin", "failed", "finished", "backout", "backout_gate"}

func modelText(t *testing.T, name string) string { return readText(t, "models/"+name+".pml") }

// enum is the list of a model's mtype, without its prefix.
func enum(t *testing.T, model, kind, prefix string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?s)mtype:` + kind + ` = \{(.*?)\}`).FindStringSubmatch(modelText(t, model))
	if m == nil {
		t.Fatalf("%s has no mtype:%s", model, kind)
	}
	var out []string
	for _, name := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(", \n\t", r) }) {
		out = append(out, strings.TrimPrefix(name, prefix))
	}
	return out
}

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }

// runbook is the runbook of that name.
func runbook(t *testing.T, name string) act.Runbook {
	t.Helper()
	b, ok := move.ByName(name)
	if !ok {
		t.Fatalf("there is no runbook %s any more: what does the model stand for?", name)
	}
	return b
}

func phasesOf(t *testing.T, b act.Runbook, step string) []string {
	t.Helper()
	for _, s := range b.Steps {
		if s.Name == step {
			return s.Phases
		}
	}
	t.Fatalf("runbook %s has no step %s", b.Name, step)
	return nil
}

// inOrder reports whether all of part are in whole, in that order.
func inOrder(part, whole []string) bool {
	for _, x := range part {
		at := slices.Index(whole, x)
		if at < 0 {
			return false
		}
		whole = whole[at+1:]
	}
	return true
}

func TestSwingModelHasTheNamesOfTheCode(t *testing.T) {
	b := runbook(t, move.Replace)
	if !slices.Equal(phasesOf(t, b, "out"), swing.OutPhases) || !slices.Equal(phasesOf(t, b, "in"), swing.InPhases) {
		t.Error("the steps out and in do not have the phases of package swing")
	}
	var steps, code []string
	for _, s := range enum(t, "swing", "step", "s_") {
		if !strings.HasPrefix(s, "undo_") && !slices.Contains([]string{"done", "undone", "stuck"}, s) {
			steps = append(steps, dashed(s))
		}
	}
	from := slices.IndexFunc(b.Steps, func(s act.Step) bool { return s.Name == "out" })
	for _, s := range b.Steps[from:] {
		if notModelled["swing"][s.Name] == "" {
			code = append(code, s.Name)
		}
		if undo := "undo_" + s.Name; (s.Undo != nil) != slices.Contains(enum(t, "swing", "step", "s_"), undo) && notModelled["swing"][s.Name] == "" {
			t.Errorf("the step %s and its undo: one of model and code has it, and one has not", s.Name)
		}
	}
	if !slices.Equal(steps, code) {
		t.Errorf("steps of the model %v, of the code from out on %v", steps, code)
	}
	model := enum(t, "swing", "phase", "p_")
	for _, phases := range [][]string{swing.OutPhases, swing.InPhases} {
		if !inOrder(phases, model) {
			t.Errorf("the code has the phases %v, the model %v", phases, model)
		}
	}
	known := slices.Concat(swing.OutPhases, swing.InPhases, phasesOf(t, b, "rewire"), phasesOf(t, b, "retire"))
	explained(t, "swing", model, known)
	for _, p := range known {
		if !slices.Contains(model, p) && notModelled["swing"][p] == "" {
			t.Errorf("the phase %s of the code is not in the model, and nothing says why", p)
		}
	}
}

// explained makes sure that each phase of a model is one of the code, or is part of one by modelParts.
func explained(t *testing.T, name string, model, code []string) {
	t.Helper()
	declared := declarations(t)
	for _, p := range model {
		part, isPart := modelParts[name][p]
		switch {
		case isPart:
			pkg, symbol, _ := strings.Cut(part[1], ".")
			if !declared[pkg][symbol] {
				t.Errorf("phase %s of model %s is said to be %s, which does not exist", p, name, part[1])
			}
			if !slices.Contains(code, part[0]) {
				t.Errorf("phase %s of model %s is said to be part of %s, which the code does not have", p, name, part[0])
			}
		case !slices.Contains(code, dashed(p)) && !slices.Contains(housekeeping, p):
			t.Errorf("phase %s of model %s is not in the code", p, name)
		}
	}
}

func TestCutoverModelHasTheNamesOfTheCode(t *testing.T) {
	code := phasesOf(t, runbook(t, "switchover"), "cutover")
	var model []string
	for _, p := range enum(t, "cutover", "phase", "p_") {
		if _, isPart := modelParts["cutover"][p]; !isPart && !slices.Contains(housekeeping, p) {
			model = append(model, dashed(p))
		}
	}
	explained(t, "cutover", enum(t, "cutover", "phase", "p_"), code)
	if !slices.Equal(model, code) {
		t.Errorf("phases of the model %v, of the code %v", model, code)
	}
}

func TestCopierModelHasTheNamesOfTheCode(t *testing.T) {
	b := runbook(t, "shard")
	code, model := phasesOf(t, b, "cutover"), enum(t, "copier", "phase", "p_")
	var both []string
	for _, p := range code {
		if notModelled["copier"][p] == "" {
			both = append(both, p)
		}
	}
	if !inOrder(both, model) {
		t.Errorf("phases of the code %v, of the model %v", both, model)
	}
	explained(t, "copier", model, code)
	// begin, copy, checksum, cutover, soak: the steps of the runbook are prepare, copy, compare, cutover, soak.
	for model, step := range map[string]string{"begin": "prepare", "copy": "copy", "checksum": "compare", "cutover": "cutover", "soak": "soak"} {
		if !slices.Contains(enum(t, "copier", "step", "s_"), model) {
			t.Errorf("model copier has no step %s", model)
		}
		if !slices.ContainsFunc(b.Steps, func(s act.Step) bool { return s.Name == step }) {
			t.Errorf("runbook shard has no step %s, which is %s in the model", step, model)
		}
	}
}

func TestAlterModelHasTheNamesOfTheCode(t *testing.T) {
	b, ok := alter.Kind(nil).Runbook(string(plan.Held))
	if !ok {
		t.Fatalf("there is no runbook %s any more: what does the model stand for?", plan.Held)
	}
	var steps, code []string
	all := enum(t, "alter", "step", "s_")
	for _, s := range all {
		if !strings.HasPrefix(s, "undo_") && !slices.Contains([]string{"done", "undone"}, s) {
			steps = append(steps, dashed(s))
		}
	}
	for _, s := range b.Steps {
		if notModelled["alter"][s.Name] != "" {
			continue
		}
		code = append(code, s.Name)
		if undo := "undo_" + strings.ReplaceAll(s.Name, "-", "_"); (s.Undo != nil) != slices.Contains(all, undo) {
			t.Errorf("the step %s and its undo: one of model and code has it, and one has not", s.Name)
		}
	}
	if !slices.Equal(steps, code) {
		t.Errorf("steps of the model %v, of the code %v", steps, code)
	}
	model, known := enum(t, "alter", "phase", "p_"), code
	for step, want := range map[string][]string{"out": swing.OutPhases, alter.StepSwitch: swing.ExchangePhases, "twin-in": swing.InPhases} {
		phases := phasesOf(t, b, step)
		if !slices.Equal(phases, want) {
			t.Errorf("the step %s has the phases %v, and package swing %v", step, phases, want)
		}
		if !inOrder(phases, model) {
			t.Errorf("the code has the phases %v in %s, the model %v", phases, step, model)
		}
		known = append(known, phases...)
	}
	explained(t, "alter", model, known)
}

// rowsOf are the rows of a table of models/, without its header.
func rowsOf(t *testing.T, file string, columns int) [][]string {
	t.Helper()
	var out [][]string
	for i, line := range strings.Split(strings.TrimSpace(readText(t, file)), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != columns || slices.Contains(cells, "") {
			t.Errorf("%s, line %d: %d cells, want %d and none empty", file, i+1, len(cells), columns)
			continue
		}
		if i > 0 {
			out = append(out, cells)
		}
	}
	return out
}

// TestGuardsAreHeld: every guard of the models is held by a function that exists, every guard that can be taken out of a
// model is in the table, and for each is kept what happens without it.
func TestGuardsAreHeld(t *testing.T) {
	declared := declarations(t)
	symbol := regexp.MustCompile(`^([a-z]+)\.([A-Za-z]+(?:\.[A-Za-z]+)?)$`)
	listed := map[string]bool{}
	for _, row := range rowsOf(t, "models/guards.tsv", 5) {
		model, guard, held := row[0], row[1], row[3]
		listed[model+" "+guard] = true
		if open, ok := strings.CutPrefix(held, "not built yet"); ok {
			t.Logf("%s %s: not built yet%s", model, guard, open)
		} else {
			for _, name := range strings.Split(held, ", ") {
				m := symbol.FindStringSubmatch(name)
				if m == nil || !declared[m[1]][m[2]] {
					t.Errorf("models/guards.tsv: %s %s is held by %s, which does not exist", model, guard, name)
				}
			}
		}
		trace, err := os.ReadFile("models/traces/" + model + "-" + guard + ".txt")
		if err != nil || !strings.Contains(string(trace), "\nFAULT: ") {
			t.Errorf("%s %s has no trace that ends in a fault (scripts/models.sh --traces): %v", model, guard, err)
		}
	}
	taken := regexp.MustCompile(`(?m)^#if(?:n?def|\s).*?\bNO_([A-Z_]+)`)
	for _, model := range []string{"swing", "cutover", "copier", "alter", "reshape", "applier"} {
		found := 0
		for _, m := range taken.FindAllStringSubmatch(modelText(t, model), -1) {
			found++
			if !listed[model+" "+m[1]] && notGuards[model+" "+m[1]] == "" {
				t.Errorf("model %s can be without %s, which models/guards.tsv does not list", model, m[1])
			}
			delete(listed, model+" "+m[1]+" ")
		}
		if found == 0 {
			t.Errorf("nothing can be taken out of %s: this test looks in the wrong place", model)
		}
		for key := range listed {
			name, guard, _ := strings.Cut(key, " ")
			if name == model && !strings.Contains(modelText(t, model), "NO_"+guard) {
				t.Errorf("models/guards.tsv lists %s, which the model does not know", key)
			}
		}
	}
	traces, err := filepath.Glob("models/traces/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range traces {
		if name := strings.Replace(strings.TrimSuffix(filepath.Base(path), ".txt"), "-", " ", 1); !listed[name] {
			t.Errorf("%s is of no guard", path)
		}
	}
}

// notGuards can be taken out of a model without harm: the model is right with and without them.
var notGuards = map[string]string{
	"swing TRUTH":          "an attempt that does not look begins anew, and everything in it can be done twice; looking saves a gate",
	"swing BACKOUT_TRUTH":  "the next attempt finds out",
	"copier INSERT_IGNORE": "the row that is there is the one that would be copied, or newer and its event deferred",
}

// TestPreflightIsDocumented: docs/reference/preflight.md has every question of a replacement, in the order in which they are asked,
// each with a test that exists.
func TestPreflightIsDocumented(t *testing.T) {
	page := readText(t, "docs/reference/preflight.md")
	var checks []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| .+ \\| .+ \\| `(Test\\w+)` \\|$").FindAllStringSubmatch(page, -1) {
		checks = append(checks, m[1])
		if !testNames(t)[m[2]] {
			t.Errorf("docs/reference/preflight.md: %s is said to be tested by %s, which does not exist", m[1], m[2])
		}
	}
	if !slices.Equal(checks, move.Checks()) {
		t.Errorf("docs/reference/preflight.md has %v, the code asks %v", checks, move.Checks())
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, dir := range []string{"move", "mysql", "cmd/stowage", "swing", "e2e/*", "e2e/long/*"} {
		files, err := filepath.Glob(dir + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(readText(t, file), -1) {
				out[m[1]] = true
			}
		}
	}
	return out
}

func TestBoundsAreWellFormed(t *testing.T) {
	sampled := map[string]bool{}
	for _, row := range rowsOf(t, "models/bounds.tsv", 4) {
		if row[2] == "sample" {
			sampled[row[0]] = true
		} else if row[2] != "all" {
			t.Errorf("bounds of %s: when is %q, want sample or all", row[0], row[2])
		}
		for _, define := range strings.Fields(row[1]) {
			name, _, _ := strings.Cut(define, "=")
			if !strings.Contains(modelText(t, row[0]), "#ifndef "+name+"\n") {
				t.Errorf("model %s has no bound %s", row[0], name)
			}
		}
	}
	if len(sampled) != 6 {
		t.Errorf("make test checks %v only", sampled)
	}
}
