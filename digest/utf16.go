package digest

import (
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader turns UTF-16 text into UTF-8: Windows tools (PowerShell's > above all) write logs that way. The byte order
// mark is dropped, half a character at the end becomes the replacement character.
type utf16Reader struct {
	r    io.Reader
	big  bool
	in   [4096]byte
	n    int // bytes in in
	out  []byte
	high rune // first half of a pair
	err  error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		n, err := u.r.Read(u.in[u.n:])
		u.n += n
		u.err = err
		u.convert()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) convert() {
	u.out = u.out[:0]
	i := 0
	for ; i+1 < u.n; i += 2 {
		c := rune(u.in[i]) | rune(u.in[i+1])<<8
		if u.big {
			c = rune(u.in[i])<<8 | rune(u.in[i+1])
		}
		u.put(c)
	}
	if i < u.n {
		u.in[0] = u.in[i]
		u.n = 1
	} else {
		u.n = 0
	}
	if errors.Is(u.err, io.EOF) && (u.n > 0 || u.high != 0) {
		u.out = utf8.AppendRune(u.out, utf8.RuneError)
		u.n, u.high = 0, 0
	}
}

func (u *utf16Reader) put(c rune) {
	switch {
	case u.high != 0:
		r := utf16.DecodeRune(u.high, c)
		u.high = 0
		u.out = utf8.AppendRune(u.out, r)
		if r == utf8.RuneError && !utf16.IsSurrogate(c) {
			u.out = utf8.AppendRune(u.out, c)
		}
	case utf16.IsSurrogate(c):
		u.high = c
	case c == 0xfeff:
	default:
		u.out = utf8.AppendRune(u.out, c)
	}
}
