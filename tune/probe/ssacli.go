package probe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stowage/internal/lazy"
	"stowage/tune"
)

// HPE's ssacli (hpssacli and hpacucli before it) has no JSON. It is asked twice: for all details, blocks of
// "key: value" below a heading each, and for the short list of volumes and drives, which tells what the details must have.
// The details have no end of their own: without the list nobody could tell a cut answer from a whole one.

var ssacli = []string{"ssacli", "hpssacli", "hpacucli", "/opt/smartstorageadmin/ssacli/bin/ssacli", "/opt/hp/hpssacli/bin/hpssacli"}

func (p *prober) smartArray() {
	detail, one := p.command("ssacli.txt", with(ssacli, "ctrl", "all", "show", "config", "detail")...)
	list, two := p.command("ssacli-list.txt", with(ssacli, "ctrl", "all", "show", "config")...)
	cs := parseSsacli(detail, list)
	p.addControllers(cs)
	if len(cs) == 0 && (one || two) {
		p.facts.Unanswered = "ssacli named no controller"
	}
}

var (
	slotHead   = lazy.Regexp(`^(\S.*) in Slot (\d+)\w*(?: \(Embedded\))?(?:\s+\(sn: .*)?$`)
	ssaVolume  = lazy.Regexp(`^(?i:logical ?drive):? (\d+)(?: \(|$)`)
	ssaDrive   = lazy.Regexp(`^physicaldrive ([\w:]+)$`)
	ssaListed  = lazy.Regexp(`^physicaldrive ([\w:]+) \(`)
	ssaArray   = lazy.Regexp(`^(?i:array):? \S+`)
	ssaHeading = lazy.Regexp(`^(?:(?i:unassigned|hba drives)|SEP |Expander |Port Name:|Internal Drive Cage|External Drive Cage|Physical Drives|Sensor ID:)`)
)

// block is a heading and the "key: value" lines below it; the first of two with the same key counts.
type block struct {
	kind, name string
	keys       map[string]string
}

func (b *block) take(line string) {
	key, value, ok := strings.Cut(line, ": ") // a key may have a colon of its own: "Reported Channel,Device(T:L)"
	if !ok {
		key, value, ok = strings.Cut(line, ":")
	}
	if key = strings.TrimSpace(key); ok && b.keys[key] == "" {
		b.keys[key] = strings.TrimSpace(value)
	}
}

// slot is what an answer says of one controller: its blocks, and the names of all volumes and drives that it mentions.
type slot struct {
	model    string
	blocks   []*block // the first one is the controller's
	mentions map[string]bool
}

func ssaSlots(text string) map[int]*slot {
	slots := map[int]*slot{}
	var at *slot
	var array string
	open := &block{keys: map[string]string{}}
	begin := func(kind, name string) {
		open = &block{kind: kind, name: name, keys: map[string]string{"in": array}}
		at.blocks = append(at.blocks, open)
	}
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if m := slotHead().FindStringSubmatch(strings.TrimRight(line, " \r")); m != nil {
			n, _ := strconv.Atoi(m[2])
			at, array = &slot{model: m[1], mentions: map[string]bool{}}, ""
			slots[n] = at
			begin("controller", m[2])
			continue
		}
		if at == nil {
			continue
		}
		if m := ssaVolume().FindStringSubmatch(trimmed); m != nil {
			at.mentions["volume "+m[1]] = true
			begin("volume", m[1])
		} else if m := ssaDrive().FindStringSubmatch(trimmed); m != nil {
			at.mentions["drive "+m[1]] = true
			begin("drive", m[1])
		} else if m := ssaListed().FindStringSubmatch(trimmed); m != nil {
			at.mentions["drive "+m[1]] = true
		} else if ssaArray().MatchString(trimmed) {
			array = trimmed
			begin("array", trimmed)
		} else if ssaHeading().MatchString(trimmed) {
			array = ""
			begin("other", trimmed)
		} else {
			open.take(trimmed)
		}
	}
	return slots
}

func parseSsacli(detail, list string) (out []tune.Controller) {
	told, listed := ssaSlots(detail), ssaSlots(list)
	all := maps.Clone(told)
	maps.Copy(all, listed)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		c := tune.Controller{Tool: "ssacli", Number: n, Model: all[n].model}
		s := told[n]
		if s == nil {
			c.VolumesMissing, c.DrivesMissing = "the details have no such slot", "the details have no such slot"
			out = append(out, c)
			continue
		}
		own := s.blocks[0].keys
		c.PCI = pciAddress(strings.ReplaceAll(own["PCI Address (Domain:Bus:Device.Function)"], ".", ":"))
		c.Battery = ssaBattery(own)
		c.Ailing = ailing("Controller Status", own["Controller Status"], "OK")
		c.DriveCache = driveCache(cmp.Or(own["Configured Drive Write Cache Policy"], own["Drive Write Cache"]))
		for _, b := range s.blocks {
			switch b.kind {
			case "volume":
				c.Volumes = append(c.Volumes, ssaVolumeOf(&c, b, own))
			case "drive":
				c.Drives = append(c.Drives, ssaDriveOf(b))
			}
		}
		c.VolumesMissing, c.DrivesMissing = ssaLacks(s, listed[n], "volume"), ssaLacks(s, listed[n], "drive")
		if c.DrivesMissing == "" {
			s.countDisks(&c)
		}
		if line, garbled := garbledLine(detail); garbled {
			c.VolumesMissing = fmt.Sprintf("the line %q is garbled", line)
			c.DrivesMissing = c.VolumesMissing
		}
		if own["Controller Status"] == "" && c.VolumesMissing == "" {
			c.VolumesMissing = "the controller's own state"
		}
		out = append(out, c)
	}
	return out
}

// garbledLine finds a line that is not text, or whose key has a byte that these tools write in none. What it told is
// missing, and nobody could tell.
func garbledLine(text string) (string, bool) {
	for _, line := range strings.Split(text, "\n") {
		key, _, _ := strings.Cut(line, ": ")
		if strings.ContainsRune(line, 0) || !utf8.ValidString(line) || strings.ContainsAny(key, "?~") {
			return strings.TrimSpace(line), true
		}
	}
	return "", false
}

// ssaLacks says which volumes or drives one answer has and the other lacks.
func ssaLacks(detail, list *slot, kind string) string {
	if list == nil {
		return "the short list (ssacli ctrl all show config) has no such slot to compare them with"
	}
	told := map[string]bool{}
	for _, b := range detail.blocks {
		told[b.kind+" "+b.name] = true
	}
	all := maps.Clone(detail.mentions)
	maps.Copy(all, list.mentions)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, kind+" ") && (!told[name] || !list.mentions[name]) {
			return "of " + name + " the list and the details do not say the same"
		}
	}
	return ""
}

// countDisks says of how many drives the array of each volume is.
func (s *slot) countDisks(c *tune.Controller) {
	drives, array := map[string]int{}, map[string]string{}
	for _, b := range s.blocks {
		switch b.kind {
		case "drive":
			if !strings.Contains(b.keys["Drive Type"], "Spare") {
				drives[b.keys["in"]]++
			}
		case "volume":
			array[b.name] = b.keys["in"]
		}
	}
	for i := range c.Volumes {
		c.Volumes[i].Disks = drives[array[c.Volumes[i].ID]]
	}
}

// ailing is what a controller says against itself; "" when it is well, or says nothing.
func ailing(key, value, well string) string {
	if value == "" || strings.EqualFold(value, well) {
		return ""
	}
	return key + ": " + value
}

func ssaBattery(own map[string]string) tune.Battery {
	state := own["Battery/Capacitor Status"]
	switch {
	case own["Cache Board Present"] == "False", own["Battery/Capacitor Count"] == "0", strings.EqualFold(state, "Not Present"):
		return tune.Battery{Known: true, State: "none"}
	case state == "":
		return tune.Battery{}
	}
	return tune.Battery{Known: true, Present: true, Healthy: state == "OK", State: state}
}

func ssaVolumeOf(c *tune.Controller, b *block, own map[string]string) tune.Volume {
	v := tune.Volume{ID: b.name, Level: ssaLevel(b.keys["Fault Tolerance"]), State: b.keys["Status"], Strip: stripSize(strings.Replace(b.keys["Strip Size"], "KiB", "KB", 1))}
	v.Optimal = v.State == "OK"
	if lost, told := b.keys["Unrecoverable Media Errors"]; told && lost != "None" {
		v.State, v.Optimal = v.State+", unrecoverable media errors: "+cmp.Or(lost, "not told"), false
	}
	if parity, told := b.keys["Parity Initialization Status"]; told && !strings.HasSuffix(parity, "Completed") && !strings.HasPrefix(parity, "Not") {
		c.Busy = "Parity Initialization Status: " + cmp.Or(parity, "not told")
	}
	v.Cache, c.CacheUnguarded = ssaCache(b.keys["Caching"], own)
	v.CacheNow = smartCacheNow(v.Cache, own["Cache Status"])
	return v
}

// ssaLevel reads "1+0", "1 (ADM)", "5", "ADG" and "6 (ADG)".
func ssaLevel(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word == "ADG" {
		word = "6"
	}
	if word = strings.ReplaceAll(word, "+", ""); word == "" {
		return ""
	}
	return "RAID" + word
}

var ssaShare = lazy.Regexp(`^\d+% Read / (\d+)% Write$`)

// ssaCache is what a volume's cache is set to. The controller says how much of its memory is for writes, and
// whether it continues with a bad battery, for all volumes.
func ssaCache(caching string, own map[string]string) (policy tune.WriteCache, unguarded bool) {
	share := ""
	if m := ssaShare().FindStringSubmatch(own["Cache Ratio"]); m != nil {
		share = m[1]
	}
	return smartCache(own["Cache Board Present"] == "False", caching, share, own["No-Battery Write Cache"])
}

// smartCache joins what volume and controller say of a cache of writes; share is the part of the memory for them.
func smartCache(noCache bool, caching, share, noBattery string) (policy tune.WriteCache, unguarded bool) {
	n, err := strconv.Atoi(share)
	switch {
	case noCache, strings.EqualFold(caching, "Disabled"), strings.EqualFold(caching, "Enabled") && err == nil && n == 0:
		return tune.Through, false
	case !strings.EqualFold(caching, "Enabled"), err != nil:
		return tune.CacheHidden, false
	case strings.EqualFold(noBattery, "Enabled"):
		return tune.Back, true
	case strings.EqualFold(noBattery, "Disabled"):
		return tune.Back, false
	}
	return tune.CacheHidden, false
}

// smartCacheNow is where writes go at this moment.
func smartCacheNow(configured tune.WriteCache, status string) tune.WriteCache {
	switch {
	case configured == tune.Through, strings.EqualFold(status, "OK"):
		return configured
	case strings.HasSuffix(status, "Disabled"), strings.EqualFold(status, "Not Configured"):
		return tune.Through
	}
	return tune.CacheHidden
}

// ssaSound are states in which a drive does its work. One that predicts its failure still does.
var ssaSound = []string{"OK", "Predictive Failure"}

func ssaDriveOf(b *block) tune.Drive {
	state := b.keys["Status"]
	d := tune.Drive{ID: b.name, Model: strings.Join(strings.Fields(b.keys["Model"]), " "), Serial: b.keys["Serial Number"], State: state, Device: -1,
		Sound:  slices.Contains(ssaSound, state),
		Failed: strings.HasPrefix(state, "Failed") || strings.HasPrefix(state, "Offline") || strings.HasPrefix(state, "Missing"), Rebuilding: strings.HasPrefix(state, "Rebuilding"),
		Alert: state == "Predictive Failure" || b.keys["SSD Smart Trip Wearout"] == "True"}
	switch kind := b.keys["Interface Type"]; {
	case strings.Contains(kind, "Solid State"), strings.Contains(kind, "NVMe"), strings.Contains(kind, "SSD"):
		d.Media = "SSD"
	case b.keys["Rotational Speed"] != "":
		d.Media = "HDD"
	}
	if d.Sound {
		d.Health = usageLeft("ssacli", b.keys["Usage remaining"], b.keys["Power On Hours"])
	}
	return d
}

var percentText = lazy.Regexp(`^(\d{1,3})(?:\.\d+)? ?(?:%|percent)$`)

// usageLeft is a drive's wear as a controller tells it; nil when it does not.
func usageLeft(from, left, hours string) *tune.Health {
	m := percentText().FindStringSubmatch(left)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1])
	return &tune.Health{From: from, Rotation: -1, Used: max(0, 100-n), UsedFrom: fmt.Sprintf("%s remaining", left), Hours: max(0, number(hours)),
		Spare: -1, Reallocated: -1, Pending: -1, Uncorrectable: -1}
}
