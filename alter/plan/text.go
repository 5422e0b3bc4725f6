package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/schema"
)

// WriteText is the plan for a person who reviews it.
func (p Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	tables, shards := 0, map[farm.ShardName]bool{}
	for _, x := range p.Pairs {
		tables += len(x.Tables)
		for _, t := range x.Tables {
			shards[t.Shard] = true
		}
	}
	fmt.Fprintf(&b, "%s: %s of %s on %s, in %s, at most %s at once\n", strings.TrimSpace("alter "+p.Name), farm.Counted(tables, "table"), farm.Counted(len(shards), "shard"), farm.Counted(len(p.Pairs), "pair"), farm.Counted(len(p.Waves()), "wave"), farm.Counted(p.AtOnce, "pair"))
	for n, f := range p.Forms {
		p.writeForm(&b, n, f)
	}
	for _, way := range []Way{Direct, Logged, Apart, Apart + OneWriter, Held, Held + OneWriter, HeldReplicas} {
		var names []string
		for _, x := range p.Pairs {
			if x.Way == way {
				names = append(names, string(x.Pair))
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n  %s\n", way, list(names), ways[way])
		}
	}
	if waves := p.Waves(); len(waves) > 1 {
		for n := range waves {
			var names []string
			for _, x := range p.Pairs {
				if x.Wave == n+1 {
					names = append(names, string(x.Pair))
				}
			}
			fmt.Fprintf(&b, "wave %d: %s\n", n+1, list(names))
		}
		b.WriteString("before each next wave a person is asked: stowage approve\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Plan) writeForm(b *strings.Builder, n int, f Form) {
	var of, bytes, largest int64
	for _, x := range p.Pairs {
		for _, t := range x.Tables {
			if t.Form == n {
				of++
				bytes += t.Bytes
				largest = max(largest, t.Bytes)
			}
		}
	}
	fmt.Fprintf(b, "%s: %s\n", f.Change.Place, strings.Join(strings.Fields(f.Change.Text), " "))
	fmt.Fprintf(b, "  %s, %s on %s, the largest with %s\n", f.Class, how(f), farm.Counted(of, "table"), size(largest))
	if f.Rebuilds() {
		fmt.Fprintf(b, "  writes %s anew on each side; a server needs %s of disk besides\n", size(bytes), size(largest))
	}
	if a, is := f.Apart(); is {
		fmt.Fprintf(b, "  copies rows without the keys beside the primary one, and builds these afterwards: %s\n", farm.Counted(len(a.Keys), "key"))
	}
	if f.SecondsOnCopy != nil {
		fmt.Fprintf(b, "  the largest took %.1f s on a copy\n", *f.SecondsOnCopy)
	}
	for _, r := range f.Remarks {
		fmt.Fprintf(b, "  note: %s\n", r)
	}
	switch {
	case f.UndoRefused != "":
		fmt.Fprintf(b, "  no way back afterwards: it would lose nothing, but alter refuses it: %s\n", f.UndoRefused)
	case f.Undo != "":
		fmt.Fprintf(b, "  way back afterwards: %s\n", strings.Join(strings.Fields(f.Undo), " "))
	case f.Lost != "":
		fmt.Fprintf(b, "  a way back afterwards would lose %s\n", f.Lost)
	}
	if f.Back() == "" && !f.IsSame() {
		b.WriteString("  no ALTER of Stowage restores the old definition: abort stops behind the first altered side, and a person gives its table back\n")
	}
}

// how says what the server does.
func how(f Form) string {
	switch f.Algorithm {
	case schema.InstantAlgorithm:
		return "definitions only"
	case schema.NoCopy:
		return "indexes are built"
	case schema.InPlace:
		return "rebuilt in place"
	}
	return "every row is copied"
}

// ways say what happens, for whoever reviews it.
var ways = map[Way]string{
	Direct:            "each side is changed while it serves; a statement that has to wait for a table gives up after a second and comes again",
	Logged:            "the server that takes the writes is changed while it serves; replicas get the statement through the binary log",
	Apart:             "each side leaves, is changed while its twin serves, and returns warm",
	Apart + OneWriter: "replicas leave first; then the primary, while a replica takes its writes: two pauses of writes",
	Held:              "side A leaves and is changed while B serves; then all clients go to A behind one gate, and B applies nothing until it is changed, too",
	Held + OneWriter:  "the replica leaves and is changed; then it takes the writes, and the primary applies nothing until it is changed, too: two pauses of writes",
	HeldReplicas:      "all replicas leave and are changed; then one takes the writes, and the primary applies nothing until it is changed, too: two pauses of writes. The other replicas return at the end; meanwhile nobody reads from them",
}

const few = 8

func list(names []string) string {
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func size(n int64) string { return farm.RoundQuantity(float64(n), farm.Disk.Kind()) }

// WriteRefusals says which tables are not changed, and why.
func WriteRefusals(w io.Writer, refused []Refusal) error {
	var b strings.Builder
	for _, r := range refused {
		var names []string
		for _, s := range r.Shards {
			names = append(names, string(s))
		}
		fmt.Fprintf(&b, "%s: table %s of %s (%s) is not changed:\n", r.Place, r.Table, farm.Counted(len(names), "shard"), list(names))
		for _, why := range r.Why {
			fmt.Fprintf(&b, "  - %s\n", why)
		}
		for n, s := range r.SafeSteps {
			if n == 0 {
				b.WriteString("  these steps lead there safely, one alter after the other:\n")
			}
			fmt.Fprintf(&b, "    %d. %s\n", n+1, strings.Join(strings.Fields(s), " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Scripts are the safe steps of all refusals as scripts: the nth has the nth step of each table.
func Scripts(refused []Refusal) []string {
	var out []string
	for _, r := range refused {
		for n, s := range r.SafeSteps {
			for len(out) <= n {
				out = append(out, "")
			}
			if text := s + ";\n"; !slices.Contains(strings.SplitAfter(out[n], ";\n"), text) {
				out[n] += text
			}
		}
	}
	return out
}
