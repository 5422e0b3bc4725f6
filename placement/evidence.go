package placement

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// Evidence says of one resource how many of the figures that a plan rests on were measured, and how many somebody has typed.
type Evidence struct {
	Resource farm.ResourceName `json:"resource"`
	Measured int               `json:"measured"` // shards
	From     string            `json:"from,omitempty"`
	Until    string            `json:"until,omitempty"` // when: RFC 3339
	Typed    int               `json:"typed"`
	TypedOf  []farm.ShardName  `json:"typed_of,omitempty"` // the first of them
}

// String is a sentence for people: "cpu: measured for 12 shards (2026-11-25), typed for 2 (s1, s2)".
func (e Evidence) String() string {
	var parts []string
	if e.Measured > 0 {
		day := func(t string) string { d, _, _ := strings.Cut(t, "T"); return d }
		when := day(e.From)
		if until := day(e.Until); until != when {
			when += " to " + until
		}
		parts = append(parts, fmt.Sprintf("measured for %s (%s)", farm.Counted(e.Measured, "shard"), when))
	}
	if e.Typed > 0 {
		var names []string
		for _, n := range e.TypedOf[:min(3, len(e.TypedOf))] {
			names = append(names, string(n))
		}
		text := fmt.Sprintf("typed for %s", farm.Counted(e.Typed, "shard"))
		if len(names) > 0 {
			if more := e.Typed - len(names); more > 0 {
				names = append(names, fmt.Sprintf("%d more", more))
			}
			text += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return string(e.Resource) + ": " + strings.Join(parts, ", ")
}
