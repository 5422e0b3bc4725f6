package farm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is what a quantity measures, and so which units it may carry.
type Kind string

const (
	KindPlain       Kind = "plain number"   // cores, operations a second, watts
	KindBytes       Kind = "bytes"          // 48GB, 96GiB
	KindBits        Kind = "bits a second"  // 10Gbit
	KindBytesPerDay Kind = "bytes a day"    // 40MB/day
	KindByteRate    Kind = "bytes a second" // 120MB/s: how fast data is copied
	KindOpen        Kind = "bytes or plain" // a resource the farm itself added
)

// kinds are the known resources. Anything else is the farm's own, KindOpen.
var kinds = map[ResourceName]Kind{
	Disk:    KindBytes,
	Memory:  KindBytes,
	CPU:     KindPlain,
	IOPS:    KindPlain,
	Network: KindBits,
}

// Kind is what amounts of this resource measure.
func (r ResourceName) Kind() Kind {
	if k, ok := kinds[r]; ok {
		return k
	}
	return KindOpen
}

// unit is one suffix: a number times ten^exp10 times two^exp2.
type unit struct {
	suffix string
	kind   Kind
	exp10  int
	exp2   int
}

// units are all suffixes, largest first. GB is 10^9 and GiB is 2^30: disks are
// sold in the one and memory in the other, and 7 % is a whole shard.
var units = []unit{
	{"PB", KindBytes, 15, 0}, {"TB", KindBytes, 12, 0}, {"GB", KindBytes, 9, 0}, {"MB", KindBytes, 6, 0}, {"kB", KindBytes, 3, 0},
	{"PiB", KindBytes, 0, 50}, {"TiB", KindBytes, 0, 40}, {"GiB", KindBytes, 0, 30}, {"MiB", KindBytes, 0, 20}, {"KiB", KindBytes, 0, 10},
	{"B", KindBytes, 0, 0},
	{"Tbit", KindBits, 12, 0}, {"Gbit", KindBits, 9, 0}, {"Mbit", KindBits, 6, 0}, {"kbit", KindBits, 3, 0}, {"bit", KindBits, 0, 0},
}

// examples are what an error shows as meant.
var examples = map[Kind]string{
	KindPlain:       "a plain number such as 1800 or 0.07",
	KindBytes:       "bytes such as 48GB",
	KindBits:        "bits a second such as 10Gbit",
	KindBytesPerDay: "bytes a day such as 40MB/day",
	KindByteRate:    "bytes a second such as 120MB/s",
	KindOpen:        "a plain number such as 4 or bytes such as 48GB",
}

// largest keeps every amount inside an int64 of bytes.
const largest = 1 << 62

// ParseQuantity reads an amount of the wanted kind into base units. what is
// named in the error, which says what was meant:
//
//	disk wants bytes such as 48GB, not 48Gbit
//
// Errors wrap ErrInput.
func ParseQuantity(what, text string, want Kind) (float64, error) {
	v, got, err := parseQuantity(text)
	if err != nil {
		return 0, inputError(fmt.Sprintf("%s wants %s, not %s: %s", what, examples[want], shown(text), err))
	}
	if got == want || want == KindOpen && (got == KindPlain || got == KindBytes) {
		return v, nil
	}
	return 0, inputError(fmt.Sprintf("%s wants %s, not %s", what, examples[want], shown(text)))
}

// inputError is a message that unwraps to ErrInput without repeating it.
type inputError string

func (e inputError) Error() string { return string(e) }
func (e inputError) Unwrap() error { return ErrInput }

// shown is the text as an error quotes it: short, and never invisible.
func shown(text string) string {
	if text == "" {
		return "nothing"
	}
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	for _, c := range text {
		if !strconv.IsPrint(c) || c == ' ' {
			return strconv.Quote(text)
		}
	}
	return text
}

// QuantityKind is the kind the text's own unit says, KindPlain without a unit.
func QuantityKind(text string) (Kind, error) {
	_, k, err := parseQuantity(text)
	return k, err
}

func parseQuantity(text string) (float64, Kind, error) {
	number, suffix := splitQuantity(text)
	if number == "" {
		return 0, "", errors.New("it does not start with a number")
	}
	if strings.HasPrefix(number, "-") {
		return 0, "", errors.New("it is negative")
	}
	plain, period := splitPeriod(suffix)
	u, err := findUnit(plain)
	if err != nil {
		return 0, "", err
	}
	// The exponent goes into the text so that 2.2TB is exactly 2200000000000.
	v, err := strconv.ParseFloat(number+"e"+strconv.Itoa(u.exp10), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, "", errors.New("it is not a number")
	}
	v = math.Ldexp(v, u.exp2)
	if v > largest {
		return 0, "", errors.New("it is too large")
	}
	k, err := u.every(period)
	return v, k, err
}

// splitPeriod cuts "MB/s" into "MB" and "/s".
func splitPeriod(suffix string) (unit, period string) {
	for _, period := range []string{"/day", "/s"} {
		if unit, ok := strings.CutSuffix(suffix, period); ok {
			return unit, period
		}
	}
	return suffix, ""
}

// every is the kind of so much of u in each period. Bits are a second anyway.
func (u unit) every(period string) (Kind, error) {
	switch {
	case period == "" || period == "/s" && u.kind == KindBits:
		return u.kind, nil
	case period == "/s" && u.kind == KindBytes:
		return KindByteRate, nil
	case period == "/s":
		return "", errors.New("only bytes and bits can be a second")
	case u.kind == KindBytes:
		return KindBytesPerDay, nil
	}
	return "", fmt.Errorf("only bytes can be a day, not %q", u.suffix)
}

// splitQuantity cuts "48 GB" into "48" and "GB".
func splitQuantity(text string) (number, suffix string) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || text[end] == '-' && end == 0) {
		end++
	}
	number = text[:end]
	if strings.Trim(number, "-.") == "" {
		return "", text
	}
	return number, strings.TrimPrefix(text[end:], " ")
}

func findUnit(suffix string) (unit, error) {
	if suffix == "" {
		return unit{kind: KindPlain}, nil
	}
	for _, u := range units {
		if u.suffix == suffix {
			return u, nil
		}
	}
	for _, u := range units {
		if strings.EqualFold(u.suffix, suffix) && u.kind == KindBytes {
			return unit{}, fmt.Errorf("unit %q is not known: write %s for bytes or %s for bits", suffix, u.suffix, bitsLike(suffix))
		}
		if strings.EqualFold(u.suffix, suffix) {
			return unit{}, fmt.Errorf("unit %q is not known: write %s", suffix, u.suffix)
		}
	}
	return unit{}, fmt.Errorf("unit %q is not known", suffix)
}

// bitsLike is the unit of bits with the prefix of a misspelt one: Gb -> Gbit.
func bitsLike(suffix string) string {
	for _, u := range units {
		if u.kind == KindBits && strings.EqualFold(u.suffix[:1], suffix[:1]) {
			return u.suffix
		}
	}
	return "bit"
}

// FormatQuantity prints base units in the shortest unit that reads back to
// exactly the same amount: 48000000000 bytes is 48GB, 103079215104 is 96GiB.
func FormatQuantity(v float64, k Kind) string {
	if k == KindPlain || k == KindOpen {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	base, suffix := k.base()
	best := ""
	for _, u := range units {
		if u.kind != base {
			continue
		}
		text := u.print(v)
		if best != "" && !better(text, best) || !u.reads(text, v) {
			continue
		}
		best = text
	}
	return best + suffix
}

// print is v in unit u, as short as floating point allows.
func (u unit) print(v float64) string {
	text := make([]byte, 0, 32)
	text = strconv.AppendFloat(text, math.Ldexp(v, -u.exp2)/math.Pow10(u.exp10), 'f', -1, 64)
	return string(append(text, u.suffix...))
}

// reads reports whether text, printed in unit u, reads back as v.
func (u unit) reads(text string, v float64) bool {
	if u.exp10 == 0 { // dividing by a power of two loses nothing
		return math.Ldexp(math.Ldexp(v, -u.exp2), u.exp2) == v
	}
	back, _, err := parseQuantity(text)
	return err == nil && back == v
}

// better: shorter, or as short and without a leading "0.".
func better(text, best string) bool {
	if len(text) != len(best) {
		return len(text) < len(best)
	}
	return !strings.HasPrefix(text, "0.") && strings.HasPrefix(best, "0.")
}

// base is the kind whose units a kind is written in, and what follows them.
func (k Kind) base() (Kind, string) {
	switch k {
	case KindBytesPerDay:
		return KindBytes, "/day"
	case KindByteRate:
		return KindBytes, "/s"
	}
	return k, ""
}

// RoundQuantity prints about three significant digits for people: 13.9TB. It
// does not read back to the same amount.
func RoundQuantity(v float64, k Kind) string {
	base, suffix := k.base()
	for _, u := range units {
		scale := math.Pow10(u.exp10)
		if u.kind == base && u.exp2 == 0 && v >= scale {
			return threeDigits(v/scale) + u.suffix + suffix
		}
	}
	switch base {
	case KindBytes:
		return threeDigits(v) + "B" + suffix
	case KindBits:
		return threeDigits(v) + "bit"
	}
	return threeDigits(v)
}

func threeDigits(v float64) string {
	digits := 2
	if v >= 10 {
		digits = 1
	}
	if v >= 100 {
		digits = 0
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// CountedAs is a number with what it counts: CountedAs(1, "rule is", "rules are").
func CountedAs[N ~int | ~int64 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(uint64(n), 10) + " " + many
}

// Counted is a number with its noun: 1 event, 2 events, 3 classes, 4 copies.
func Counted[N ~int | ~int64 | ~uint64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "x"):
		noun += "es"
	case strings.HasSuffix(noun, "py") || strings.HasSuffix(noun, "ry"):
		noun = noun[:len(noun)-1] + "ies"
	default:
		noun += "s"
	}
	return strconv.FormatUint(uint64(n), 10) + " " + noun
}
