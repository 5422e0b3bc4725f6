package claims

import (
	"net"
	"slices"
	"strconv"
)

// longWord: from here on two slips are a slip. Longer than mostWord is no name.
const (
	longWord = 12
	mostWord = 200
)

// isSlip reports whether one name may be the other, misspelt. Numbered names
// are nearer to their neighbours than to most slips (dbshard012 and
// dbshard013), so the digits have to be the same ones, in any order.
func isSlip(a, b string) bool {
	return a != b && isNear(a, b) && (slices.Equal(digits(a), digits(b)) || isBroken(a, b))
}

// isBroken reports whether one is an address or a number, and the other is none.
func isBroken(a, b string) bool {
	_, errA := strconv.ParseUint(a, 10, 64)
	_, errB := strconv.ParseUint(b, 10, 64)
	return (net.ParseIP(a) == nil) != (net.ParseIP(b) == nil) || (errA == nil) != (errB == nil)
}

// isNear leaves the digits aside.
func isNear(a, b string) bool {
	if len(a) > mostWord || len(b) > mostWord {
		return false
	}
	most := 1
	if min(len(a), len(b)) >= longWord {
		most = 2
	}
	return abs(len(a)-len(b)) <= most && distance(a, b) <= most
}

// isWhole reports whether a text is an address or a number.
func isWhole(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil || net.ParseIP(text) != nil
}

func digits(s string) []byte {
	var out []byte
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			out = append(out, s[i])
		}
	}
	slices.Sort(out)
	return out
}

func abs(n int) int { return max(n, -n) }

// distance counts insertions, deletions, replacements, and two neighbours that
// have changed places: the optimal string alignment distance.
func distance(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			next[j] = d
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
