package workspace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// dueKeys are the keys of due in farm.yaml.
var dueKeys = []string{"sizes", "sources", "load", "hosts", "reshape", "window", "keep_hours", "keep_days"}

// due reads the key of that name.
func (r *farmReader) due(n *yaml.Node) {
	out := &r.farm.Due
	r.fields(n, func() string { return "due" }, dueKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of due" }
		switch key {
		case "sizes":
			out.Sizes = r.interval(v, what)
		case "sources":
			out.Sources = r.interval(v, what)
		case "load":
			out.Load = r.interval(v, what)
		case "hosts":
			out.Hosts = r.interval(v, what)
		case "reshape":
			out.Reshape = r.interval(v, what)
		case "window":
			out.Window = r.lasting(v, what, 2*time.Second, time.Hour)
		case "keep_hours":
			out.KeepHours = r.lasting(v, what, 24*time.Hour, 366*24*time.Hour)
		case "keep_days":
			out.KeepDays = r.lasting(v, what, 24*time.Hour, 20*366*24*time.Hour)
		default:
			return false
		}
		return true
	})
}

// interval is how often something is done: 1h, 1d, or off.
func (r *farmReader) interval(v *yaml.Node, what func() string) time.Duration {
	if v.Kind == yaml.ScalarNode && v.Value == "off" {
		return -1
	}
	return r.lasting(v, what, time.Minute, 366*24*time.Hour)
}

// lasting is span with days and weeks besides.
func (r *farmReader) lasting(v *yaml.Node, what func() string, least, most time.Duration) time.Duration {
	text := r.text(v, what)
	if r.bad[v] {
		return 0
	}
	d, ok := parseLasting(text)
	if !ok || d < least || d > most {
		r.fault(v, "%s must be a time with its unit, from %s to %s, not %q", what(), lastingText(least), lastingText(most), text)
		return 0
	}
	return d
}

// parseLasting reads 90s, 1h30m, 7d or 2w.
func parseLasting(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 16)
			return time.Duration(n) * length, err == nil && n <= uint64(math.MaxInt64/length)
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// lastingText is what parseLasting reads.
func lastingText(d time.Duration) string {
	if d > 0 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if text == "" || text[len(text)-1] >= '0' && text[len(text)-1] <= '9' || strings.HasSuffix(text, ".") {
		return d.String()
	}
	return text
}

// due writes the key of that name, if it says anything.
func (w *farmWriter) due(d farm.Due) {
	if d == (farm.Due{}) {
		return
	}
	row := flow{}
	row.times([]timed{{"sizes", d.Sizes}, {"sources", d.Sources}, {"load", d.Load}, {"hosts", d.Hosts}, {"reshape", d.Reshape}, {"window", d.Window}, {"keep_hours", d.KeepHours}, {"keep_days", d.KeepDays}})
	w.line("due: %s", row)
}

// timed is a key whose value is a time.
type timed struct {
	key string
	v   time.Duration
}

// times adds those that say anything; a negative time is off.
func (f *flow) times(all []timed) {
	for _, x := range all {
		switch {
		case x.v < 0:
			f.add(x.key, "off")
		case x.v > 0:
			f.add(x.key, lastingText(x.v))
		}
	}
}
