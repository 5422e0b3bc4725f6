package alter

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// figures are what one leg has shown in one round.
type figures struct {
	seconds float64 // until both servers have the new column, and the replica all rows
	felt
	failed, retried int64
	lost            int64 // writes that were acknowledged and are not there
	bytes           int64 // written to the binary logs of both
}

// measured are the figures of every leg, by round; of one that failed there are none.
type measured map[string]map[int]figures

// A column of a large table is widened under load by each of several programs, by the server itself and by `stowage alter`, each on a pair of its own with the same rows. Nothing may be
// lost or differ, whoever does it. scripts/bench/alter.sh sets ALTER_ROWS, ROUNDS, SERVERS (names of lines) and PARTS (names of legs), and reads the lines with FIGURE; without it the table is
// small, no peer is run, and no time is looked at.
func TestWideningBesidePeers(t *testing.T) {
	rows, rounds := farmtest.Number("ALTER_ROWS", 0), farmtest.Number("ROUNDS", 3)
	parts, servers := strings.Fields(os.Getenv("PARTS")), strings.Fields(os.Getenv("SERVERS"))
	if rows == 0 {
		t.Parallel() // it mostly waits
		rows, rounds, parts = 20_000, 1, []string{quiet, plain.name, alone.name, ours.name}
		quietFor = 3 * time.Second
	}
	for _, l := range lines {
		if len(servers) > 0 && !slices.Contains(servers, l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			legs := slices.DeleteFunc(slices.Clone(l.legs), func(x leg) bool { return len(parts) > 0 && !slices.Contains(parts, x.name) })
			m := measured{}
			for _, x := range legs {
				m[x.name] = map[int]figures{}
			}
			for round := range rounds {
				for n := range legs { // another one begins in each round
					x := legs[(n+round)%len(legs)]
					t.Run(fmt.Sprintf("round %d, %s", round+1, x.name), func(t *testing.T) {
						began := time.Now()
						start := l.start
						if x.bare {
							start = startBare
						}
						p := start(t, l.name, rows)
						t.Logf("a pair with %d rows after %.0f s", rows, time.Since(began).Seconds())
						f := x.measure(t, p)
						t.Logf("%.1f s, p50 %.1f p99 %.1f max %.1f ms of %d, longest pause %.0f ms, failed %d, retried %d, lost %d, %.1f MB of binary logs",
							f.seconds, f.p50, f.p99, f.max, f.count, f.pause, f.failed, f.retried, f.lost, float64(f.bytes)/1e6)
						if !t.Failed() {
							m[x.name][round] = f
						}
					})
				}
			}
			m.print(t, l.name, legs)
		})
	}
}

// measure has a pair changed under load, and says what that was like.
func (x leg) measure(t *testing.T, p *alteredPair) figures {
	c := startClients(t, p)
	time.Sleep(quietFor / 4) // until all are connected and pools are as they will be
	before, from := p.logged(), time.Now()
	x.run(p)
	p.caughtUp()
	sides := farm.SideNames[:]
	switch {
	case x.name == quiet:
		sides = nil
	case x.half:
		sides = []farm.SideName{farm.B}
	}
	for _, side := range sides {
		p.awaitWide(side)
	}
	to := time.Now()
	f := figures{seconds: to.Sub(from).Seconds(), bytes: p.logged() - before}
	time.Sleep(2 * time.Second) // until all that was due is answered
	f.lost = p.check(c.Stop())
	switch {
	case f.lost > 0 && x.peer: // a figure like others, and not ours to mend
		t.Logf("%d writes that were acknowledged are lost", f.lost)
	case f.lost > 0:
		t.Errorf("%d writes that were acknowledged are lost", f.lost)
	}
	f.felt, f.failed, f.retried = c.Felt(from, to), c.failed, c.retried
	if f.count == 0 {
		t.Error("no client was answered")
	}
	for _, why := range c.failures {
		t.Logf("a client's statement failed: %s", why)
	}
	return f
}

// print writes a row of each leg for scripts/bench/alter.sh: the median of the rounds, and in brackets the least and the most.
func (m measured) print(t *testing.T, line string, legs []leg) {
	t.Helper()
	for _, x := range legs {
		column := func(of func(figures) float64, digits int) string {
			var values []float64
			for _, f := range m[x.name] {
				values = append(values, of(f))
			}
			return spread(values, digits)
		}
		if len(m[x.name]) == 0 {
			continue
		}
		faster, p99 := "-", "-"
		if times, p99s := m.beside(x, legs); len(times) > 0 && !x.half && x.name != quiet {
			faster, p99 = spread(times, 2), spread(p99s, 2)
		}
		t.Logf("FIGURE\t%s\t%s\t%s\t%s / %s / %s\t%s\t%s / %s / %s\t%s\t%s\t%s\t%s", x.name, line, column(func(f figures) float64 { return f.seconds }, 1),
			column(func(f figures) float64 { return f.p50 }, 1), column(func(f figures) float64 { return f.p99 }, 1), column(func(f figures) float64 { return f.max }, 0),
			column(func(f figures) float64 { return f.pause }, 0), column(func(f figures) float64 { return float64(f.failed) }, 0), column(func(f figures) float64 { return float64(f.retried) }, 0), column(func(f figures) float64 { return float64(f.lost) }, 0),
			column(func(f figures) float64 { return float64(f.bytes) / 1e6 }, 1), faster, p99, x.what)
	}
}

// beside compares a leg with the fastest peer of each round that both have come through: that peer's seconds over the leg's, and the leg's p99 over the peer's.
func (m measured) beside(x leg, legs []leg) (times, p99s []float64) {
	for round, f := range m[x.name] {
		var best figures
		for _, peer := range legs {
			if g, ok := m[peer.name][round]; ok && peer.peer && (best.seconds == 0 || g.seconds < best.seconds) {
				best = g
			}
		}
		if best.seconds > 0 {
			times, p99s = append(times, best.seconds/f.seconds), append(p99s, f.p99/best.p99)
		}
	}
	return times, p99s
}

// spread is the median, with the least and the most in brackets where there are several.
func spread(values []float64, digits int) string {
	slices.Sort(values)
	text := fmt.Sprintf("%.*f", digits, values[len(values)/2])
	if least, most := values[0], values[len(values)-1]; least != most {
		text += fmt.Sprintf(" (%.*f-%.*f)", digits, least, digits, most)
	}
	return text
}
