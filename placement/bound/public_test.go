package bound_test

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// TestPublicInstances compares with the optima and the best packings published
// for a set of public instances. It runs where VECTORPACK names a directory
// with known.tsv (family, instance, lower bound, optimum, best packing) and the
// instances below the family's name; VECTORPACK_MATCH is a regular expression
// of those to try, VECTORPACK_EFFORT an Effort.
func TestPublicInstances(t *testing.T) {
	dir := os.Getenv("VECTORPACK")
	if dir == "" {
		t.Skip("not tested: VECTORPACK names no directory of public instances")
	}
	match := regexp.MustCompile(os.Getenv("VECTORPACK_MATCH"))
	effort, _ := strconv.Atoi(os.Getenv("VECTORPACK_EFFORT"))
	f, err := os.Open(filepath.Join(dir, "known.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tried, invalid, atOptimum, known := 0, 0, 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := append(strings.Split(lines.Text(), "\t"), "", "", "")
		if !strings.HasSuffix(row[1], ".vbp") || !match.MatchString(row[0]+"/"+row[1]) {
			continue
		}
		p := readProblem(t, filepath.Join(dir, row[0], row[1]))
		if p.Check() != nil {
			invalid++
			continue
		}
		start := time.Now()
		r, err := bound.Lower(p, bound.Bins, bound.Options{Effort: bound.Effort(effort)})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		tried++
		if v, err := verify.Certificate(p, r.Certificate); err != nil || v != r.Bound {
			t.Errorf("%s/%s: verify says %d, %v; want %d", row[0], row[1], v, err, r.Bound)
		}
		published, _ := strconv.ParseInt(row[2], 10, 64)
		optimum, _ := strconv.ParseInt(row[3], 10, 64)
		best, _ := strconv.ParseInt(row[4], 10, 64)
		if best = cmp.Or(optimum, best); best > 0 && r.Bound > best {
			t.Errorf("%s/%s: bound %d, and a packing of %d is published", row[0], row[1], r.Bound, best)
		}
		if optimum > 0 {
			known++
			if r.Bound == optimum {
				atOptimum++
			}
		}
		t.Logf("%-12s %-24s bound %4d volume %4d published %4d optimum %-4s best %-4s %-8s settled %-5v %6.2fs", row[0], row[1], r.Bound, r.Volume, published, row[3], row[4], r.Certificate.Kind, r.Settled, took.Seconds())
	}
	t.Logf("%d tried, %d invalid; %d of %d known optima reached", tried, invalid, atOptimum, known)
	if tried == 0 {
		t.Error("nothing tried")
	}
}
