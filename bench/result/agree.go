package result

import (
	"fmt"
	"strconv"
	"strings"
)

// agreement is how far two figures that say the same may be apart: MB and MiB, which people mix up, differ by 4.9 %.
const agreement = 0.05

// Contradictions names the figures of a step that cannot all be true: what somebody typed in, or a program printed of two different things. A figure of 0 is
// not known, and contradicts nothing.
func (s *Step) Contradictions() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, s.ID+": "+fmt.Sprintf(format, args...)) }
	block, depth := float64(s.Block), float64(s.Outstanding*s.Threads)
	if n, ok := BlockOf(s.ID); ok && block == 0 {
		block = n
	}
	if n, ok := depthOf(s.ID); ok && depth == 0 {
		depth = n
	}
	if block > 0 && s.IOPS > 0 && s.MBps > 0 {
		if each := s.MBps * 1e6 / s.IOPS; each > block*(1+agreement) || each < block/(1+agreement) {
			say("%s MB/s at %s requests a second would be %s KiB a request, and a request has %s KiB", Short(s.MBps), Short(s.IOPS), Short(each/1024), Short(block/1024))
		}
	}
	// Little's law: as many are under way as come in a second, times how long each takes.
	if depth > 0 && s.IOPS > 0 && s.Lat.Mean > 0 && !s.Durable {
		if most := depth * 1e6 / s.Lat.Mean; s.IOPS > 2*most {
			say("%s requests a second of %s ms each would be %s at a time, and %s are", Short(s.IOPS), Short(s.Lat.Mean/1000), Short(s.IOPS*s.Lat.Mean/1e6), Short(depth))
		}
	}
	was, name := 0.0, ""
	for _, p := range []struct {
		name string
		v    float64
	}{{"p50", s.Lat.P50}, {"p95", s.Lat.P95}, {"p99", s.Lat.P99}, {"p99.9", s.Lat.P999}, {"the longest", s.Lat.Max}} {
		if p.v == 0 {
			continue
		}
		if p.v < was {
			say("%s is %s ms, and %s is less: %s ms", name, Short(was/1000), p.name, Short(p.v/1000))
		}
		was, name = p.v, p.name
	}
	return out
}

// BlockOf is the size of a request that a step's name states, in bytes: RND64K-R-Q8T2 reads 65536.
func BlockOf(step string) (float64, bool) {
	first, _, _ := strings.Cut(step, "-")
	digits := strings.TrimLeft(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if digits == "" || digits == first {
		return 0, false
	}
	factor, ok := map[byte]float64{'K': 1 << 10, 'M': 1 << 20}[digits[len(digits)-1]]
	n, err := strconv.ParseFloat(digits[:len(digits)-1], 64)
	return n * factor, ok && err == nil && n > 0
}

// depthOf is how many requests are under way by a step's name: RND64K-R-Q8T2 has 16.
func depthOf(step string) (float64, bool) {
	last := step[strings.LastIndex(step, "-")+1:]
	q, t, ok := strings.Cut(strings.TrimPrefix(last, "Q"), "T")
	a, err1 := strconv.Atoi(q)
	b, err2 := strconv.Atoi(t)
	return float64(a) * float64(b), ok && strings.HasPrefix(last, "Q") && err1 == nil && err2 == nil && a > 0 && b > 0
}
