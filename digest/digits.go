package digest

import "math/bits"

// Numbers eight bytes at a time. Header lines of slow logs are half numbers, and taking them digit by digit costs a
// mispredicted branch at the end of nearly every one. The tricks are those of Daniel Lemire and of Mula, "Faster
// parsing of eight digits" (2008); digits_test.go compares them with the plain way.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
	zeroes    = '0' * everyByte
)

// digitRun is how many of the eight bytes of a word, lowest first, are digits before the first that is none.
func digitRun(word uint64) int { return bits.TrailingZeros64(notDigits(word^zeroes)) >> 3 }

// notDigits has the high bit set of the first byte above 9, and of no byte below that one; bytes above may have it or
// not, because of carries.
func notDigits(t uint64) uint64 { return (t + 0x76*everyByte | t) & highBits }

// eightDigits is the number that eight bytes of 0 to 9 stand for, the lowest byte first.
func eightDigits(t uint64) uint64 {
	t = (t*10 + t>>8) & 0x00ff00ff00ff00ff
	t = (t*100 + t>>16) & 0x0000ffff0000ffff
	return (t*10000 + t>>32) & 0xffffffff
}

// shortCount reads the number at i, of one to seven digits, and returns where it ends. ok is false when there is no
// number or a longer one. There must be eight bytes behind i.
func shortCount(b []byte, i int) (v uint64, end int, ok bool) {
	t := le64(b[i:]) ^ zeroes
	n := bits.TrailingZeros64(notDigits(t)) >> 3
	if uint(n-1) > 6 {
		return 0, i, false
	}
	return eightDigits(t << uint(64-8*n)), i + n, true
}

// shortMicros reads eight bytes "1.234567" at i as microseconds.
func shortMicros(b []byte, i int) (v uint64, ok bool) {
	const point = ('0' ^ '.') << 8 // 0x7f against a byte that must be zero leaves the high bit alone, 0x76 one of 0 to 9
	t := le64(b[i:]) ^ zeroes ^ point
	if (t+0x7676767676767f76|t)&highBits != 0 {
		return 0, false
	}
	return t&0xff*1_000_000 + eightDigits(t&^0xffff), true
}

// shortTenths reads six bytes "1.2345" at i as units of 10^-4. There must be eight bytes behind i.
func shortTenths(b []byte, i int) (v uint64, ok bool) {
	const point = ('0' ^ '.') << 8
	t := (le64(b[i:]) ^ zeroes ^ point) & 0xffffffffffff
	if (t+0x767676767f76|t)&highBits != 0 {
		return 0, false
	}
	return t&0xff*10_000 + eightDigits(t>>16<<32), true
}

// skipDigits is where the digits end that begin at i. There must be eight bytes behind the last of them.
func skipDigits(b []byte, i int) int {
	for {
		n := digitRun(le64(b[i:]))
		i += n
		if n < 8 || len(b)-i < 8 {
			return i
		}
	}
}
