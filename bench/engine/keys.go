package engine

import "math/rand/v2"

// keys draws row numbers, 1 to rows. Uniform: all alike. Zipf: few are drawn again and again, and they are scattered over the table, so that
// hot rows do not share pages.
type keys struct {
	rnd  *rand.Rand
	rows int
	zipf *rand.Zipf
	step uint64
}

// skew is Zipf's exponent: with a million rows the hottest hundredth gets about three quarters of all requests.
const skew = 1.1

func newKeys(rnd *rand.Rand, rows int, kind string) *keys {
	k := &keys{rnd: rnd, rows: rows}
	if kind == "zipf" {
		k.zipf = rand.NewZipf(rnd, skew, 1, uint64(rows-1))
		k.step = scatter(uint64(rows))
	}
	return k
}

func (k *keys) next() int64 {
	if k.zipf == nil {
		return int64(k.rnd.IntN(k.rows)) + 1
	}
	return int64(k.zipf.Uint64()*k.step%uint64(k.rows)) + 1
}

// scatter is a step that visits every one of n places once: it shares no factor with n.
func scatter(n uint64) uint64 {
	step := n*618/1000 | 1 // the golden section scatters well
	for gcd(step, n) != 1 {
		step += 2
	}
	return step
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// text fills b with random letters: six bits of every eight are random, so that it compresses to three quarters at best.
func text(rnd *rand.Rand, b []byte) string {
	for i := 0; i < len(b); {
		for v, n := rnd.Uint64(), 0; n < 10 && i < len(b); n, i = n+1, i+1 {
			b[i] = letters[v&63]
			v >>= 6
		}
	}
	return string(b)
}
