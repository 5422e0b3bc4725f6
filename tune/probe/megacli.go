package probe

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// MegaCli is the oldest of the tools and has no JSON: lines of "key : value",
// grouped by headings. Its three answers are read together.

var (
	adapterHead  = lazy.Regexp(`(?i)^(?:Adapter|BBU status for Adapter:)\s*#?:?\s*(\d+)`)
	levelNumbers = lazy.Regexp(`Primary-(\d+), Secondary-(\d+)`)
)

// parseMegaCli reads -AdpAllInfo, -AdpBbuCmd -GetBbuStatus and -LdPdInfo (or
// -LDInfo and -PDList, whose lines are the same).
func parseMegaCli(adapters, battery, drives string) []tune.Controller {
	all := map[int]*tune.Controller{}
	of := func(n int) *tune.Controller {
		if all[n] == nil {
			all[n] = &tune.Controller{Tool: "MegaCli", Number: n}
		}
		return all[n]
	}
	eachLine(adapters, func(n int, key, value string) {
		if key == "Product Name" {
			of(n).Model = value
		}
		if key == "BBU" && value == "Absent" {
			of(n).Battery = tune.Battery{Known: true, State: "none"}
		}
	})
	eachLine(battery, func(n int, key, value string) { megaBattery(&of(n).Battery, key, value) })
	eachLine(drives, func(n int, key, value string) { megaDrive(of(n), key, value) })
	var out []tune.Controller
	for _, n := range slices.Sorted(maps.Keys(all)) {
		c := all[n]
		if b := &c.Battery; b.Known && b.Present && b.State == "" {
			b.State = "no fault reported"
		}
		out = append(out, *c)
	}
	return out
}

// eachLine calls visit for every line "key : value" with the adapter whose
// heading came last.
func eachLine(text string, visit func(adapter int, key, value string)) {
	adapter := -1
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if m := adapterHead().FindStringSubmatch(l); m != nil {
			adapter, _ = strconv.Atoi(m[1])
			continue
		}
		key, value, ok := strings.Cut(l, ":")
		if ok && adapter >= 0 {
			visit(adapter, strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}

func megaBattery(b *tune.Battery, key, value string) {
	switch key {
	case "BatteryType":
		b.Known, b.Present, b.Healthy = true, value != "No Battery", value != "No Battery"
	case "Battery State":
		b.Known, b.Present, b.State = true, true, value
		b.Healthy = strings.EqualFold(value, "Optimal") || strings.EqualFold(value, "Operational") || value == ""
	case "isSOHGood":
		b.Known, b.Present = true, true
		if !strings.EqualFold(value, "Yes") {
			b.Healthy, b.State = false, "isSOHGood: "+value
		}
	case "Battery Replacement required", "Learn Cycle Active", "Battery Pack Missing":
		if strings.EqualFold(value, "Yes") {
			b.Known, b.Healthy, b.State = true, false, key
		}
	}
}

// megaDrive takes one line of a volume or of a drive; a volume begins with
// "Virtual Drive" (or "Virtual Disk"), a drive with "Enclosure Device ID".
func megaDrive(c *tune.Controller, key, value string) {
	switch key {
	case "Virtual Drive", "Virtual Disk", "CacheCade Virtual Drive":
		number, _, _ := strings.Cut(value, " ")
		c.Volumes = append(c.Volumes, tune.Volume{ID: number, Optimal: true})
		return
	case "Enclosure Device ID":
		c.Drives = append(c.Drives, tune.Drive{ID: value, Device: -1})
		return
	}
	if n := len(c.Drives); n > 0 && megaPhysical(&c.Drives[n-1], key, value) {
		return
	}
	if n := len(c.Volumes); n > 0 {
		megaVolume(c, &c.Volumes[n-1], key, value)
	}
}

func megaVolume(c *tune.Controller, v *tune.Volume, key, value string) {
	switch key {
	case "RAID Level":
		v.Level = value
		if m := levelNumbers().FindStringSubmatch(value); m != nil {
			v.Level = "RAID" + m[1]
			if m[2] != "0" {
				v.Level += "0"
			}
		}
	case "State":
		v.State, v.Optimal = value, value == "Optimal"
	case "Default Cache Policy":
		v.Cache = megaCache(value)
	case "Current Cache Policy":
		v.CacheNow = megaCache(value)
	case "Check Consistency", "Background Initialization", "Patrol Read":
		if strings.Contains(value, "Completed") {
			c.Busy = key + ": " + value
		}
	}
}

// megaCache reads "WriteBack, ReadAdaptive, Direct, Write Cache OK if Bad BBU".
func megaCache(policy string) tune.WriteCache {
	switch {
	case strings.Contains(policy, "WriteBack") && strings.Contains(policy, "Write Cache OK if Bad BBU"):
		return tune.BackAlways
	case strings.Contains(policy, "WriteBack"):
		return tune.Back
	case strings.Contains(policy, "WriteThrough"):
		return tune.Through
	}
	return tune.CacheHidden
}

// megaPhysical reports whether the line is one of a drive's.
func megaPhysical(d *tune.Drive, key, value string) bool {
	n, _ := strconv.ParseInt(value, 10, 64) // 0 where it is no number: then it is no counter
	switch key {
	case "Slot Number":
		d.ID += ":" + value
	case "Device Id":
		d.Device = deviceNumber(value)
	case "Media Error Count":
		d.MediaErrors = n
	case "Predictive Failure Count":
		d.Predicted = n
	case "Media Type":
		d.Media = "HDD"
		if strings.Contains(value, "Solid State") {
			d.Media = "SSD"
		}
	case "Inquiry Data":
		d.Model = strings.Join(strings.Fields(value), " ")
	case "Firmware state":
		d.State = value
		d.Failed = strings.Contains(value, "Failed") || strings.Contains(value, "bad") || strings.Contains(value, "Offline")
		d.Rebuilding = strings.Contains(value, "Rebuild") || strings.Contains(value, "Copyback")
	default:
		return false
	}
	return true
}
