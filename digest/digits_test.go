package digest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// The numbers taken eight bytes at a time are those taken byte by byte.
func TestDigitsEqualPlainReading(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const alphabet = "0123456789019.- \nx:/\x00\x7f\x80\xba\xff"
	for range 300_000 {
		b := make([]byte, 24)
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
			if r.IntN(8) == 0 {
				b[i] = alphabet[r.IntN(len(alphabet))]
			}
		}
		switch r.IntN(4) {
		case 0:
			b[1] = '.'
		case 1:
			b[r.IntN(8)] = alphabet[r.IntN(len(alphabet))]
		}
		run := 0
		for run < len(b) && isDigit(b[run]) {
			run++
		}
		want, err := strconv.ParseUint(string(b[:run]), 10, 64)
		if v, end, ok := shortCount(b, 0); ok != (run >= 1 && run <= 7) || ok && (end != run || v != want) {
			t.Fatalf("shortCount of %q is %d up to %d, %v", b, v, end, ok)
		}
		if v, end, ok := knownCount(b, 0); ok != (run >= 1 && run <= 18) || ok && (end != run || v != want || err != nil) {
			t.Fatalf("knownCount of %q is %d up to %d, %v", b, v, end, ok)
		}
		if run <= 16 && skipDigits(b, 0) != run {
			t.Fatalf("skipDigits of %q is %d", b, skipDigits(b, 0))
		}
		for _, w := range []struct {
			width int
			short func([]byte, int) (uint64, bool)
		}{{8, shortMicros}, {6, shortTenths}} {
			v, ok := w.short(b, 0)
			is := isDigit(b[0]) && b[1] == '.'
			for _, c := range b[2:w.width] {
				is = is && isDigit(c)
			}
			if ok != is {
				t.Fatalf("%d bytes of %q: %d, %v", w.width, b, v, ok)
			}
			if is {
				if want, _ := strconv.ParseUint(string(b[:1])+string(b[2:w.width]), 10, 64); v != want {
					t.Fatalf("%d bytes of %q are %d, want %d", w.width, b, v, want)
				}
			}
		}
	}
}

// A stamp of the second before is read as the long way reads it.
func TestKnownStampsEqualParsing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	short := 0
	for range 100_000 {
		var known, plain clock
		stamp := func() string {
			return fmt.Sprintf("2016-07-20T18:13:%02d.%0*d%s", 20+r.IntN(2), 5+r.IntN(3), r.IntN(100_000), []string{"Z", "+08:00", "", "Z "}[r.IntN(4)])
		}
		first, second := stamp(), stamp()
		known.begin()
		known.stamp([]byte(first))
		line := append([]byte("# Time: "+second+"\n"), make([]byte, knownMargin)...)
		n := known.known(line)
		if n == 0 {
			continue
		}
		short++
		if ok := plain.stamp([]byte(second)); !ok || n != len("# Time: \n")+len(second) || known.iso != plain.iso {
			t.Fatalf("behind %q, %q is %d, want %d, %v", first, second, known.iso, plain.iso, ok)
		}
	}
	if short < 300 {
		t.Errorf("%d stamps were read the short way", short)
	}
}

// A header line read the short way tells what the same line tells attribute by attribute.
func TestKnownLinesEqualAttributes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	number := func() string {
		return strconv.FormatUint(r.Uint64()>>uint(r.IntN(64)), 10)
	}
	seconds := func(fraction int) string {
		return fmt.Sprintf("%d.%0*d", r.Uint64()>>uint(34+r.IntN(30)), fraction, r.IntN(10_000))
	}
	short := 0
	for range 50_000 {
		lines := []string{
			fmt.Sprintf("# Query_time: %s  Lock_time: %s  Rows_sent: %s  Rows_examined: %s\n", seconds(6), seconds(6), number(), number()),
			fmt.Sprintf("# Rows_affected: %s  Bytes_sent: %s\n", number(), number()),
			fmt.Sprintf("# Pages_read_time: %s  Engine_time: %s\n", seconds(4), seconds(4)),
			fmt.Sprintf("# Query_time: %s  Lock_time: %s Rows_sent: %s  Rows_examined: %s\n", seconds(6), seconds(3+r.IntN(5)), number(), number()),
		}
		line := lines[r.IntN(len(lines))]
		s := newSlowLog(New(Options{}), "", nil, append([]byte(line), make([]byte, 2*knownMargin)...))
		s.end = len(s.buf)
		var h header
		next := s.knownLine(0, &h)
		if next == 0 {
			continue
		}
		short++
		got := s.ev
		s.ev = event{}
		s.headerLine([]byte(line[:len(line)-1]), &h)
		if next != len(line) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", s.ev) {
			t.Fatalf("%q\n got %+v\nwant %+v", line, got, s.ev)
		}
	}
	if short < 10_000 {
		t.Errorf("%d lines were read the short way", short)
	}
}
