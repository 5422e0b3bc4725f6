package decide

// Unit says how a value is printed.
type Unit string

// The units of figures.
const (
	UnitRate     Unit = "/s"
	UnitMBps     Unit = "MB/s"
	UnitMicros   Unit = "us"
	UnitMoney    Unit = "price"
	UnitPer      Unit = "per price" // of the currency
	UnitPerGB    Unit = "price per GB"
	UnitBytes    Unit = "bytes"
	UnitByteRate Unit = "bytes/s"
	UnitWatts    Unit = "W"
	UnitDays     Unit = "days"
	UnitHours    Unit = "hours"
	UnitShare    Unit = "share"
	UnitCount    Unit = "devices"
	UnitFactor   Unit = "factor"
)

// Kind is a figure that a goal may name.
type Kind struct {
	Name string
	More bool // more is better
	Unit Unit
	// Step: it is a figure of a step, this one unless the goal names another; "-": of none; "": of the one that must be named.
	Step string
	// OnlyLimit: it can be nothing at all, so that it has no ratio and takes no weight.
	OnlyLimit bool
	About     string
	reckon    func(*view) float64
}

// Commits is the step that durable commits are measured by, unless a goal names another: log writes, one at a time.
const Commits = "LOG4K-FDS-Q1T1"

const perGB = 1e9

// Kinds are all figures, in the order of the aspects that they are mostly of.
var Kinds = []Kind{
	{"iops", true, UnitRate, "", false, "requests a second", func(v *view) float64 { return v.of("iops") }},
	{"mbps", true, UnitMBps, "", false, "megabytes (10^6) a second", func(v *view) float64 { return v.of("mbps") }},
	{"commits", true, UnitRate, Commits, false, "durable commits a second: only of a step whose writes survive the power", func(v *view) float64 { return v.of("commits") }},
	{"mean", false, UnitMicros, "", false, "mean latency", func(v *view) float64 { return v.of("mean") }},
	{"p50", false, UnitMicros, "", false, "median latency", func(v *view) float64 { return v.of("p50") }},
	{"p95", false, UnitMicros, "", false, "95th percentile of latency", func(v *view) float64 { return v.of("p95") }},
	{"p99", false, UnitMicros, "", false, "99th percentile of latency", func(v *view) float64 { return v.of("p99") }},
	{"p999", false, UnitMicros, "", false, "99.9th percentile of latency", func(v *view) float64 { return v.of("p999") }},

	{"price", false, UnitMoney, "-", false, "of the whole", func(v *view) float64 { return v.of("price") }},
	{"price per GB", false, UnitPerGB, "-", false, "price / usable gigabytes (10^9)", func(v *view) float64 { return v.of("price") / v.usable() * perGB }},
	{"iops per price", true, UnitPer, "", false, "iops / price", func(v *view) float64 { return v.of("iops") / v.of("price") }},
	{"mbps per price", true, UnitPer, "", false, "mbps / price", func(v *view) float64 { return v.of("mbps") / v.of("price") }},
	{"commits per price", true, UnitPer, Commits, false, "commits / price", func(v *view) float64 { return v.of("commits") / v.of("price") }},
	{"watts", false, UnitWatts, "-", false, "of the whole", func(v *view) float64 { return v.of("watts") }},
	{"capacity", true, UnitBytes, "-", false, "usable bytes", func(v *view) float64 { return v.usable() }},

	{"endurance", true, UnitDays, "-", false, "days until the devices have been written what they are rated for: n TBW / (writes a day x what the level writes x write amplification)", endurance},
	{"endurance flat out", true, UnitDays, "", true, "the same, if the servers wrote at the speed of a step all day", flatOut},
	{"survives", true, UnitCount, "-", true, "devices that may be lost, whichever they are, without losing data", func(v *view) float64 { return v.array(func(a Array) float64 { return float64(a.survives()) }) }},
	{"degraded reads", true, UnitShare, "-", true, "random reads that are left while one device is missing", func(v *view) float64 { return v.array(func(a Array) float64 { return a.degraded().Reads }) }},
	{"degraded writes", true, UnitShare, "-", true, "small random writes that are left while one device is missing", func(v *view) float64 { return v.array(func(a Array) float64 { return a.degraded().Writes }) }},
	{"exposure", false, UnitHours, "-", false, "hours from the loss of a device until there are all copies again: replaced and rebuilt", exposure},
	{"second loss", false, UnitShare, "-", false, "probability that data is lost before a lost device has been replaced and rebuilt", secondLoss},
	{"yearly loss", false, UnitShare, "-", false, "probability that data is lost within a year", yearlyLoss},
}

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

func endurance(v *view) float64 {
	rated := v.of("tbw")
	written := v.array(func(a Array) float64 { return a.written() })
	return rated / (v.given("what is written a day", v.workload.Writes) * written * v.amplification())
}

// flatOut is endurance at the worst: what the storage can be made to write, it is written.
func flatOut(v *view) float64 {
	day := v.against("mbps") * 1e6 * 86400
	return v.of("tbw") / (day * v.array(func(a Array) float64 { return a.written() }) * v.amplification())
}

// exposure is how long a second loss may come.
func exposure(v *view) float64 {
	if v.candidate.Array.IsKnown() && v.candidate.Array.survives() == 0 {
		return v.lacks("nothing is rebuilt: there is no second copy of a lost device")
	}
	return v.of("capacity")/v.of("rebuild_rate")/3600 + v.orNothing("replace_after")
}

func secondLoss(v *view) float64 {
	afr, hours := v.of("afr"), 0.0
	if v.candidate.Array.survives() > 0 {
		hours = exposure(v)
	}
	return v.array(func(a Array) float64 { return a.fatal(afr, hours) })
}

func yearlyLoss(v *view) float64 {
	afr, fatal := v.of("afr"), secondLoss(v)
	return v.array(func(a Array) float64 { return a.yearly(afr, fatal) })
}
