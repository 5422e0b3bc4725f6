package files

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Plan says which rows Generate makes. Equal plans make equal rows.
type Plan struct {
	Seed     uint64
	Versions int64 // of all tenants together, about: each file has 10 on average
	Smallest int64 // versions of the smallest tenants; 0: 1,000
	Largest  int64 // versions of the largest tenant; 0: half of all
	Unlogged bool  // keeps the rows out of the binary log (sql_log_bin=0)
	Say      func(line string)
}

// Tenant is a tenant as it was planned.
type Tenant struct {
	ID    uint32
	Files int64
	first int64 // the number of its first file, from 0
}

const (
	versionsPerFile = 10 // on average
	mostVersions    = 19 // of one file; 1 to 19, and 0 for one file in 97
	filesPerFolder  = 20
)

// Tenants are those of the plan, by id. Beside the largest stand others of a tenth of it and less, as 1/n^1.1 falls: most are
// small. Ids say nothing of the size.
func (p Plan) Tenants() []Tenant {
	smallest, largest := p.Smallest, p.Largest
	if smallest <= 0 {
		smallest = 1000
	}
	if largest <= 0 {
		largest = p.Versions / 2
	}
	var sizes []int64
	left := p.Versions
	for n := 1; left > 0; n++ {
		size := largest
		if n > 1 {
			size = int64(float64(largest) / 10 / math.Pow(float64(n-1), 1.1))
		}
		size = min(max(size, smallest), left)
		if left -= size; left < smallest {
			size, left = size+left, 0 // no tenant is smaller than the smallest
		}
		sizes = append(sizes, size)
	}
	r := rand.New(rand.NewPCG(p.Seed, 1))
	r.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	tenants := make([]Tenant, len(sizes))
	var first int64
	for i, size := range sizes {
		tenants[i] = Tenant{ID: uint32(i + 1), Files: max(1, size/versionsPerFile), first: first}
		first += tenants[i].Files
	}
	return tenants
}

// layout knows each row by its number.
type layout struct {
	seed    uint64
	tenants []Tenant
	files   int64
}

func (p Plan) layout() layout {
	l := layout{seed: p.Seed, tenants: p.Tenants()}
	for _, t := range l.tenants {
		l.files += t.Files
	}
	return l
}

// tenantOf is the tenant of file number i.
func (l *layout) tenantOf(i int64) Tenant {
	n := sort.Search(len(l.tenants), func(n int) bool { return l.tenants[n].first > i })
	return l.tenants[n-1]
}

// folders of a tenant: one for each 20 files.
func (t Tenant) folders() int64 { return (t.Files + filesPerFolder - 1) / filesPerFolder }

// versionsOf is how many versions file number i has.
func (l *layout) versionsOf(i int64) int {
	h := mix(l.seed ^ uint64(i)*0x9E3779B97F4A7C15)
	if h%97 == 0 {
		return 0
	}
	return 1 + int(h>>8%mostVersions)
}

// scattered is an order of the numbers 0 to n-1 in which neighbours come far from each other: at(i) = (a*i + b) mod n.
type scattered struct{ a, b, n int64 }

func scatter(seed uint64, n int64) scattered {
	r := rand.New(rand.NewPCG(seed, 2))
	for {
		// About a golden section: no small multiple of it comes back to where it began.
		a := int64(float64(n)*0.618) + r.Int64N(n/16+1)
		if a = max(1, a%n); common(a, n) == 1 {
			return scattered{a, r.Int64N(n), n}
		}
	}
}

func (s scattered) at(i int64) int64 { return (s.a*(i%s.n) + s.b) % s.n }

func common(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood 2014): equal numbers give equal bits, near ones unlike ones.
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
