package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lifetimes draws when devices are lost after the first one, and says whether data is gone before the time is over.
func isLost(a Array, r *rand.Rand, rate, hours float64) bool {
	if a.survives() == 0 {
		return true
	}
	lost := make([]bool, a.Devices) // device 0 is lost already
	lost[0] = true
	for i := 1; i < a.Devices; i++ {
		lost[i] = r.ExpFloat64()/rate < hours
	}
	n := 0
	for _, l := range lost {
		if l {
			n++
		}
	}
	switch a.Level {
	case RAID1:
		return n == a.Devices
	case RAID5:
		return n > 1
	case RAID6:
		return n > 2
	case RAID10:
		for i := 0; i < a.Devices; i += 2 {
			if lost[i] && lost[i+1] {
				return true
			}
		}
	}
	return false
}

// TestFatalAgainstChance compares the formulas with drawn lifetimes: the share of tries in which data is lost is within five standard
// deviations. Rates and hours are such that it happens.
func TestFatalAgainstChance(t *testing.T) {
	const tries = 40_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, a := range []Array{{None, 1}, {JBOD, 3}, {RAID0, 4}, {RAID1, 2}, {RAID1, 3}, {RAID5, 4}, {RAID5, 12}, {RAID6, 5}, {RAID6, 12}, {RAID10, 4}, {RAID10, 10}} {
		for _, x := range []struct{ afr, hours float64 }{{0.3, 500}, {0.6, 3000}} {
			lost := 0
			for range tries {
				if isLost(a, r, rate(x.afr), x.hours) {
					lost++
				}
			}
			want := a.fatal(x.afr, x.hours)
			got := float64(lost) / tries
			if sd := math.Sqrt(want*(1-want)/tries) + 1e-4; math.Abs(got-want) > 5*sd {
				t.Errorf("%s, AFR %v, %v h: %v by formula, %v of %d tries", a, x.afr, x.hours, want, got, tries)
			}
		}
	}
}

// TestYearlyAgainstChance counts years in which data is lost: losses come at random, and each opens a window in which a further one may be fatal.
func TestYearlyAgainstChance(t *testing.T) {
	const tries = 40_000
	r := rand.New(rand.NewPCG(3, 4))
	a, afr, hours := Array{RAID5, 5}, 0.2, 200.0
	lost := 0
	for range tries {
		for at := 0.0; ; {
			if at += r.ExpFloat64() / (5 * rate(afr)); at > hoursOfYear {
				break
			}
			if isLost(a, r, rate(afr), hours) {
				lost++
				break
			}
		}
	}
	want := a.yearly(afr, a.fatal(afr, hours))
	if got := float64(lost) / tries; math.Abs(got-want) > 5*math.Sqrt(want/tries) {
		t.Errorf("%v by formula, %v of %d years", want, got, tries)
	}
	if one := (Array{None, 1}).yearly(0.02, 1); math.Abs(one-0.02) > 1e-12 {
		t.Errorf("one device with an AFR of 2 %% is lost with %v a year", one)
	}
}

// TestTinyProbabilitiesAreNotRoundedAway: two of five further devices within ten minutes.
func TestTinyProbabilitiesAreNotRoundedAway(t *testing.T) {
	q := -math.Expm1(-rate(0.001) / 6)
	if got, want := (Array{RAID6, 6}).fatal(0.001, 1.0/6), 10*q*q; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("%v, want about %v", got, want)
	}
}

func TestAFROfMTBF(t *testing.T) {
	for mtbf, want := range map[float64]float64{2_000_000: 0.00437, 1_000_000: 0.00873, 8766: 0.632} {
		if got := AFR(mtbf); math.Abs(got-want) > want/100 {
			t.Errorf("MTBF of %v h is an AFR of %v, want %v", mtbf, got, want)
		}
	}
}

// TestDegradedByCounting sends a request to every block of whole stripes and counts what each device has to do, with one missing and without.
func TestDegradedByCounting(t *testing.T) {
	for _, a := range []Array{{RAID1, 2}, {RAID1, 3}, {RAID5, 3}, {RAID5, 5}, {RAID5, 9}, {RAID6, 4}, {RAID6, 6}, {RAID6, 11}, {RAID10, 4}, {RAID10, 8}} {
		reads, writes := count(a, false, true)/count(a, true, true), count(a, false, false)/count(a, true, false)
		got := a.degraded()
		if math.Abs(got.Reads-1/reads) > 1e-9 {
			t.Errorf("%s: %v of reads left, counted %v", a, got.Reads, 1/reads)
		}
		if want := min(1, 1/writes); math.Abs(got.Writes-want) > 1e-9 {
			t.Errorf("%s: %v of writes left, counted %v", a, got.Writes, want)
		}
	}
}

// count is what the busiest device has to do for one request on average, where devices share what any of them can do.
func count(a Array, whole, reading bool) float64 {
	n := a.Devices
	work := make([]float64, n)
	gone := func(d int) bool { return !whole && d == 0 }
	add := func(devices []int, each float64) {
		for _, d := range devices {
			work[((d%n)+n)%n] += each
		}
	}
	others := func(but ...int) []int {
		var out []int
		for d := range n {
			skip := gone(d)
			for _, b := range but {
				skip = skip || d == b
			}
			if !skip {
				out = append(out, d)
			}
		}
		return out
	}
	requests := 0.0
	switch a.Level {
	case RAID1:
		requests = 1
		if reading {
			all := others()
			add(all, 1/float64(len(all)))
		} else {
			add(others(), 1)
		}
	case RAID10:
		for d := 0; d < n; d += 2 {
			requests++
			both := []int{d, d + 1}
			if gone(d) {
				both = both[1:]
			}
			if reading {
				add(both, 1/float64(len(both)))
			} else {
				add(both, 1)
			}
		}
	case RAID5, RAID6:
		parities := map[Level]int{RAID5: 1, RAID6: 2}[a.Level]
		for stripe := range n * n { // parities come to lie everywhere alike
			parity := []int{stripe % n}
			if parities == 2 {
				if stripe/n == stripe%n {
					continue
				}
				parity = append(parity, stripe/n)
			}
			for d := range n {
				if slices.Contains(parity, d) {
					continue
				}
				requests++
				switch {
				case reading && !gone(d):
					add([]int{d}, 1)
				case reading: // any n-1-parities blocks of the others and a parity make it: shared evenly among all there are
					left := others()
					add(left, float64(n-parities)/float64(len(left)))
				case gone(d):
					add(others(append(parity, d)...), 1)
					add(parity, 1)
				default:
					there := []int{d}
					for _, p := range parity {
						if !gone(p) {
							there = append(there, p)
						}
					}
					each := 2.0
					if len(there) == 1 {
						each = 1 // no parity to keep: nothing needs to be read
					}
					add(there, each)
				}
			}
		}
	}
	busiest := 0.0
	for _, w := range work {
		busiest = max(busiest, w)
	}
	return busiest / requests
}

// TestScaleOfKnownArrays are the factors every textbook has.
func TestScaleOfKnownArrays(t *testing.T) {
	for _, tt := range []struct {
		a     Array
		reads float64
		small bool
		want  float64
	}{
		{Array{RAID10, 6}, 1, true, 6}, {Array{RAID10, 6}, 0, true, 3}, {Array{RAID1, 2}, 0, true, 1}, {Array{RAID5, 8}, 0, true, 2}, {Array{RAID5, 8}, 0, false, 7},
		{Array{RAID6, 12}, 0, true, 2}, {Array{RAID6, 12}, 0, false, 10}, {Array{RAID0, 4}, 0.7, true, 4}, {Array{None, 1}, 0.5, true, 1}, {Array{RAID10, 4}, 0.5, true, 1 / (0.5/4 + 0.5/2)},
	} {
		if got := tt.a.Scale(tt.reads, tt.small); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s, %v reads, small %v: %v times, want %v", tt.a, tt.reads, tt.small, got, tt.want)
		}
	}
}
