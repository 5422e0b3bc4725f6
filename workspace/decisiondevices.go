package workspace

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/bench/decide"
	"stowage/farm"
)

// devices reads what a candidate is made of.
func (r *decisionReader) devices(c *decide.Candidate, n *yaml.Node) {
	where := func() string { return "devices of " + c.Name }
	source := ""
	if v := value(n, "source"); v != nil {
		source = r.text(v, func() string { return "source of " + where() })
	}
	a := decide.Array{Level: decide.None, Devices: 1}
	var capacity, dwpd, warranty float64
	put := func(what string, f decide.Figure) {
		if k := (decide.Key{What: what}); c.Figures[k].Known() {
			r.fault(n, "%s says twice what %s is", where(), k)
		} else {
			c.Figures[k] = f
		}
	}
	r.fields(n, where, deviceKeys, func(key string, v *yaml.Node) bool {
		what := key + " of the " + where()
		words := func() string { return what }
		switch key {
		case "count":
			a.Devices = int(r.whole(v, words, 1, 10_000))
		case "level":
			a.Level = decide.Level(r.text(v, words))
		case "capacity":
			capacity = r.above(v, words, farm.KindBytes)
			put(key, decide.Exactly(capacity, source))
		case "afr":
			put(key, r.yearly(v, what, source))
		case "mtbf":
			if hours := r.hours(v, what); hours > 0 {
				put("afr", decide.Claimed(decide.AFR(hours), decide.Sheet, source))
			}
		case "tbw":
			put(key, r.amount(v, what, farm.KindBytes, decide.Sheet, source))
		case "dwpd":
			dwpd = r.above(v, words, farm.KindPlain)
		case "warranty":
			warranty = r.days(v, what)
		case "rebuild_rate":
			put(key, r.amount(v, what, farm.KindByteRate, decide.Given, source))
		case "replaced_after":
			put("replace_after", decide.Exactly(r.duration(v, what).Hours(), source))
		case "ceiling":
			c.Ceiling = r.above(v, words, farm.KindByteRate) / 1e6
		case "source":
		default:
			return false
		}
		return true
	})
	if dwpd > 0 {
		if capacity == 0 || warranty == 0 {
			r.fault(n, "dwpd of the %s wants capacity and warranty beside it: they say of how much, and for how long", where())
		} else {
			put("tbw", decide.Claimed(dwpd*capacity*warranty, decide.Sheet, source))
		}
	}
	r.checkLevel(n, where(), a)
	c.Array = a
}

// hours reads 2000000h, which is more than a time.Duration may hold.
func (r *decisionReader) hours(n *yaml.Node, what string) float64 {
	number, ok := strings.CutSuffix(n.Value, "h")
	v, err := farm.ParseQuantity("", strings.TrimSpace(number), farm.KindPlain)
	if n.Kind != yaml.ScalarNode || !ok || err != nil || v == 0 {
		r.fault(n, "%s wants hours above 0 such as 2000000h, not %s", what, shownNode(n))
		return 0
	}
	return v
}

// yearly reads 0.5% as a figure.
func (r *decisionReader) yearly(n *yaml.Node, what, source string) decide.Figure {
	v, ok := percentage(n)
	if !ok || !(v > 0) || v >= 100 {
		r.fault(n, "%s wants a percentage above 0%% and below 100%% such as 0.5%%, not %s", what, shownNode(n))
		return decide.Figure{}
	}
	return decide.Claimed(v/100, decide.Sheet, source)
}

func (r *decisionReader) checkLevel(n *yaml.Node, where string, a decide.Array) {
	for _, l := range decide.Levels {
		if l.Level != a.Level {
			continue
		}
		switch {
		case a.Devices < l.Least:
			r.fault(n, "level %s of the %s wants %s at least, not %d", a.Level, where, farm.Counted(l.Least, "device"), a.Devices)
		case a.Level == decide.RAID10 && a.Devices%2 == 1:
			r.fault(n, "level 10 of the %s wants an even number of devices, not %d", where, a.Devices)
		}
		return
	}
	r.fault(n, "there is no level %q of the %s; known are none, jbod, 0, 1, 5, 6, 10", a.Level, where)
}
