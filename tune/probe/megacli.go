package probe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stowage/internal/lazy"
	"stowage/tune"
)

// MegaCli is the oldest of the tools and has no JSON: lines of "key : value",
// grouped by headings. Its three answers are read together.

var (
	adapterHead = lazy.Regexp(`(?i)^(?:Adapter|BBU status for Adapter:)\s*#?:?\s*(\d+)`)
	// soundFirmware are firmware states of drives that do their work, or could.
	soundFirmware = lazy.Regexp(`(?i)^(online|hotspare|unconfigured\(good\)|jbod)\b`)
	levelNumbers  = lazy.Regexp(`Primary-(\d+), Secondary-(\d+)`)
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
		if key == "BBU" && (value == "Absent" || value == "No") {
			of(n).Battery = tune.Battery{Known: true, State: "none"}
		}
	})
	eachLine(battery, func(n int, key, value string) { megaBattery(&of(n).Battery, key, value) })
	eachLine(drives, func(n int, key, value string) { megaDrive(of(n), key, value) })
	var out []tune.Controller
	for _, n := range slices.Sorted(maps.Keys(all)) {
		c := all[n]
		megaMissing(c, drives)
		if !ends(battery) && c.Battery.Present {
			c.Battery = tune.Battery{} // what it says against the battery may be what is cut off
		}
		if b := &c.Battery; b.Known && b.Present && b.State == "" {
			b.State = "no fault reported"
		}
		out = append(out, *c)
	}
	return out
}

// megaMissing says what the answer about volumes and drives lacks: MegaCli ends
// each of its answers with an exit code, and a volume says of how many drives it
// is.
func megaMissing(c *tune.Controller, drives string) {
	cut := ""
	if !ends(drives) {
		cut = "the answer has no end, or is not text"
	}
	for i := range c.Drives {
		d := &c.Drives[i]
		d.Counted = d.MediaErrors >= 0 && d.Predicted >= 0
		d.MediaErrors, d.Predicted = max(0, d.MediaErrors), max(0, d.Predicted)
	}
	c.VolumesMissing, c.DrivesMissing = cut, cut
	if len(c.Volumes) == 0 {
		c.VolumesMissing = "the answer has none"
	}
	if slices.ContainsFunc(c.Drives, func(d tune.Drive) bool { return strings.Count(d.ID, ":") != 1 }) {
		c.DrivesMissing = "where one ends and the next begins"
	}
	if n := megaMembers(c.Number, drives); len(c.Drives) < n || len(c.Drives) == 0 {
		c.DrivesMissing = fmt.Sprintf("the answer has %d of at least %d", len(c.Drives), max(n, 1))
	}
}

// ends reports whether the answer is text to its last line, which is the exit code.
func ends(answer string) bool {
	if strings.ContainsRune(answer, 0) || !utf8.ValidString(answer) {
		return false
	}
	words := strings.Fields(answer)
	return len(words) >= 3 && strings.HasPrefix(strings.Join(words[len(words)-3:], " "), "Exit Code: ")
}

// megaMembers is of how many drives the volumes of a controller are. -LdPdInfo shows
// a drive with each of its volumes, -PDList once.
func megaMembers(controller int, drives string) int {
	most, last, spans := 0, 0, false
	eachLine(drives, func(n int, key, value string) {
		count, err := strconv.Atoi(value)
		if n != controller || err != nil || count < 0 || count > 1000 {
			return
		}
		switch {
		case strings.HasPrefix(key, "Number Of Drives"):
			last, spans = count, strings.Contains(key, "per span")
		case key == "Span Depth" && spans:
			last *= max(count, 1)
		default:
			return
		}
		most = max(most, last)
	})
	return most
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
		if adapter >= 0 && strings.Contains(l, "hardware component is not present") {
			visit(adapter, noPart, "")
			continue
		}
		key, value, ok := strings.Cut(l, ":")
		if ok && adapter >= 0 {
			visit(adapter, strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}

// noPart is what MegaCli says of a battery that is not there.
const noPart = "no part"

func megaBattery(b *tune.Battery, key, value string) {
	switch key {
	case noPart:
		b.Known, b.Present, b.Healthy, b.State = true, false, false, "none"
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
		c.Drives = append(c.Drives, tune.Drive{ID: value, Device: -1, MediaErrors: -1, Predicted: -1})
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
	case "Strip Size", "Stripe Size":
		v.Strip = stripSize(value)
	case "Number Of Drives":
		v.Disks = max(0, int(number(value)))
	case "Number Of Drives per span":
		v.Disks = min(0, -int(number(value))) // not known before the number of spans is
	case "Span Depth":
		if spans := int(number(value)); v.Disks < 0 && spans > 0 && spans < 1000 && v.Disks > -1000 {
			v.Disks *= -spans
		}
	case "Default Cache Policy":
		v.Cache = megaCache(value)
	case "Current Cache Policy":
		v.CacheNow = megaCache(value)
		v.ReadAhead = tune.ReadAheadHidden
		if strings.Contains(value, "ReadAheadNone") {
			v.ReadAhead = tune.ReadsNoMore
		} else if strings.Contains(value, "ReadA") {
			v.ReadAhead = tune.ReadsAhead
		}
	case "Disk Cache Policy":
		v.DriveCache = driveCache(value)
	case "Ongoing Progresses":
		c.Busy = key
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
	case strings.Contains(policy, "WriteBack") && strings.Contains(policy, "No Write Cache if Bad BBU"):
		return tune.Back
	case strings.Contains(policy, "WriteThrough"):
		return tune.Through
	}
	return tune.CacheHidden
}

// number is -1 where there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// megaPhysical reports whether the line is one of a drive's.
func megaPhysical(d *tune.Drive, key, value string) bool {
	switch key {
	case "Slot Number":
		d.ID += ":" + value
	case "Device Id":
		d.Device = deviceNumber(value)
	case "Media Error Count":
		d.MediaErrors = number(value)
	case "Predictive Failure Count":
		d.Predicted = number(value)
	case "Drive has flagged a S.M.A.R.T alert":
		d.Alert = strings.EqualFold(value, "Yes")
	case "Media Type":
		switch {
		case strings.Contains(value, "Solid State"):
			d.Media = "SSD"
		case strings.Contains(value, "Hard Disk"):
			d.Media = "HDD"
		}
	case "Inquiry Data":
		d.Model = strings.Join(strings.Fields(value), " ")
	case "Firmware state":
		d.State = value
		d.Sound = soundFirmware().MatchString(value)
		d.Failed = strings.Contains(value, "Failed") || strings.Contains(value, "bad") || strings.Contains(value, "Offline")
		d.Rebuilding = strings.Contains(value, "Rebuild") || strings.Contains(value, "Copyback")
	default:
		return false
	}
	return true
}
