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
	perDay := strings.HasSuffix(suffix, "/day")
	suffix = strings.TrimSuffix(suffix, "/day")
	u, err := findUnit(suffix)
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
	switch {
	case !perDay:
		return v, u.kind, nil
	case u.kind == KindBytes:
		return v, KindBytesPerDay, nil
	default:
		return 0, "", fmt.Errorf("only bytes can be a day, not %q", suffix)
	}
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
	plain := strings.TrimSuffix(suffix, "/s")
	for _, u := range units {
		if u.suffix == suffix || u.kind == KindBits && u.suffix == plain {
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
	plain := strconv.FormatFloat(v, 'f', -1, 64)
	if k == KindPlain || k == KindOpen {
		return plain
	}
	base, suffix := k, ""
	if k == KindBytesPerDay {
		base, suffix = KindBytes, "/day"
	}
	best := ""
	for _, u := range units {
		if u.kind != base {
			continue
		}
		text := strconv.FormatFloat(math.Ldexp(v, -u.exp2)/math.Pow10(u.exp10), 'f', -1, 64) + u.suffix
		if back, _, err := parseQuantity(text); err != nil || back != v {
			continue
		}
		if best == "" || len(text) < len(best) || len(text) == len(best) && !strings.HasPrefix(text, "0.") && strings.HasPrefix(best, "0.") {
			best = text
		}
	}
	return best + suffix
}

// RoundQuantity prints about three significant digits for people: 13.9TB. It
// does not read back to the same amount.
func RoundQuantity(v float64, k Kind) string {
	base, suffix := k, ""
	if k == KindBytesPerDay {
		base, suffix = KindBytes, "/day"
	}
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
