package placement

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"stowage/farm"
	"stowage/internal/table"
)

const (
	textWidth = 100 // columns of WriteText
	nameWidth = 24  // of a host there; longer names lose their middle
	barWidth  = 20
)

// WriteText prints the plan for people, at most 100 columns wide: the
// headline, the bound, one row a host with a bar of its binding resource, and
// the moves by wave.
func (p Plan) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s -> %s", farm.Counted(p.HostsBefore, "host"), farm.Counted(p.HostsUsed, "host"))
	if p.WattsBefore > 0 {
		fmt.Fprintf(b, ", %s -> %s watts", thousands(p.WattsBefore), thousands(p.Watts))
	}
	fmt.Fprintf(b, "; %s, %s to copy\n", farm.Counted(len(p.Moves), "move"), farm.RoundQuantity(float64(p.Bytes()), farm.KindBytes))
	fmt.Fprintln(b, p.proof())
	if text := p.choice(); text != "" {
		fmt.Fprintln(b, clip(text))
	}
	for _, e := range p.Evidence {
		fmt.Fprintln(b, clip("figures of "+e.String()))
	}
	p.writeHosts(b)
	p.writeMoves(b)
	return b.Flush()
}

func (p Plan) proof() string {
	if p.HostsUsed == p.LowerBound {
		return fmt.Sprintf("optimal: no plan needs fewer than %s (%s)", farm.Counted(p.LowerBound, "host"), p.BoundMethod)
	}
	return fmt.Sprintf("not proved optimal: at least %s needed (%s), gap %.1f%%", farm.Counted(p.LowerBound, "host"), p.BoundMethod, p.Gap*100)
}

func (p Plan) writeHosts(b *bufio.Writer) {
	if len(p.Hosts) == 0 {
		return
	}
	name, binding := 4, 7
	for _, h := range p.Hosts {
		name, binding = max(name, utf8.RuneCountInString(shortName(h.Name))), max(binding, len(h.Binding))
	}
	types := map[farm.HostTypeName]int{}
	for _, h := range p.Basis.HostTypes {
		types[h.Name] = h.MaxInstances
	}
	fmt.Fprintf(b, "\n%-*s  %-*s  %-*s  %4s  instances\n", name, "host", binding, "binding", barWidth+2, "", "use")
	for _, h := range p.Hosts {
		use := h.Use[farm.ResourceName(h.Binding)]
		if h.Binding == MaxInstances && types[h.Type] > 0 {
			use = float64(len(h.Instances)) / float64(types[h.Type])
		}
		head := fmt.Sprintf("%-*s  %-*s  %s  %3.0f%%  ", name, shortName(h.Name), binding, h.Binding, bar(use), use*100)
		writeList(b, head, h.Instances)
	}
}

// mostMoves is how many moves WriteText lists: the plan file has them all.
const mostMoves = 200

func (p Plan) writeMoves(b *bufio.Writer) {
	for i, m := range p.Moves {
		if i == mostMoves {
			fmt.Fprintf(b, "\nand %s more, in %s more; the plan file has them all\n", farm.Counted(len(p.Moves)-i, "move"), farm.Counted(p.Waves()-m.Wave+1, "wave"))
			break
		}
		if i == 0 || p.Moves[i-1].Wave != m.Wave {
			fmt.Fprintf(b, "\nwave %d of %d", m.Wave, p.Waves())
			if m.Stage > 1 {
				fmt.Fprintf(b, ", once stage %d is finished", m.Stage-1)
			}
			fmt.Fprintln(b)
		}
		for _, line := range moveLines(m) {
			fmt.Fprintln(b, clip(line))
		}
	}
	if len(p.Moves) > 0 {
		p.writeTime(b)
	}
}

// moveLines are a move in one line, or in two where its names are long.
func moveLines(m Move) []string {
	rest := "  " + farm.RoundQuantity(float64(m.Bytes), farm.KindBytes)
	if m.ServerID > 0 {
		rest += fmt.Sprintf("  server_id %d", m.ServerID)
	}
	way := func(most int) string {
		return fmt.Sprintf("%s:%d -> %s:%d", table.Short(string(m.From.Host), most), m.From.Port, table.Short(string(m.To.Host), most), m.To.Port)
	}
	if line := "  " + m.Name + "  " + way(0) + rest; len(line) <= textWidth {
		return []string{line}
	}
	return []string{"  " + m.Name + rest, "    " + way(40)}
}

func shortName(host farm.HostName) string { return table.Short(string(host), nameWidth) }

// writeTime says how long the moves take and what makes it so long.
func (p Plan) writeTime(b *bufio.Writer) {
	fmt.Fprintf(b, "\nmoving takes about %s (no order of these moves is faster than %s)\n", duration(p.MoveSeconds), duration(p.MoveBound))
	var names []string
	for _, c := range p.Critical {
		names = append(names, c.What)
	}
	if n := len(names); n > 1 {
		fmt.Fprintln(b, clip(fmt.Sprintf("critical path, %s: %s", farm.Counted(n, "move"), strings.Join(names, ", "))))
	}
}

// duration is seconds for people.
func duration(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 72*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.1f days", seconds/86400)
}

// writeList prints head and the names, going on under the first name when a
// line is full.
func writeList(b *bufio.Writer, head string, names []farm.InstanceName) {
	line := head
	for i, n := range names {
		n := table.Short(string(n), max(textWidth-utf8.RuneCountInString(head), barWidth))
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(n) > textWidth {
			fmt.Fprintln(b, clip(strings.TrimRight(line, " ")))
			line = strings.Repeat(" ", utf8.RuneCountInString(head))
		}
		line += n + " "
	}
	fmt.Fprintln(b, clip(strings.TrimRight(line, " ")))
}

func clip(line string) string {
	if utf8.RuneCountInString(line) <= textWidth {
		return line
	}
	return string([]rune(line)[:textWidth-3]) + "..."
}

func bar(use float64) string {
	full := min(max(int(use*barWidth+0.5), 0), barWidth)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
