package mutate_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// mostText is how large a damaged text becomes; readers of whole files have
// limits of their own.
const mostText = 4 << 20

// words are what breaks readers.
var words = []string{
	"", "\x00", "\xff\xfe", "\ufeff", "\n", "\r\n", "\t", "null", "~", "true", "false", "[]", "{}", "[", "{", "\"", "'", ":", "- ", "? ", "&a ", "*a", "<<: *a", "!!binary ", "|\n", ">\n", "%YAML 1.1\n", "---\n", "...\n",
	"0", "-1", "-0", "1e999", "-1e999", "1e-999", "NaN", ".inf", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "0x7fffffffffffffff", "1_000", "1.7976931348623157e308",
	"99999999999999999999999999TB", "100%", "1000000000%", "4294967295", "65536", "2147483648", "../../../etc/passwd", "/", "\u202e", "\\u0000", "\\ud800", "a: b: c", "\"a\": 1,", ",", "}", "]",
}

// damages are the ways in which a text is spoilt.
var damages = []func(r *rand.Rand, b []byte, samples [][]byte) []byte{
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // bits
		for range 1 + r.IntN(8) {
			if len(b) > 0 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
		}
		return b
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // bytes
		for range 1 + r.IntN(8) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
		}
		return b
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { return b[:r.IntN(len(b)+1)] },
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // a piece is missing
		from, to := span(r, b)
		return append(b[:from:from], b[to:]...)
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // a piece is there many times
		from, to := span(r, b)
		n := 1 + r.IntN(50)
		return bytes.Join([][]byte{b[:to], bytes.Repeat(b[from:to], min(n, 1+mostText/(to-from+1)/4)), b[to:]}, nil)
	},
	func(r *rand.Rand, b []byte, s [][]byte) []byte { // a piece of another
		other := s[r.IntN(len(s))]
		from, to := span(r, other)
		return insert(r, b, other[from:to])
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte {
		return insert(r, b, []byte(words[r.IntN(len(words))]))
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { return replaced(r, b) },
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { return replaced(r, replaced(r, b)) },
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // deep
		open := []string{"[", "{", `{"a":`, "- ", "? ", "[[", "{a: ", "(", "/*", "\n ", "a:\n "}[r.IntN(11)]
		n := []int{10, 70, 1000, 9990, 40000}[r.IntN(5)]
		deep := strings.Repeat(open, n)
		if end, ok := map[string]string{"[": "]", "{": "}", `{"a":`: "}", "[[": "]]", "{a: ": "}", "(": ")"}[open]; ok && r.IntN(2) == 0 {
			deep += strings.Repeat(end, n)
		}
		return insert(r, b, []byte(deep))
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // long
		return insert(r, b, bytes.Repeat([]byte{"aA0 -.\n\x00\"'"[r.IntN(10)]}, 1<<r.IntN(21)))
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // digits
		return insert(r, b, []byte(strings.Repeat("9", 1<<r.IntN(16))))
	},
	func(r *rand.Rand, b []byte, _ [][]byte) []byte { // lines change places
		l := bytes.SplitAfter(b, []byte("\n"))
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		return bytes.Join(l, nil)
	},
}

// mutate makes a text of number seed: the first are the samples as they are.
func mutate(r *rand.Rand, samples [][]byte, seed uint64) []byte {
	if seed < uint64(len(samples)) {
		return bytes.Clone(samples[seed])
	}
	b := bytes.Clone(samples[r.IntN(len(samples))])
	for range 1 + r.IntN(3) {
		b = damages[r.IntN(len(damages))](r, b, samples)
		b = b[:min(len(b), mostText)]
	}
	return b
}

// span is a piece, often a line.
func span(r *rand.Rand, b []byte) (from, to int) {
	from = r.IntN(len(b) + 1)
	to = from + r.IntN(len(b)-from+1)
	if r.IntN(2) == 0 {
		from = bytes.LastIndexByte(b[:from], '\n') + 1
		if n := bytes.IndexByte(b[from:], '\n'); n >= 0 {
			to = from + n + 1
		}
	}
	return from, max(from, to)
}

func insert(r *rand.Rand, b, what []byte) []byte {
	at := r.IntN(len(b) + 1)
	return bytes.Join([][]byte{b[:at], what, b[at:]}, nil)
}

// replaced puts another word in the place of one: a number becomes a list, a
// text nothing.
func replaced(r *rand.Rand, b []byte) []byte {
	isWord := func(c byte) bool { return c > ' ' && !bytes.ContainsRune([]byte(",:[]{}\""), rune(c)) }
	if len(b) == 0 {
		return b
	}
	at := r.IntN(len(b))
	for at < len(b) && !isWord(b[at]) {
		at++
	}
	from, to := at, at
	for from > 0 && isWord(b[from-1]) {
		from--
	}
	for to < len(b) && isWord(b[to]) {
		to++
	}
	return bytes.Join([][]byte{b[:from], []byte(words[r.IntN(len(words))]), b[to:]}, nil)
}
