package fix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/tune"
)

// machine is settings in memory. refuses are paths whose writes fail; becomes
// are paths that take another value than the one they are given.
type machine struct {
	values           map[string]string
	refuses, becomes map[string]string
	log              []string
	// along are paths that take a value of their own when another is set.
	along map[string]map[string]string
}

func (m *machine) Get(_ context.Context, c tune.Change) (string, error) {
	v, ok := m.values[c.Path]
	if !ok {
		return "", errors.New("no such file")
	}
	return v, nil
}

func (m *machine) Set(_ context.Context, c tune.Change, value string) error {
	m.log = append(m.log, c.Path+"="+value)
	if why := m.refuses[c.Path]; why != "" {
		return errors.New(why)
	}
	if other := m.becomes[c.Path]; other != "" && value == c.To {
		value = other
	}
	m.values[c.Path] = value
	maps.Copy(m.values, m.along[c.Path+"="+value])
	return nil
}

func (m *machine) Along(_ context.Context, c tune.Change) map[string]string {
	out := map[string]string{}
	for path := range m.along[c.Path+"="+c.To] {
		out[path] = m.values[path]
	}
	return out
}

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

func nowhere(string) error { return nil }

var errKilled = errors.New("killed")

// killAt ends at the nth border of that name.
func killAt(point string, n int) func(string) error {
	return func(p string) error {
		if p == point {
			if n--; n == 0 {
				return errKilled
			}
		}
		return nil
	}
}

func states(rs []Result) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Path+" "+string(r.State))
	}
	return strings.Join(out, ", ")
}

var (
	a = tune.Change{Path: "/a", From: "1", To: "2"}
	b = tune.Change{Path: "/b", From: "x", To: "y"}
	c = tune.Change{Path: "/c", From: "old", To: "new"}
)

func before() *machine {
	return &machine{values: map[string]string{"/a": "1", "/b": "x", "/c": "old"}}
}

func TestApplyAndRevert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib", "tune.journal")
	j, m := open(t, path), before()
	m.values["/b"] = "z" // somebody was faster
	m.refuses = map[string]string{"/c": "invalid argument"}
	m.values["/d"], m.values["/e"] = "1", "1"
	m.becomes = map[string]string{"/d": "7"}
	changes := []tune.Change{a, b, c, {Path: "/d", From: "1", To: "9"}, {Path: "/e", From: "off", To: "on"}, {Path: "/none", From: "1", To: "2"}}
	got, err := j.Apply(t.Context(), m, Now{At: "t", Boot: "b1"}, changes, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/a set, /b left alone, /c failed, /d failed, /e already, /none failed"; states(got) != want {
		t.Errorf("applied: %s\nwant:    %s", states(got), want)
	}
	if m.values["/a"] != "2" || m.values["/b"] != "z" || m.values["/d"] != "1" {
		t.Errorf("afterwards %v", m.values)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != 1 || !strings.Contains(string(raw), `"/a"`) {
		t.Errorf("the journal has %q (%v), want /a alone", raw, err)
	}
	got, err = j.Revert(t.Context(), m, Now{Boot: "b1"}, nowhere)
	if err != nil || states(got) != "/a put back" || m.values["/a"] != "1" {
		t.Errorf("reverted: %s, %v, %v", states(got), m.values, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the journal is still there: %v", err)
	}
	if got, err := j.Revert(t.Context(), m, Now{}, nowhere); err != nil || len(got) > 0 {
		t.Errorf("reverted once more: %v, %v", got, err)
	}
}

// TestJournalComesFirst: at the border behind the journal nothing has been
// written, and the journal has everything.
func TestJournalComesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune.journal")
	j, m := open(t, path), before()
	if _, err := j.Apply(t.Context(), m, Now{}, []tune.Change{a, b}, killAt("tune journal", 1)); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != 2 || len(m.log) > 0 {
		t.Errorf("journal %q, written %v, %v", raw, m.log, err)
	}
}

// TestRevertAfterEveryKill: wherever it ends, taking back leads to before, and
// can be cut short itself.
func TestRevertAfterEveryKill(t *testing.T) {
	for _, kill := range []func(string) error{killAt("tune journal", 1), killAt("tune set", 1), killAt("tune set", 2), killAt("tune set", 3), nowhere} {
		for n := 1; n <= 4; n++ {
			path := filepath.Join(t.TempDir(), "tune.journal")
			m := before()
			j := open(t, path)
			_, _ = j.Apply(t.Context(), m, Now{Boot: "b"}, []tune.Change{a, b, c}, kill)
			_, _ = j.Revert(t.Context(), m, Now{Boot: "b"}, killAt("tune revert", n))
			if _, err := j.Revert(t.Context(), m, Now{Boot: "b"}, nowhere); err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(m.values), fmt.Sprint(before().values); got != want {
				t.Errorf("after the %d. border of the way back: %s, want %s", n, got, want)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Error("the journal is still there")
			}
		}
	}
}

// TestOthersSettings: what somebody has changed since is theirs, and so is
// everything below /sys after a restart.
func TestOthersSettings(t *testing.T) {
	j, m := open(t, filepath.Join(t.TempDir(), "tune.journal")), before()
	if _, err := j.Apply(t.Context(), m, Now{Boot: "b1"}, []tune.Change{a, b, c}, nowhere); err != nil {
		t.Fatal(err)
	}
	m.values["/a"], m.values["/b"] = "3", "x"
	got, err := j.Revert(t.Context(), m, Now{Boot: "b2"}, nowhere)
	if want := "/c left alone, /b already, /a left alone"; err != nil || states(got) != want {
		t.Errorf("%s, want %s (%v)", states(got), want, err)
	}
	if m.values["/a"] != "3" || m.values["/c"] != "new" {
		t.Errorf("afterwards %v", m.values)
	}
	for _, r := range got {
		if r.State == Left && !strings.Contains(r.Why, "someone else") {
			t.Errorf("%s: %q does not say whose it is", r.Path, r.Why)
		}
	}
}

// TestTwiceThenBack: two runs changed one setting; the way back leads to
// before both.
func TestTwiceThenBack(t *testing.T) {
	j, m := open(t, filepath.Join(t.TempDir(), "tune.journal")), before()
	for _, x := range []tune.Change{a, {Path: "/a", From: "2", To: "3"}} {
		if _, err := j.Apply(t.Context(), m, Now{}, []tune.Change{x}, nowhere); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Revert(t.Context(), m, Now{}, nowhere); err != nil || m.values["/a"] != "1" {
		t.Errorf("/a is %s, want 1 (%v)", m.values["/a"], err)
	}
}

// TestWhatCannotBeReachedStays in the journal, for the next time.
func TestWhatCannotBeReachedStays(t *testing.T) {
	j, m := open(t, filepath.Join(t.TempDir(), "tune.journal")), before()
	if _, err := j.Apply(t.Context(), m, Now{}, []tune.Change{a, b}, nowhere); err != nil {
		t.Fatal(err)
	}
	delete(m.values, "/a")
	if got, err := j.Revert(t.Context(), m, Now{}, nowhere); err != nil || states(got) != "/b put back, /a failed" {
		t.Errorf("%s, %v", states(got), err)
	}
	m.values["/a"] = "2"
	if got, err := j.Revert(t.Context(), m, Now{}, nowhere); err != nil || states(got) != "/a put back" || m.values["/a"] != "1" {
		t.Errorf("%s, %v", states(got), err)
	}
}

func TestJournalFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune.journal")
	j := open(t, path)
	if _, err := Open(path); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("opened twice: %v", err)
	}
	whole := `{"at":"t","boot":"","path":"/a","from":"1","to":"2"}` + "\n"
	for text, want := range map[string]string{whole + `{"at":"t","pa`: "/a already", whole + "rubbish\n": "error"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := j.Revert(t.Context(), before(), Now{}, nowhere)
		if want == "error" {
			if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "tune.journal:2") {
				t.Errorf("rubbish: %v", err)
			}
		} else if err != nil || states(got) != want {
			t.Errorf("cut short: %s, %v", states(got), err)
		}
	}
}

// TestTrial: what is tried is taken back by TakeBack and by nobody's --fix before it; what is kept is like any other change.
func TestTrial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tune.journal")
	j, m := open(t, path), before()
	if _, err := j.Apply(t.Context(), m, Now{}, []tune.Change{a}, nowhere); err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		if got, err := j.Try(t.Context(), m, Now{}, []tune.Change{b}, nowhere); err != nil || states(got) != "/b set" || m.values["/b"] != "y" {
			t.Fatalf("turn %d: %s, %v, %v", turn, states(got), m.values, err)
		}
		if turn == 2 {
			break
		}
		if got, err := j.TakeBack(t.Context(), m, Now{}, nowhere); err != nil || states(got) != "/b put back" || m.values["/a"] != "2" {
			t.Fatalf("turn %d: %s, %v, %v", turn, states(got), m.values, err)
		}
	}
	if err := j.Keep(); err != nil {
		t.Fatal(err)
	}
	if got, err := j.TakeBack(t.Context(), m, Now{}, nowhere); err != nil || len(got) > 0 {
		t.Errorf("kept, and taken back: %s, %v", states(got), err)
	}
	if got, err := j.Revert(t.Context(), m, Now{}, nowhere); err != nil || states(got) != "/b put back, /a put back" {
		t.Errorf("%s, %v", states(got), err)
	}
}

// TestTrialAfterEveryKill: wherever a trial is killed, whoever opens the journal next takes it back, and leaves what was fixed before.
func TestTrialAfterEveryKill(t *testing.T) {
	for _, kill := range []func(string) error{killAt("tune journal", 1), killAt("tune set", 1), killAt("tune set", 2), nowhere} {
		for n := range 3 {
			path := filepath.Join(t.TempDir(), "tune.journal")
			j, m := open(t, path), before()
			if _, err := j.Apply(t.Context(), m, Now{}, []tune.Change{c}, nowhere); err != nil {
				t.Fatal(err)
			}
			_, _ = j.Try(t.Context(), m, Now{}, []tune.Change{a, b}, kill)
			_, _ = j.TakeBack(t.Context(), m, Now{}, killAt("tune revert", n))
			j.Close()
			if _, err := open(t, path).TakeBack(t.Context(), m, Now{}, nowhere); err != nil {
				t.Fatal(err)
			}
			if m.values["/a"] != "1" || m.values["/b"] != "x" || m.values["/c"] != "new" {
				t.Errorf("killed at border %d of the way back: %v", n, m.values)
			}
		}
	}
}

// TestKilledBetweenTwoThatGoTogether: a limit of the queue takes read-ahead along, and read-ahead is tried as well. Killed between the two, it has a
// value that nobody chose: it comes back all the same.
func TestKilledBetweenTwoThatGoTogether(t *testing.T) {
	limit, ahead := tune.Change{Path: "/limit", From: "32", To: "1280"}, tune.Change{Path: "/ahead", From: "0", To: "128"}
	for n := range 3 {
		m := &machine{values: map[string]string{"/limit": "32", "/ahead": "0"}, along: map[string]map[string]string{"/limit=1280": {"/ahead": "2560"}, "/limit=32": {"/ahead": "128"}}}
		j := open(t, filepath.Join(t.TempDir(), "tune.journal"))
		_, _ = j.Try(t.Context(), m, Now{}, []tune.Change{limit, ahead}, killAt("tune set", n))
		got, err := j.TakeBack(t.Context(), m, Now{}, nowhere)
		if err != nil || m.values["/limit"] != "32" || m.values["/ahead"] != "0" {
			t.Errorf("killed at border %d: %v, %v, %v", n, states(got), m.values, err)
		}
		for _, r := range got {
			if r.State != Restored && r.State != Already {
				t.Errorf("killed at border %d: %s is %s: %s", n, r.Path, r.State, r.Why)
			}
		}
	}
}

// TestWhatChangesAlong: a scheduler brings a queue depth of its own. The way back leads to the depth of before, and not to the kernel's default.
func TestWhatChangesAlong(t *testing.T) {
	m := &machine{values: map[string]string{"/scheduler": "bfq", "/depth": "64"}, along: map[string]map[string]string{
		"/scheduler=none": {"/depth": "128"}, "/scheduler=bfq": {"/depth": "256"},
	}}
	j := open(t, filepath.Join(t.TempDir(), "tune.journal"))
	if _, err := j.Try(t.Context(), m, Now{}, []tune.Change{{Path: "/scheduler", From: "bfq", To: "none"}}, nowhere); err != nil || m.values["/depth"] != "128" {
		t.Fatal(err, m.values)
	}
	if _, err := j.TakeBack(t.Context(), m, Now{}, killAt("tune revert", 1)); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	m.values["/depth"] = "256" // killed before it came to that
	got, err := j.Revert(t.Context(), m, Now{}, nowhere)
	if want := "/scheduler already, /depth put back"; err != nil || states(got) != want || m.values["/depth"] != "64" {
		t.Errorf("%s, %v, %v; want %s", states(got), m.values, err, want)
	}
}
