package plan

import (
	"strings"
	"testing"

	"stowage/farm"
	"stowage/schema"
)

// A plan of an older version has a Reverse that drops the renamed column.
func TestBackLosesNothingWhereItNeedNot(t *testing.T) {
	older := Form{Judgement: schema.Judgement{Undo: "CHANGE COLUMN m n INT", Reverse: "DROP COLUMN m, ADD COLUMN n INT"}}
	lossy := Form{Judgement: schema.Judgement{Reverse: "DROP COLUMN c"}}
	if older.Back() != older.Undo || lossy.Back() != "DROP COLUMN c" || (Form{}).Back() != "" {
		t.Errorf("%q, %q", older.Back(), lossy.Back())
	}
}

// One side may have a trigger or a setting that the other has not: the side counts that has more against the change, in whatever order the two were read.
func TestTheWorseSideCounts(t *testing.T) {
	f := &farm.Farm{Pairs: []farm.Pair{{Name: "p", Topology: farm.ActiveActive, Shards: []farm.Shard{{Name: "s"}}}}}
	form := func(c schema.Class, after string) Form {
		x := Form{Before: "old", After: after}
		if x.Class = c; c == schema.Breaking {
			x.Refused = []string{"trigger"}
		}
		return x
	}
	quick := func(x Form) Form { x.Instant = true; return x }
	for _, x := range []struct {
		a, b Form
		want string
	}{
		{form(schema.Instant, "new"), form(schema.Directional, "new"), "held"},
		{form(schema.Instant, "new"), form(schema.Breaking, "new"), "trigger"},
		{form(schema.Instant, "new"), form(schema.Breaking, ""), "trigger"},
		{form(schema.Directional, "new"), form(schema.Directional, "newer"), "A and B would make different tables"},
		{quick(form(schema.Instant, "new")), form(schema.Instant, "new"), "direct slow"},
	} {
		for _, forms := range [][]Form{{x.a, x.b}, {x.b, x.a}} {
			d := Drawn{Farm: f, Changes: []schema.Change{{Table: "t"}}, Forms: forms,
				Found: []Found{{Shard: "s", Instance: "A", Text: "old", Form: 0, Bytes: 9}, {Shard: "s", Instance: "B", Text: "old", Form: 1, Bytes: 5}}}
			p, refused, err := Make(d)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, pair := range p.Pairs {
				got += string(pair.Way)
				if !p.Forms[pair.Tables[0].Form].Instant {
					got += " slow"
				}
				if pair.Tables[0].Bytes != 9 {
					t.Errorf("%d bytes", pair.Tables[0].Bytes)
				}
			}
			for _, r := range refused {
				got += strings.Join(r.Why, "; ")
			}
			if !strings.HasPrefix(got, x.want) {
				t.Errorf("%s, should be %s", got, x.want)
			}
		}
	}
}
