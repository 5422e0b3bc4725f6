package digest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Lines of 81 to 87 columns stood on a page of 80.
func TestPagesAreNoWiderThanAsked(t *testing.T) {
	log := func(base, micros int) string {
		var out strings.Builder
		out.WriteString(banner)
		for s := range 100 {
			for k := range 12 {
				q := fmt.Sprintf("SELECT some_column_%c, other_column FROM a_table_with_a_long_name WHERE id = %d", 'a'+k, s)
				out.WriteString(strings.ReplaceAll(ranAs(s, micros+997*((s*7+k*3)%13)+999_000*(k%2), "app", q, s%2 == 0, s%3 == 0), "1795297", fmt.Sprint(1795297+base)))
			}
		}
		return out.String()
	}
	digestOf := func(text string) *Digest {
		b := New(Options{})
		if err := b.ReadSlowLog("a/directory/with/a/long/name/of/the/server/slow.log", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		return b.Digest()
	}
	a, b := digestOf(log(0, 12_345)), digestOf(log(3, 54_321))
	for _, width := range []int{80, 100, 132} {
		for _, color := range []bool{false, true} {
			o := TextOptions{Width: width, Top: -1, Color: color}
			var out bytes.Buffer
			if err := WriteText(&out, a.Report(), o); err != nil {
				t.Fatal(err)
			}
			if err := WriteCompareText(&out, Compare(a, b, CompareOptions{}), o); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			for _, code := range []string{"0", "1", "2", "31", "32", "33"} {
				text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(line) - 1; n > width {
					t.Errorf("%d columns of %d: %s", n, width, line)
				}
			}
		}
	}
}

func TestFold(t *testing.T) {
	for line, want := range map[string]string{
		"   latency   min 1ms  avg 2ms  max 3ms": "   latency   min 1ms|             avg 2ms|             max 3ms",
		"short":                                  "short",
		"aVeryLongWordThatNobodyCanBreak":        "aVeryLongWordThatNobodyCanBreak",
		"load    1 -> 2: three by four, five":    "load    1 -> 2: three by|        four, five",
	} {
		if got := strings.Join(folded(line, 24), "|"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
