package pack

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stowage/internal/raced"
)

// conformance holds the public instances and the farm generator, where they
// are at hand.
const conformance = "../../../shared/conformance/plan"

func TestReadVBP(t *testing.T) {
	p, err := ReadVBP(strings.NewReader("2\n10 20\n2\n3 4 2\n5 20 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Items) != 3 || p.Items[1].Demand[1] != 4 || p.Items[2].Demand[0] != 5 || p.Types[0].Capacity[1] != 20 || p.Types[0].Limit != -1 {
		t.Errorf("read %+v", p)
	}
	tests := []struct{ name, text, want string }{
		{"empty", "", "line 0: the file ends before the number of dimensions"},
		{"no dimensions", "0\n", "line 1: number of dimensions 0 is below 1"},
		{"too many dimensions", "1000000000\n", "line 1: number of dimensions 1000000000 is above 1000"},
		{"negative capacity", "1\n-4\n", "line 2: capacity -4 is negative"},
		{"negative size", "2\n10 10\n2\n3 4 1\n\n5 -2 1\n", "line 6: size -2 is negative"},
		{"oversized", "2\n10 10\n1\n3 11 1\n", "line 4: size 11 is above 10"},
		{"negative demand", "1\n10\n1\n3 -1\n", "line 4: demand -1 is negative"},
		{"no number", "1\n10\n1\n3 x\n", `line 4: demand "x" is not a whole number`},
		{"fraction", "1\n10\n1\n3.5 1\n", `line 4: size "3.5" is not a whole number`},
		{"too large a number", "1\n99999999999999999999\n", "line 2: capacity"},
		{"too few rows", "1\n10\n2\n3 1\n", "line 4: the file ends before the size"},
		{"too many rows", "1\n10\n1\n3 1\n4 1\n", `line 5: "4" after the last of 1 rows`},
		{"too many items", "1\n10\n2\n1 900000\n1 900000\n", "line 5: more than 1000000 items"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ReadVBP(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzReadVBP: whatever is read without an error is a problem.
func FuzzReadVBP(f *testing.F) {
	f.Add("2\n10 20\n2\n3 4 2\n5 20 1\n")
	f.Add("1\n0\n1\n0 3")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 60 {
			return // a demand of many digits would only make many items
		}
		p, err := ReadVBP(strings.NewReader(text))
		if err == nil {
			err = p.Check()
		}
		if err != nil && !strings.HasPrefix(err.Error(), "read vbp: line ") {
			t.Error(err)
		}
	})
}

// known is one line of known.tsv.
type known struct {
	file             string
	optimum, bestYet int64 // optimum 0: open
}

func readKnown(t *testing.T) []known {
	f, err := os.Open(filepath.Join(conformance, "vectorpack", "known.tsv"))
	if err != nil {
		t.Skipf("NOT TESTED: public instances: %v", err)
	}
	defer f.Close()
	var all []known
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w := strings.Split(lines.Text(), "\t")
		if len(w) < 5 || w[0] == "family" {
			continue
		}
		k := known{file: filepath.Join(conformance, "vectorpack", w[0], w[1])}
		k.optimum, _ = strconv.ParseInt(w[3], 10, 64)
		k.bestYet, _ = strconv.ParseInt(w[4], 10, 64)
		all = append(all, k)
	}
	if len(all) == 0 {
		t.Fatal("no instances in known.tsv")
	}
	return all
}

// TestPublicInstances packs a sample of the public instances and is never
// worse than the best heuristic published for them, nor better than what is
// proved.
func TestPublicInstances(t *testing.T) {
	if raced.On {
		t.Skip("a search takes twenty times as long with the race detector: the tests that are left race the same goroutines")
	}
	all := readKnown(t)
	every := 31
	if testing.Short() { // `make test`: the part whole of test-all has the others
		every = 400
	}
	var sum, best, n int64
	for i := 0; i < len(all); i += every {
		k := all[i]
		f, err := os.Open(k.file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ReadVBP(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", k.file, err)
		}
		s, err := Solve(p, Options{Effort: 0.2})
		if err != nil {
			t.Fatalf("%s: %v", k.file, err)
		}
		if fault := judge(p, s); fault != "" || len(s.Unplaced) > 0 {
			t.Fatalf("%s: %s, %d unplaced", k.file, fault, len(s.Unplaced))
		}
		if s.Count > k.bestYet || s.Count < k.optimum || s.Bound > s.Count {
			t.Errorf("%s: %d bins with bound %d; best published %d, optimum %d", k.file, s.Count, s.Bound, k.bestYet, k.optimum)
		}
		sum, best, n = sum+s.Count, best+k.bestYet, n+1
	}
	t.Logf("%d instances: %d bins, best published heuristic %d", n, sum, best)
	if n >= 20 && sum*100 > best*99 {
		t.Errorf("%d bins for %d instances is hardly better than the %d of published heuristics", sum, n, best)
	}
}

// TestPerfectPacking: triplets that fill every bin to the brim in all
// dimensions, where filling bins well is not enough.
func TestPerfectPacking(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := Problem{Types: []Type{{Capacity: []int64{100, 100, 100, 100}, Limit: -1}}}
		const bins = 60
		for range bins {
			three := [3][]int64{make([]int64, 4), make([]int64, 4), make([]int64, 4)}
			for d := range 4 {
				a, b := 20+r.Int64N(25), 20+r.Int64N(25)
				three[0][d], three[1][d], three[2][d] = a, b, 100-a-b
			}
			for _, demand := range three {
				p.Items = append(p.Items, Item{Demand: demand})
			}
		}
		r.Shuffle(len(p.Items), func(i, j int) { p.Items[i], p.Items[j] = p.Items[j], p.Items[i] })
		if s := mustSolve(t, p, Options{}); s.Count != bins {
			t.Errorf("seed %d: %d bins, %d are enough", seed, s.Count, bins)
		}
	}
}
