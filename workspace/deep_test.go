package workspace

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"stowage/farm"
)

// 40 kB of brackets in a plan made 4.1 GB.
func TestNestedBracketsTakeGigabytes(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, c := range map[string]struct {
		read func(src []byte) error
		src  string
	}{
		"plan":    {func(src []byte) error { _, err := parsePlan("p.json", src); return err }, `{"format_version": 3, "moves": ` + strings.Repeat("[", 40000)},
		"plan {}": {func(src []byte) error { _, err := parsePlan("p.json", src); return err }, strings.Repeat(`{"a":`, 9000)},
		"farm":    {func(src []byte) error { _, _, err := parseFarm("farm.yaml", src); return err }, "hosts: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
		"farm -":  {func(src []byte) error { _, _, err := parseFarm("farm.yaml", src); return err }, "hosts:\n" + strings.Repeat("- ", 9000) + "a"},
		"aliases": {func(src []byte) error { _, _, err := parseFarm("farm.yaml", src); return err }, laughs()},
		"goals":   {func(src []byte) error { _, err := parseGoals("goals.yaml", src, &farm.Farm{}); return err }, strings.Repeat("[", 40000)},
	} {
		err := c.read([]byte(c.src))
		if !errors.Is(err, farm.ErrInput) || len(err.Error()) > 4000 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
		t.Errorf("%d MB were allocated", used)
	}
}

// laughs is a small file that is enormous once its aliases are replaced.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i < 30; i++ {
		n := string(rune('a' + i%26))
		b.WriteString(n + n + ": &b" + n + " [*a0, *a0, *a0]\n")
	}
	return b.String()
}
