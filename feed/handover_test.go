package feed

import (
	"testing"

	"stowage/farm"
	"stowage/mysql"
)

// TestAfter: which handover a reader takes that stopped somewhere while its
// shard went from pair to pair.
func TestAfter(t *testing.T) {
	t.Parallel()
	note := func(from, to farm.PairName, left, entered string) Handover {
		return Handover{From: from, To: to, Left: left, Entered: entered}
	}
	ab, ba, ac := note("a", "b", "1-1-10", "2-2-20"), note("b", "a", "2-2-30", "1-1-40"), note("a", "c", "1-1-50", "3-3-60")
	for name, tt := range map[string]struct {
		notes        []Handover
		pair, serves farm.PairName
		at, want     string // want: where it left, "" for none
	}{
		"nothing noted":                  {nil, "a", "a", "1-1-5", ""},
		"it left":                        {[]Handover{ab}, "a", "b", "1-1-5", "1-1-10"},
		"noted, and backed out":          {[]Handover{ab}, "a", "a", "1-1-12", ""},
		"backed out, and tried again":    {[]Handover{note("a", "b", "1-1-3", "2-2-4"), ab}, "a", "b", "1-1-2", "1-1-10"},
		"on its way":                     {[]Handover{ab}, "a", "", "1-1-12", ""},
		"there and back, read before":    {[]Handover{ab, ba}, "a", "a", "1-1-5", "1-1-10"},
		"there and back, read there":     {[]Handover{ab, ba}, "b", "a", "2-2-25", "2-2-30"},
		"there and back, read since":     {[]Handover{ab, ba}, "a", "a", "1-1-44", ""},
		"a third, read before the first": {[]Handover{ab, ba, ac}, "a", "c", "1-1-5", "1-1-10"},
		"a third, read since":            {[]Handover{ab, ba, ac}, "a", "c", "1-1-44", "1-1-50"},
	} {
		at, err := mysql.ParsePosition(tt.at)
		must(t, err)
		h, err := After(tt.notes, tt.pair, tt.serves, at)
		must(t, err)
		got := ""
		if h != nil {
			got = h.Left
		}
		if got != tt.want {
			t.Errorf("%s: it leaves at %q, want %q", name, got, tt.want)
		}
	}
}
