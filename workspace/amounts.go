package workspace

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

func (r *reader) words(n *yaml.Node, what string) []string {
	var words []string
	for _, item := range r.items(n, what) {
		words = append(words, r.text(item, func() string { return "an entry of " + what }))
	}
	return words
}

// oneOrMore reads a word or a list of words.
func (r *reader) oneOrMore(n *yaml.Node, what string) []string {
	if n.Kind == yaml.SequenceNode {
		return r.words(n, what)
	}
	if word := r.text(n, func() string { return what }); word != "" {
		return []string{word}
	}
	return nil
}

// above is a quantity that is not zero.
func (r *reader) above(n *yaml.Node, what func() string, k farm.Kind) float64 {
	v := r.quantity(n, what, k)
	if v == 0 && !r.bad[n] {
		r.fault(n, "%s must be above 0, or left out", what())
	}
	return v
}

// percent reads 20% as 0.2.
func (r *reader) percent(n *yaml.Node, what string) float64 {
	v, ok := percentage(n)
	if !ok || v >= 100 {
		r.fault(n, "%s wants a percentage from 0%% to below 100%% such as 20%%, not %s", what, shownNode(n))
		return 0
	}
	return v / 100
}

// share reads 25% as 0.25; nothing is no share.
func (r *reader) share(n *yaml.Node, what string) float64 {
	v, ok := percentage(n)
	if !ok || v <= 0 || v > 100 {
		r.fault(n, "%s wants a percentage above 0%% and up to 100%% such as 25%%, not %s", what, shownNode(n))
		return 0
	}
	return v / 100
}

// ofPeak reads 0.4 or 40% as 0.4.
func (r *reader) ofPeak(n *yaml.Node, what func() string) float64 {
	v, ok := percentage(n)
	v /= 100
	if !ok && n.Kind == yaml.ScalarNode {
		plain, err := farm.ParseQuantity("", n.Value, farm.KindPlain)
		v, ok = plain, err == nil
	}
	if !ok || v > 1 {
		r.fault(n, "%s wants a share of the peak from 0 to 1, or from 0%% to 100%%, not %s", what(), shownNode(n))
		return 0
	}
	return v
}

// percentage reads 20% as 20. Infinity and what is not a number are none.
func percentage(n *yaml.Node) (float64, bool) {
	number, ok := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(number, 64)
	return v, n.Kind == yaml.ScalarNode && ok && err == nil && v >= 0 && !math.IsInf(v, 0)
}

// mostDays keeps a slip from growing the farm beyond all counting.
const mostDays = 36500

// days reads 540 days, 540d, or 1.5 years of 365 days each.
func (r *reader) days(n *yaml.Node, what string) float64 {
	number, unit := n.Value, ""
	if i := strings.IndexFunc(n.Value, func(c rune) bool { return (c < '0' || c > '9') && c != '.' }); i >= 0 {
		number, unit = n.Value[:i], strings.TrimSpace(n.Value[i:])
	}
	v, err := strconv.ParseFloat(number, 64)
	switch unit {
	case "d", "day", "days":
	case "y", "year", "years":
		v *= 365
	default:
		err = farm.ErrInput
	}
	if n.Kind != yaml.ScalarNode || err != nil {
		r.fault(n, "%s wants days or years such as 540 days or 1.5 years, not %s", what, shownNode(n))
		return 0
	}
	if v > mostDays {
		r.fault(n, "%s of %s is more than 100 years", what, n.Value)
		return 0
	}
	return v
}

// factor reads x2 and 2 as 2.
func (r *reader) factor(n *yaml.Node, what string) float64 {
	v, err := farm.ParseQuantity("", strings.TrimPrefix(n.Value, "x"), farm.KindPlain)
	if n.Kind != yaml.ScalarNode || err != nil || v == 0 {
		r.fault(n, "%s wants a factor above 0 such as x2, not %s", what, shownNode(n))
		return 0
	}
	return v
}

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 {
		r.fault(n, "%s wants a time such as 500ms or 10m, not %s", what, shownNode(n))
		return 0
	}
	return v
}

func shownNode(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return n.Value
	}
	return kindWord(n)
}
