package tune_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"stowage/internal/turns"
	"stowage/tune"
	"stowage/tune/probe"
)

// foreignTrees are machines that others recorded. They lie beside the project's
// own directory, or where STOWAGE_MACHINES says; a user's clone has none.
var foreignTrees = cmp.Or(os.Getenv("STOWAGE_MACHINES"), "../../shared/conformance/tune/trees")

// byAnswers are the rules that judge answers of tools, one subject after the other. Their trees are spoilt, and no
// finding of any rule may turn into "followed" by that.
var byAnswers = []string{"RAID-AWB", "RAID-DISK", "RAID-RA", "RAID-DEGR", "RAID-CHUNK", "RAID-HOT", "HW-WEAR", "HW-HEAT", "CPU-WAIT"}

// TestForeignMachines: no rule says "followed" of a machine where that is not
// known, and what is wrong there is found.
func TestForeignMachines(t *testing.T) {
	if _, err := os.Stat(foreignTrees); err != nil {
		t.Skip("NOT TESTED: there are no recorded machines beside this clone")
	}
	text, err := os.ReadFile(filepath.Join("testdata", "foreign.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	reports := map[string]tune.Report{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if _, ok := reports[f[0]]; !ok {
			reports[f[0]] = tune.Audit(probe.Read(t.Context(), probe.Recorded(filepath.Join(foreignTrees, f[0])), nil, nil), tune.Rules())
		}
		if got := stateOf(reports[f[0]], f[1], f[2]); got != f[3] {
			t.Errorf("%s, %s, %s: %s, want %s (%s)", f[0], f[1], f[2], got, f[3], strings.Join(f[4:], ""))
		}
	}
	if len(reports) < 150 {
		t.Errorf("%d machines", len(reports))
	}
}

// stateOf is what a rule says of one subject, or of all.
func stateOf(r tune.Report, id, subject string) string {
	if subject == "*" && slices.Contains(r.Followed, id) {
		return tune.Followed
	}
	state := "nothing"
	for _, s := range r.States {
		if s.ID != id || subject != "*" && s.Subject != subject {
			continue
		}
		if state = s.State; state == tune.NotFollowed {
			break
		}
	}
	if subject == "*" && state == tune.Followed { // the last of several subjects, of which one is not known
		return tune.Unknown
	}
	return state
}

// TestSpoiltAnswersPassNothing: answers of tools are cut, emptied, garbled, and
// their values given other types. A rule that found something before may find it
// still or not know; it never says that it is followed.
func TestSpoiltAnswersPassNothing(t *testing.T) {
	turns.One(t, 8)
	t.Parallel()
	rounds := 10000
	if testing.Short() {
		rounds = 500
	}
	var trees []*machine
	for _, id := range byAnswers {
		a, err := txtar.ParseFile(filepath.Join("testdata", "rules", id+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range cases(a) {
			trees = append(trees, machineOf(append(filesOf(a, "base"), filesOf(a, name)...), id+" "+name))
		}
	}
	trees = append(trees, foreign(t)...)
	trees = slices.DeleteFunc(trees, func(m *machine) bool { return len(m.answers()) == 0 || !m.isSick(t) })
	if len(trees) < 20 {
		t.Fatalf("%d machines with findings", len(trees))
	}
	random := rand.New(rand.NewPCG(25, 25))
	for n := range rounds {
		m := trees[n%len(trees)]
		name, text, how := m.spoil(random)
		m.write(t, name, text)
		report := m.audit(t)
		m.write(t, name, m.files[name])
		for _, id := range m.ids {
			if slices.Contains(report.Followed, id) {
				t.Errorf("round %d, %s: %s of %s turned a finding of %s into followed:\n%s", n, m.name, how, name, id, text)
			}
		}
	}
}

// machine is a recorded tree.
type machine struct {
	name  string
	files map[string]string
	dir   string
	ids   []string // rules with findings
}

func machineOf(files []txtar.File, name string) *machine {
	m := &machine{name: name, files: map[string]string{}}
	for _, f := range files {
		_, path, _ := strings.Cut(f.Name, "/")
		m.files[path] = string(f.Data)
	}
	return m
}

func foreign(t *testing.T) (all []*machine) {
	dirs, _ := filepath.Glob(foreignTrees + "/*")
	for _, dir := range dirs {
		m := &machine{name: filepath.Base(dir), files: map[string]string{}}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			inside, _ := filepath.Rel(dir, path)
			m.files[inside] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// answers are the names of the files that tools filled, or the kernel for a disk.
func (m *machine) answers() (names []string) {
	for name := range m.files {
		if strings.HasPrefix(name, "commands/") || strings.HasPrefix(name, "sys/block/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isSick writes the tree, and reports whether a rule finds something.
func (m *machine) isSick(t *testing.T) bool {
	m.dir = t.TempDir()
	for name, text := range m.files {
		m.write(t, name, text)
	}
	for _, f := range m.audit(t).Findings {
		if !slices.Contains(m.ids, f.ID) {
			m.ids = append(m.ids, f.ID)
		}
	}
	return len(m.ids) > 0
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) audit(t *testing.T) tune.Report {
	return tune.Audit(probe.Read(t.Context(), probe.Recorded(m.dir), nil, nil), tune.Rules())
}

// spoil is one answer, changed.
func (m *machine) spoil(r *rand.Rand) (name, text, how string) {
	names := m.answers()
	name = names[r.IntN(len(names))]
	text = m.files[name]
	switch r.IntN(4) {
	case 0:
		return name, "", "an emptied answer"
	case 1:
		return name, text[:r.IntN(len(text)+1)], "a cut answer"
	case 2:
		return name, garbled(r, text), "garbled bytes"
	}
	return name, retyped(r, text), "another type"
}

// garbled puts bytes that no tool writes in place of others. A digit that became
// another digit is another answer, and nobody could tell.
func garbled(r *rand.Rand, text string) string {
	raw := []byte(text)
	for range 1 + r.IntN(8) {
		if len(raw) > 0 {
			raw[r.IntN(len(raw))] = "\x00\xff?~"[r.IntN(4)]
		}
	}
	return string(raw)
}

// retyped gives a value of a JSON answer another type; of other answers it drops a
// value behind its colon.
func retyped(r *rand.Rand, text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		lines := strings.Split(text, "\n")
		i := r.IntN(len(lines))
		key, _, _ := strings.Cut(lines[i], ":")
		lines[i] = key + ":"
		return strings.Join(lines, "\n")
	}
	var places []func(any)
	gather(v, &places)
	if len(places) > 0 {
		places[r.IntN(len(places))]([]any{nil, "", []any{}, map[string]any{}, "many"}[r.IntN(5)])
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// gather lists where values stand, in an order that does not change.
func gather(v any, places *[]func(any)) {
	switch x := v.(type) {
	case map[string]any:
		var keys []string
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			*places = append(*places, func(to any) { x[k] = to })
			gather(x[k], places)
		}
	case []any:
		for i := range x {
			*places = append(*places, func(to any) { x[i] = to })
			gather(x[i], places)
		}
	}
}
