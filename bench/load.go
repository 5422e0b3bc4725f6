package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// Load is one pattern of I/O. Its ID says all of it: RND16K-RW70-Q4T4 is random
// requests of 16 KiB, 70 % of them reads, 4 outstanding in each of 4 threads.
// LOG is sequential over the log file, FDS a fdatasync after every write.
type Load struct {
	ID      string
	Pattern string // RND, SEQ or LOG
	Block   int64
	Op      string // R, W or RW70
	Durable bool
	Q, T    int
	// Rate is for open-loop loads: requests a second, of all threads; 0 as fast as it goes.
	Rate float64
}

// Step is what is measured at a time: one load, or one with another beside it.
type Step struct {
	ID      string
	Answers string
	Load    Load
	// Beside runs at the same time; its figures are a row of their own, ID/Beside.ID.
	Beside *Load
	// Share is the part of Beside's ceiling that it is held to, 0 for none. The ceiling is what the step MIX reached.
	Share float64
	// Long: so many times longer than other steps, and run only once; 0 for other steps.
	Long float64
}

var idPattern = lazy.Regexp(`^(RND|SEQ|LOG)(\d+)([KM])-(?:(R|W|RW70)(-FDS)?|(FDS))-Q(\d+)T(\d+)$`)

// ParseLoad reads an ID.
func ParseLoad(id string) (Load, error) {
	m := idPattern().FindStringSubmatch(id)
	bad := func(why string) (Load, error) {
		return Load{}, &farm.Error{Op: "read step", Subject: id, Err: fmt.Errorf("%w: %s", farm.ErrInput, why),
			Hint: "write MIX, RND16K-R-Q8T4, SEQ1M-W-Q4T1, RND16K-W-FDS-Q1T1 or LOG4K-FDS-Q1T1, with other numbers: docs/measuring/bench.md explains the parts"}
	}
	if m == nil {
		return bad("no such pattern")
	}
	block, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return bad(err.Error())
	}
	l := Load{ID: id, Pattern: m[1], Block: block << 10, Op: m[4], Durable: m[5] != "" || m[6] != ""}
	if m[3] == "M" {
		l.Block <<= 10
	}
	if m[6] != "" {
		l.Op = "W"
	}
	l.Q, err = strconv.Atoi(m[7])
	if err == nil {
		l.T, err = strconv.Atoi(m[8])
	}
	switch {
	case err != nil:
		return bad(err.Error())
	case l.Block < 4<<10 || l.Block > 16<<20 || l.Block&(l.Block-1) != 0:
		return bad("a block is a power of two from 4K to 16M")
	case l.Q < 1 || l.Q > 1024 || l.T < 1 || l.T > 256:
		return bad("1 to 1024 requests outstanding, 1 to 256 threads")
	case l.Durable && l.Op == "R":
		return bad("only writes can be durable")
	case l.Pattern == "LOG" && !l.Durable:
		return bad("a log is written with FDS")
	case l.Pattern == "LOG" && l.Block > 1<<20:
		return bad("a log has blocks up to 1M")
	}
	return l, nil
}

func mustLoad(id string) Load {
	l, err := ParseLoad(id)
	if err != nil {
		panic(err) // a table of ours is wrong
	}
	return l
}

// mix is the step that shares of a ceiling refer to.
const mix = "MIX"

// besideID is the row of the load beside the step.
func (s Step) besideID() string { return s.ID + "/" + s.Beside.ID }

// ParseStep reads what --steps names: a step of the profile or of the full one, or any ID.
func ParseStep(id string, p Profile) (Step, error) {
	for _, s := range slices.Concat(p.Steps, Full().Steps) {
		if s.ID == strings.ToUpper(id) {
			return s, nil
		}
	}
	l, err := ParseLoad(strings.ToUpper(id))
	return Step{ID: l.ID, Answers: "what was asked for", Load: l}, err
}
