package decide

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"stowage/farm"
)

// Print is a value for people.
func (u Unit) Print(v float64, currency string) string {
	switch u {
	case UnitRate:
		return short(v)
	case UnitMBps:
		return short(v) + " MB/s"
	case UnitMicros:
		if v >= 1e6 {
			return short(v/1e6) + " s"
		}
		if v >= 1000 {
			return short(v/1000) + " ms"
		}
		return short(v) + " us"
	case UnitMoney, UnitPerGB:
		return strings.TrimSpace(short(v) + " " + currency)
	case UnitPer:
		if currency == "" {
			return short(v)
		}
		return short(v) + "/" + currency
	case UnitBytes:
		return farm.RoundQuantity(v, farm.KindBytes)
	case UnitByteRate:
		return farm.RoundQuantity(v, farm.KindByteRate)
	case UnitWatts:
		return short(v) + " W"
	case UnitDays:
		return days(v)
	case UnitHours:
		return hours(v)
	case UnitShare:
		return percent(v)
	case UnitCount:
		return whole(v)
	case UnitFactor:
		return "x" + short(v)
	}
	return short(v)
}

func (e entry) print(v float64, currency string) string { return e.kind.Unit.Print(v, currency) }

func days(v float64) string {
	if v >= 730 {
		return short(v/365) + " years"
	}
	return short(v) + " days"
}

func hours(v float64) string {
	switch {
	case v < 1:
		return short(60*v) + " min"
	case v >= 72:
		return short(v/24) + " days"
	}
	return short(v) + " h"
}

// percent has enough digits for the probabilities that are small.
func percent(v float64) string {
	p := 100 * v
	switch {
	case p == 0:
		return "0 %"
	case math.Abs(p) >= 10:
		return fmt.Sprintf("%.0f %%", p)
	case math.Abs(p) >= 0.01:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	}
	return fmt.Sprintf("%.0e %%", p)
}

// whole is a number with commas: 24,310.
func whole(v float64) string {
	text := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// short is a number with three digits that count, and no fewer than its whole part has.
func short(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case a >= 100:
		return whole(v)
	case a >= 10:
		return trim(fmt.Sprintf("%.1f", v))
	case a >= 0.1:
		return trim(fmt.Sprintf("%.2f", v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func trim(text string) string { return strings.TrimRight(strings.TrimRight(text, "0"), ".") }

// times is a ratio above 1 as people say it: "14 %" or "3.2 times".
func times(ratio float64) string {
	if ratio >= 2 {
		return short(ratio) + " times"
	}
	return percent(ratio - 1)
}
