package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// Adaptec's arcconf (Microchip's, PMC's) has no JSON: "key : value" below titles between lines of dashes, and a
// last line that says that the answer is whole. It is asked about one controller at a time. Two generations: those on
// aacraid have a policy of the cache with each volume, those on smartpqi one with the controller, as ssacli has.

var arcconf = []string{"arcconf", "/usr/Arcconf/arcconf", "/usr/StorMan/arcconf"}

// mostControllers is more than any machine has.
const mostControllers = 16

func (p *prober) adaptec() {
	for n, found := 1, 1; n <= found; n++ {
		text, ok := p.command(fmt.Sprintf("arcconf-%d.txt", n), with(arcconf, "getconfig", strconv.Itoa(n), "al")...)
		if !ok {
			if n > 1 {
				p.facts.Unanswered = fmt.Sprintf("arcconf found %d controllers and told nothing of the one with number %d", found, n)
			}
			return
		}
		c, many := parseArcconf(n, text)
		if many == 0 {
			p.facts.Unanswered = "arcconf named no controller"
			return
		}
		found = min(max(found, many), mostControllers)
		p.addControllers([]tune.Controller{c})
	}
}

var (
	arcVolume  = lazy.Regexp(`(?i)^logical device number (\d+)$`)
	arcDrive   = lazy.Regexp(`^Device #(\d+)$`)
	arcMember  = lazy.Regexp(`^(?:(?:Group \d+, )?Segment|Device) \d+$`)
	arcCount   = lazy.Regexp(`^(\d+)/\d+/\d+$`)
	arcPlace   = lazy.Regexp(`^\d+,\d+`)
	arcHealthy = []string{"optimal", "zmm optimal", "ready", "ok"}
)

// arcBlocks cuts an answer into blocks: one a title, one a volume, one a drive.
func arcBlocks(text string) []*block {
	open := &block{keys: map[string]string{}}
	out := []*block{open}
	begin := func(kind, name string) {
		open = &block{kind: kind, name: name, keys: map[string]string{}}
		out = append(out, open)
	}
	item, dashes := (*block)(nil), false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if len(line) > 20 && strings.Trim(line, "-") == "" {
			dashes = true
			continue
		}
		title := dashes && line != "" && !strings.Contains(line, ":")
		dashes = dashes && line == ""
		if m := arcVolume().FindStringSubmatch(line); m != nil {
			begin("volume", m[1])
			item = open
		} else if m := arcDrive().FindStringSubmatch(line); m != nil {
			begin("drive", m[1])
			item = open
		} else if title {
			low := strings.ToLower(line)
			begin("title", low)
			switch part := strings.Contains(low, "error counters") || strings.Contains(low, "segment information") || strings.HasPrefix(low, "array physical device"); {
			case part && item != nil: // of the drive or the volume above
				open = item
			case strings.HasPrefix(low, "logical"), strings.HasPrefix(low, "physical"), strings.HasPrefix(low, "array information"):
				item = nil
			}
		} else if strings.HasPrefix(line, "Device is a") {
			open.keys["is"] = line
		} else {
			if open.kind == "drive" && strings.HasPrefix(line, "State ") && open.keys["State"] != "" {
				open.keys["twice"] = "yes" // the heading of the next one is not to be read
			}
			open.take(line)
		}
	}
	return out
}

// parseArcconf reads `getconfig N al`, and how many controllers there are.
func parseArcconf(n int, text string) (c tune.Controller, found int) {
	c = tune.Controller{Tool: "arcconf", Number: n}
	blocks := arcBlocks(text)
	found = max(0, int(number(blocks[0].keys["Controllers found"])))
	own := map[string]string{}
	for _, b := range blocks {
		if b.kind == "title" {
			arcTitle(&c, b, own)
		}
	}
	for _, b := range blocks {
		switch b.kind {
		case "volume":
			c.Volumes = append(c.Volumes, arcVolumeOf(&c, b, own))
		case "drive":
			if is := b.keys["is"]; is == "" || strings.Contains(is, "Hard drive") || strings.Contains(is, "SSD") {
				c.Drives = append(c.Drives, arcDriveOf(b))
			}
		}
	}
	if c.Model != "" {
		found = max(found, 1)
	}
	arcMissing(&c, blocks, own, text)
	return c, found
}

// arcTitle takes what a part of the answer says of the controller.
func arcTitle(c *tune.Controller, b *block, own map[string]string) {
	switch {
	case b.name == "controller information":
		c.Model = b.keys["Controller Model"]
		own["state"] = b.keys["Controller Status"]
		c.Ailing = ailing("Controller Status", own["state"], "Optimal")
		if lost := number(b.keys["Defunct disk drive count"]); lost > 0 && c.Ailing == "" {
			c.Ailing = fmt.Sprintf("Defunct disk drive count: %d", lost)
		}
		c.PCI = pciAddress(b.keys["PCI Address (Domain:Bus:Device:Function)"])
		own["volumes"] = b.keys["Logical devices/Failed/Degraded"]
	case b.name == "raid properties":
		own["volumes"] = b.keys["Logical devices/Failed/Degraded"]
	case b.name == "cache properties":
		own["cache"], own["no battery"] = b.keys["Cache Status"], b.keys["No-Battery Write Cache"]
		if m := percentText().FindStringSubmatch(b.keys["Write Cache Percentage"]); m != nil {
			own["share"] = m[1]
		}
		c.DriveCache = driveCache(b.keys["Global Physical Device Write Cache Policy"])
	case strings.HasPrefix(b.name, "physical drive write cache policy"):
		c.DriveCache = driveCache(b.keys["Configured Drives"])
	case strings.HasPrefix(b.name, "controller battery"), strings.HasPrefix(b.name, "controller zmm"):
		arcBattery(c, b.keys["Status"])
	case strings.HasPrefix(b.name, "controller cache backup unit"):
		arcBattery(c, b.keys["Overall Backup Unit Status"])
	case strings.HasPrefix(b.name, "green backup"):
		if arcBattery(c, b.keys["Backup Power Status"]); b.keys["Battery/Capacitor Pack Count"] == "0" {
			c.Battery = tune.Battery{Known: true, State: "none"}
		}
	}
}

func arcBattery(c *tune.Controller, state string) {
	low := strings.ToLower(state)
	switch {
	case state == "":
	case strings.Contains(low, "not installed"), strings.Contains(low, "not present"), strings.Contains(low, "not available"), strings.Contains(low, "not supported"):
		c.Battery = tune.Battery{Known: true, State: "none"}
	default:
		c.Battery = tune.Battery{Known: true, Present: true, Healthy: slices.Contains(arcHealthy, low), State: state}
	}
}

func arcVolumeOf(c *tune.Controller, b *block, own map[string]string) tune.Volume {
	v := tune.Volume{ID: b.name, Level: arcLevel(b.keys["RAID level"]), State: cmp.Or(b.keys["Status of logical device"], b.keys["Status of Logical Device"]), Strip: stripSize(b.keys["Stripe-unit size"])}
	v.Optimal = v.State == "Optimal"
	if b.keys["Failed stripes"] == "Yes" {
		v.State, v.Optimal = v.State+", failed stripes", false
	}
	for key := range b.keys {
		if arcMember().MatchString(key) {
			v.Disks++
		}
	}
	if caching := b.keys["Caching"]; caching != "" || own["cache"] != "" {
		v.Cache, c.CacheUnguarded = smartCache(false, caching, own["share"], own["no battery"])
		v.CacheNow = smartCacheNow(v.Cache, own["cache"])
		return v
	}
	mode := b.keys["Write-cache mode"]
	v.Cache = arcCache(cmp.Or(b.keys["Write-cache setting"], mode))
	switch now := strings.ToLower(cmp.Or(b.keys["Write-cache status"], mode)); {
	case v.Cache == tune.Through, strings.HasPrefix(now, "off"), strings.HasPrefix(now, "disabled"):
		v.CacheNow = tune.Through
	case strings.HasPrefix(now, "on"), strings.HasPrefix(now, "enabled"):
		v.CacheNow = v.Cache
	}
	return v
}

// arcLevel reads "6 Reed-Solomon", "10" and "Simple_volume".
func arcLevel(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word != "" && word[0] >= '0' && word[0] <= '9' {
		return "RAID" + strings.TrimSuffix(word, "EE")
	}
	if strings.HasPrefix(word, "Simple") {
		return "JBOD"
	}
	return word
}

// arcCache: "wb" writes back always, "wbb" while the battery or the flash module protects what is in the cache.
func arcCache(text string) tune.WriteCache {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "when protected"), strings.Contains(low, "with battery"):
		return tune.Back
	case strings.HasPrefix(low, "enabled"):
		return tune.BackAlways
	case strings.HasPrefix(low, "disabled"), strings.HasPrefix(low, "off"), strings.HasPrefix(low, "not supported"):
		return tune.Through
	}
	return tune.CacheHidden
}

// arcSound are states in which a drive does its work, or could.
var arcSound = lazy.Regexp(`(?i)^(online|optimal|ready|hot.spare|(global|dedicated|pool|auto.?replace) hot.?spare|raw|jbod)\b`)

func arcDriveOf(b *block) tune.Drive {
	state := b.keys["State"]
	low := strings.ToLower(state)
	d := tune.Drive{ID: "#" + b.name, Model: strings.TrimSpace(b.keys["Vendor"] + " " + b.keys["Model"]), Serial: b.keys["Serial number"], State: state, Device: -1,
		Sound:  arcSound().MatchString(state),
		Failed: strings.HasPrefix(low, "failed") || strings.HasPrefix(low, "missing") || strings.HasPrefix(low, "offline"), Rebuilding: strings.HasPrefix(low, "rebuild"),
		Alert: b.keys["SSD Smart Trip Wearout"] == "True" || b.keys["56 Day Warning Present"] == "True"}
	if place := arcPlace().FindString(cmp.Or(b.keys["Reported Channel,Device(T:L)"], b.keys["Reported Channel,Device"])); place != "" {
		d.ID = place
	}
	switch b.keys["SSD"] {
	case "Yes":
		d.Media = "SSD"
	case "No":
		d.Media = "HDD"
	}
	d.Cache = driveCache(b.keys["Write Cache"])
	media, predicted, warned := number(cmp.Or(b.keys["Medium Error Count"], b.keys["Media Failures"])), number(cmp.Or(b.keys["SMART Warning Count"], b.keys["Predictive Failures"])), number(b.keys["S.M.A.R.T. warnings"])
	d.Counted = media >= 0 && predicted >= 0 && warned >= 0
	d.MediaErrors, d.Predicted = max(0, media), max(0, predicted, warned)
	if d.Sound && d.Counted {
		d.Health = usageLeft("arcconf", b.keys["Usage Remaining"], b.keys["Service Hours"])
	}
	return d
}

// arcMissing says what the answer lacks: its end, volumes that the controller counts, drives that volumes are of.
func arcMissing(c *tune.Controller, blocks []*block, own map[string]string, text string) {
	m := arcCount().FindStringSubmatch(own["volumes"])
	line, garbled := garbledLine(text)
	switch {
	case !strings.HasSuffix(strings.TrimSpace(text), "Command completed successfully."):
		c.VolumesMissing, c.DrivesMissing = "the answer has no end", "the answer has no end"
		return
	case garbled:
		c.VolumesMissing = fmt.Sprintf("the line %q is garbled", line)
		c.DrivesMissing = c.VolumesMissing
		return
	case own["state"] == "":
		c.VolumesMissing = "the controller's own state"
	case m == nil:
		c.VolumesMissing = "the controller does not say of how many"
	case m[1] != strconv.Itoa(len(c.Volumes)):
		c.VolumesMissing = fmt.Sprintf("the answer has %d of %s", len(c.Volumes), m[1])
	}
	serials := map[string]bool{}
	for _, d := range c.Drives {
		serials[d.Serial] = true
	}
	for _, b := range blocks {
		_, policy := b.keys["Write-cache setting"] // the generation that tells of stripes
		if stripes := b.keys["Failed stripes"]; b.kind == "volume" && (policy || stripes != "") && stripes != "No" && stripes != "Yes" {
			c.VolumesMissing = "whether volume " + b.name + " has failed stripes"
		}
		if b.keys["twice"] != "" {
			c.DrivesMissing = "where one ends and the next begins"
		}
		for key, member := range b.keys {
			if b.kind == "volume" && arcMember().MatchString(key) && !isHere(member, serials) {
				c.DrivesMissing = fmt.Sprintf("the answer has nothing of %s of volume %s", strings.ToLower(key), b.name)
			}
		}
	}
	if len(c.Drives) == 0 {
		c.DrivesMissing = "the answer has none"
	}
}

// isHere reports whether a member of a volume, "Present (0,1) SERIAL", is among the drives. One that is not present
// is judged by the state of its volume, and old answers have no serial numbers there.
func isHere(member string, serials map[string]bool) bool {
	words := strings.Fields(member)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return words[0] != "Present" || strings.HasSuffix(last, ")") || serials[last]
}
