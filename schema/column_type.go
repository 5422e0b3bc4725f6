package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// integers, from the shortest, with the greatest signed value of each.
var integers = []struct {
	kind string
	max  string
}{{"tinyint", "127"}, {"smallint", "32767"}, {"mediumint", "8388607"}, {"int", "2147483647"}, {"bigint", "9223372036854775807"}}

func integer(kind string) int {
	for n, i := range integers {
		if i.kind == kind {
			return n
		}
	}
	return -1
}

// longTexts are types without a length of their own, by their bytes.
var longTexts = map[string]int{"tinytext": 255, "text": 65535, "mediumtext": 1<<24 - 1, "longtext": 1<<32 - 1, "tinyblob": 255, "blob": 65535, "mediumblob": 1<<24 - 1, "longblob": 1<<32 - 1}

// octets is how many bytes a character takes at most. Character sets that are not in the list are never converted.
var octets = map[string]int{"ascii": 1, "latin1": 1, "latin2": 1, "cp1250": 1, "cp1251": 1, "cp1252": 1, "koi8r": 1, "utf8mb3": 3, "utf8mb4": 4, "ucs2": 2, "utf16": 4, "utf32": 4}

// fit says how values of one type are applied to another by a replica that compares types and not names.
type fit struct {
	ok          bool
	conversions bool   // it needs slave_type_conversions=ALL_NON_LOSSY
	lost        string // what the way back would lose: "values above ..."
	why         string // it does not fit: the reason, behind "column v: "
	guard       string // a CHECK under which it would fit: `v` >= 0
	through     string // a type that leads there: bigint(20) unsigned
}

// fits holds the type of a column against the type it had. Every rule was tried on MariaDB 10.11: a row event of the old shape on a table of the new (see docs/guide/alter.md). What is not in here does not fit.
func fits(from, to column) fit {
	a, b := from.kind, to.kind
	switch {
	case from.rest != to.rest:
		return fit{why: fmt.Sprintf("it is changed in a way that Stowage does not know (%s)", strings.TrimSpace(from.rest+" "+to.rest))}
	case from.compressed != to.compressed:
		return fit{why: "column compression is not known to replicate both ways"}
	case integer(a) >= 0 && integer(b) >= 0:
		return integersFit(from, to)
	case a == "decimal" && b == "decimal":
		return decimalsFit(from, to)
	case (a == "float" || a == "double") && from.args == "" && to.args == "" && from.unsigned == to.unsigned && (b == a || b == "double"):
		if a == b {
			return fit{ok: true}
		}
		return fit{ok: true, conversions: true, lost: "digits that a float has no room for"}
	case a == "bit" && b == "bit":
		return longer(number(from.args, 1), number(to.args, 1), "bits")
	case a == "enum" && b == "enum", a == "set" && b == "set":
		return membersFit(from, to)
	case texts[a] && texts[b] && a != "enum" && a != "set" && b != "enum" && b != "set":
		return textsFit(from, to)
	case binaries[a] && binaries[b]:
		return binariesFit(from, to)
	case a == "varchar" && b == "varbinary" && number(to.args, 1) >= number(from.args, 1)*max(octets[from.charset], 1) && octets[from.charset] > 0:
		return fit{ok: true, conversions: number(to.args, 1) != number(from.args, 1)*octets[from.charset], lost: "bytes that are not text of " + from.charset}
	case texts[a] && longTexts[a] > 0 && strings.HasSuffix(b, "blob") && longTexts[a] <= longTexts[b]:
		return fit{ok: true, conversions: longTexts[a] < longTexts[b], lost: "bytes that are not text of " + from.charset}
	case fractions[a] && a == b:
		return fractionsFit(from, to)
	case a == "date" && b == "datetime" && to.args == "":
		return fit{ok: true, conversions: true, lost: "times of day"}
	case a == b && from.args == to.args && from.unsigned == to.unsigned:
		return fit{ok: true}
	}
	return fit{why: fmt.Sprintf("values of %s do not become %s on their way through replication, or it was never tried", from.typeText(), to.typeText())}
}

func (c column) typeText() string {
	out := c.kind
	if c.args != "" {
		out += "(" + c.args + ")"
	}
	if c.unsigned {
		out += " unsigned"
	}
	return out
}

func number(s string, none int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return none
	}
	return n
}

func longer(from, to int, what string) fit {
	switch {
	case to == from:
		return fit{ok: true}
	case to > from:
		return fit{ok: true, conversions: true, lost: fmt.Sprintf("values of more than %d %s", from, what)}
	}
	return fit{why: fmt.Sprintf("values of more than %d %s do not fit", to, what)}
}

// integersFit: the sign is not compared by an applier, so a value of the upper half of an unsigned column becomes negative in a signed one, without an error.
func integersFit(from, to column) fit {
	a, b := integer(from.kind), integer(to.kind)
	if b < a {
		return fit{why: "integers of the other side may be too great for the shorter type"}
	}
	if from.unsigned == to.unsigned {
		if a == b {
			return fit{ok: true} // the width of display changes nothing
		}
		return fit{ok: true, conversions: true, lost: "values that do not fit " + from.typeText()}
	}
	f := fit{why: "an applier does not look at the sign: a value of the upper half would become negative, without an error"}
	if !from.unsigned {
		f.why = "an applier does not look at the sign: a negative value would become a great one, without an error"
	}
	same := to
	same.unsigned = from.unsigned
	if a != b {
		f.through = same.kind
		if same.unsigned {
			f.through += " unsigned"
		}
		return f
	}
	f.guard = quoted(from.name) + " >= 0"
	if from.unsigned {
		f.guard = quoted(from.name) + " <= " + integers[a].max
	}
	return f
}

func decimalsFit(from, to column) fit {
	digits := func(c column) (whole, behind int) {
		p, s, _ := strings.Cut(c.args, ",")
		behind = number(s, 0)
		return number(p, 10) - behind, behind
	}
	a, x := digits(from)
	b, y := digits(to)
	switch {
	case from.unsigned != to.unsigned:
		return fit{why: "a DECIMAL that gets or loses its sign was never tried"}
	case a == b && x == y:
		return fit{ok: true}
	case b >= a && y >= x:
		return fit{ok: true, conversions: true, lost: "digits that do not fit " + from.typeText()}
	}
	return fit{why: fmt.Sprintf("%s has less room before or behind the point than %s", to.typeText(), from.typeText())}
}

// membersFit: values travel as numbers, so only the end of the list may grow. One more byte for the number is a conversion.
func membersFit(from, to column) fit {
	a, b := split(from.args, ','), split(to.args, ',')
	if len(b) < len(a) || !slices.Equal(a, b[:len(a)]) {
		return fit{why: "values of " + strings.ToUpper(from.kind) + " travel as numbers, so another order, or one less, would be other values, without an error; only the end of the list may grow"}
	}
	f := fit{ok: true}
	if len(b) > len(a) {
		f.lost = "rows with " + strings.Join(b[len(a):], ", ")
	}
	size := func(n int) int {
		switch {
		case from.kind == "enum":
			return 1 + (n-1)/255
		case n > 32:
			return 8
		}
		return (n + 7) / 8
	}
	f.conversions = size(len(a)) != size(len(b))
	return f
}

// textsFit: an applier compares octets and not character sets, so bytes of latin1 would be stored as utf8mb4, without an error.
func textsFit(from, to column) fit {
	wide, known := octets[from.charset]
	wider, knows := octets[to.charset]
	sameSet := from.charset == to.charset
	if !sameSet && (from.charset != "utf8mb3" || to.charset != "utf8mb4") {
		return fit{why: fmt.Sprintf("an applier does not look at character sets: bytes of %s would be stored as %s, without an error", from.charset, to.charset)}
	}
	if sameSet && !known {
		wide, wider, knows = 4, 4, true
	}
	if !knows {
		return fit{why: "character set " + to.charset + " is not known"}
	}
	f := fit{ok: true}
	if !sameSet {
		f.lost = "characters that utf8mb3 does not have"
	}
	a, b := longTexts[from.kind], longTexts[to.kind]
	n, m := number(from.args, 1), number(to.args, 1)
	switch {
	case a > 0 && b > 0:
		f.conversions = a != b
		if b < a {
			return fit{why: "texts of the other side may be too long for " + to.kind}
		}
	case a > 0:
		return fit{why: "texts of the other side may be too long for " + to.typeText()}
	case b > 0:
		f.conversions = true
		if n*wide > b {
			return fit{why: "texts of the other side may be too long for " + to.kind}
		}
	case m < n:
		return fit{why: fmt.Sprintf("texts of more than %d characters do not fit", m)}
	default:
		f.conversions = from.kind != to.kind || m*wider != n*wide
	}
	if f.lost == "" && from.typeText() != to.typeText() {
		f.lost = "texts that do not fit " + from.typeText()
	}
	return f
}

var binaries = map[string]bool{"binary": true, "varbinary": true, "tinyblob": true, "blob": true, "mediumblob": true, "longblob": true}

func binariesFit(from, to column) fit {
	a, b := longTexts[from.kind], longTexts[to.kind]
	switch {
	case from.kind == to.kind && a == 0:
		return longer(number(from.args, 1), number(to.args, 1), "bytes")
	case a > 0 && b > a:
		return fit{ok: true, conversions: true, lost: "values that do not fit " + from.kind}
	case a > 0 && b == a:
		return fit{ok: true}
	case from.kind == "varbinary" && b > 0 && number(from.args, 1) <= b:
		return fit{ok: true, conversions: true, lost: "values that do not fit " + from.typeText()}
	}
	return fit{why: fmt.Sprintf("values of %s may not fit %s", from.typeText(), to.typeText())}
}

var fractions = map[string]bool{"datetime": true, "timestamp": true, "time": true}

// fractionsFit: an applier takes the type without digits for one whose digits were not sent, and reads the wrong number of bytes (error 1030, "event was corrupt").
func fractionsFit(from, to column) fit {
	a, b := number(from.args, 0), number(to.args, 0)
	switch {
	case a == b:
		return fit{ok: true}
	case a == 0:
		return fit{why: "an applier reads values without digits of a second wrongly where the column has some, and stops; add a column of the new type, let the application write both, and fill it in"}
	case b < a:
		return fit{why: "digits of a second would be cut off"}
	}
	return fit{ok: true, conversions: true, lost: "digits of a second"}
}
