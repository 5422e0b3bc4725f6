package probe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/tune"
)

// raidTools are the programs that speak to controllers, by generation of these.
// Tools of one generation show the same controllers, so the first that knows any
// is enough: storcli and perccli are one program under two names, and so are
// storcli2 and perccli2. A machine may have controllers of two generations, and
// then each has to be asked by its own tool.
var raidTools = [][]raidTool{
	{
		{"storcli2", []string{"storcli2", "/opt/MegaRAID/storcli2/storcli2"}},
		{"perccli2", []string{"perccli2", "/opt/MegaRAID/perccli2/perccli2"}},
	},
	{
		{"storcli", []string{"storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64"}},
		{"perccli", []string{"perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64"}},
	},
}

type raidTool struct {
	tool     string // as it is called in findings and in recordings
	programs []string
}

var megaCli = []string{"MegaCli64", "megacli", "MegaCli", "/opt/MegaRAID/MegaCli/MegaCli64"}

// controllers asks the tools about all controllers. Without a disk that a
// controller hands out nobody is asked: these tools take seconds.
func (p *prober) controllers() {
	if p.ask != nil && !slices.ContainsFunc(p.facts.Disks, func(d tune.Disk) bool { return d.RAID() }) {
		return
	}
	older := false // controllers that MegaCli shows as well
	for _, generation := range raidTools {
		older = p.generation(generation)
	}
	if !older {
		p.megaCli()
	}
	if p.asks("ssacli") {
		p.smartArray()
	}
	if p.asks("arcconf") {
		p.adaptec()
	}
	p.silentControllers()
}

// asks reports whether a tool is to be asked: of a recording all are read, and of a machine those whose drivers are there.
func (p *prober) asks(tool string) bool {
	return p.ask == nil || slices.ContainsFunc(p.facts.Disks, func(d tune.Disk) bool {
		return d.RAID() && (d.MakersTool() == "" || strings.Contains(d.MakersTool(), tool))
	})
}

// silentControllers says of which controllers, by the drivers of their disks,
// nobody told anything.
func (p *prober) silentControllers() {
	for _, d := range p.facts.Disks {
		tool := d.MakersTool()
		answered := slices.ContainsFunc(p.facts.Controllers, func(c tune.Controller) bool {
			return tool == "" || strings.Contains(tool, strings.TrimSuffix(c.Tool, "2"))
		})
		switch {
		case p.facts.Unanswered != "" || !d.RAID() || answered:
		case tool != "":
			p.facts.Unanswered = fmt.Sprintf("%s uses driver %s, and %s did not answer", d.Name, d.Adapter, tool)
		default:
			p.facts.Unanswered = "no tool of its maker answered"
		}
	}
}

func (p *prober) megaCli() {
	adapters, one := p.command("megacli-adpallinfo.txt", with(megaCli, "-AdpAllInfo", "-aALL", "-NoLog")...)
	battery, two := p.command("megacli-bbu.txt", with(megaCli, "-AdpBbuCmd", "-GetBbuStatus", "-aALL", "-NoLog")...)
	drives, three := p.command("megacli-ldpdinfo.txt", with(megaCli, "-LdPdInfo", "-aALL", "-NoLog")...)
	cs := parseMegaCli(adapters, battery, drives)
	p.addControllers(cs)
	switch {
	case len(cs) > 0:
		p.facts.Unanswered = ""
	case one || two || three:
		p.facts.Unanswered = "MegaCli named no controller"
	}
}

// generation asks the tools of one generation until one knows a controller, and
// reports whether one does.
func (p *prober) generation(tools []raidTool) bool {
	for _, t := range tools {
		text, ok := p.command(t.tool+".json", with(t.programs, "/call", "show", "all", "J")...)
		if !ok {
			continue
		}
		cs, silent, err := parseStorcli(t.tool, text)
		if err != nil {
			p.unread(t.tool, "its answer is no JSON: "+err.Error())
			p.facts.Unanswered = t.tool + " gave an answer that is not JSON, or that was cut"
		}
		if err == nil && silent > 0 {
			p.facts.Unanswered = fmt.Sprintf("%s gave no answer about %d controllers", t.tool, silent)
		}
		if len(cs) > 0 {
			p.driveCounters(t, cs)
			p.volumeStrips(t, cs)
			p.addControllers(cs)
			return true
		}
	}
	return false
}

// addControllers leaves out those that another tool has shown at the same place
// of the machine.
func (p *prober) addControllers(cs []tune.Controller) {
	for _, c := range cs {
		if c.PCI == "" || !slices.ContainsFunc(p.facts.Controllers, func(x tune.Controller) bool { return x.PCI == c.PCI }) {
			p.facts.Controllers = append(p.facts.Controllers, c)
		}
	}
}

// with are the programs, each with the same arguments.
func with(programs []string, args ...string) [][]string {
	var out [][]string
	for _, name := range programs {
		out = append(out, append([]string{name}, args...))
	}
	return out
}

// garbledKey finds a key with a byte that these tools write in none. What it named is missing, and nobody could tell.
func garbledKey(v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, inside := range v {
			if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '}' || r == '?' }) {
				return key, true
			}
			if key, garbled := garbledKey(inside); garbled {
				return key, true
			}
		}
	case []any:
		for _, inside := range v {
			if key, garbled := garbledKey(inside); garbled {
				return key, true
			}
		}
	case object:
		return garbledKey(map[string]any(v))
	}
	return "", false
}

// parseStorcli reads `/call show all J` of storcli, perccli, storcli2 and
// perccli2. Controllers that failed to answer are left out, and counted.
//
// The two generations: storcli (7.x) has "Basics", one column Cache such as
// RWBD, states in State, and a battery in BBU_Info or Cachevault_Info; storcli2
// (8.x) has "Product Name" at the top or in Basics, the columns CurrentCache
// and DefaultCache such as "NR,WB", a second column Status, and Energy Pack
// Info. HBAs have no VD LIST.
func parseStorcli(tool, text string) (out []tune.Controller, silent int, err error) {
	answer, err := parseObject(text)
	if err != nil {
		return nil, 0, err
	}
	if key, garbled := garbledKey(answer); garbled {
		return nil, 0, fmt.Errorf("its answer is garbled: it has a key %q", key)
	}
	rows, _ := answer["Controllers"].([]any)
	for n := range max(len(rows), 1) {
		var c object
		if n < len(rows) {
			c, _ = rows[n].(map[string]any)
		}
		data := c.at("Response Data")
		if strings.EqualFold(c.at("Command Status").text("Description"), "No Controller found") {
			continue
		}
		if data == nil || c.at("Command Status").text("Status") == "Failure" {
			silent++
			continue
		}
		number, known := c.at("Command Status").maybe("Controller")
		if !known {
			number = int64(n)
		}
		basics := data.at("Basics")
		x := tune.Controller{Tool: tool, Number: int(number), Model: basics.text("Model", "Product Name"), PCI: pciAddress(basics.text("PCI Address", "Pci Address", "PCI address"))}
		if x.Model == "" {
			x.Model = data.text("Product Name", "Model")
		}
		x.Battery = storcliBattery(data)
		x.Ailing = storcliAiling(data.at("Status"))
		unguarded, known := data.at("Defaults").maybeTrue("Cache When BBU Bad")
		x.CacheUnguarded = unguarded
		for _, v := range data.rows("VD LIST", "Virtual Drive List") {
			x.Volumes = append(x.Volumes, storcliVolume(v))
		}
		for _, d := range data.allRows("PD LIST", "Physical Device Information", "Physical Drive List") {
			x.Drives = append(x.Drives, storcliDrive(d))
		}
		_, lists := anyOf(data, "VD LIST", "Virtual Drive List")
		if lists || !isHBA(data) {
			x.VolumesMissing = listMissing(data, "Virtual Drives", lists, len(x.Volumes))
		}
		if data.at("Basics") != nil && !isHBA(data) && tool[len(tool)-1] != '2' && !known && x.VolumesMissing == "" { // `show all`, which says so
			x.VolumesMissing = "what becomes of the cache when the battery is bad"
		}
		_, lists = anyOf(data, "PD LIST", "Physical Device Information", "Physical Drive List")
		x.DrivesMissing = listMissing(data, "Physical Drives", lists, len(x.Drives))
		if n := headings(data); n > len(x.Drives) {
			x.DrivesMissing = fmt.Sprintf("the answer has %d of %d", len(x.Drives), n)
		}
		if x.Model == "" && len(x.Volumes)+len(x.Drives) == 0 {
			silent++
			continue
		}
		out = append(out, x)
	}
	return out, silent, nil
}

// anyOf is the first of these keys that is there.
func anyOf(o object, keys ...string) (value any, there bool) {
	for _, k := range keys {
		if value, there = o[k]; there {
			return value, true
		}
	}
	return nil, false
}

// headings is how many drives an HBA's answer has headings for.
func headings(data object) int {
	places := map[string]bool{}
	for title := range data.at("Physical Device Information") {
		if place, _, _ := strings.Cut(title, " - "); strings.HasPrefix(place, "Drive ") {
			places[place] = true
		}
	}
	return len(places)
}

// isHBA: an adapter that makes no volumes lists none.
func isHBA(data object) bool {
	driver := data.text("Driver Name") + data.at("Version").text("Driver Name")
	return strings.HasPrefix(driver, "mpt")
}

// listMissing says what a list lacks, by the number that is beside it.
func listMissing(data object, count string, there bool, n int) string {
	want, counted := data.maybe(count)
	switch {
	case counted && want != int64(n):
		return fmt.Sprintf("the list has %d of %d", n, want)
	case !counted && !there:
		return "the answer has no list of them"
	case !counted && n == 0:
		return "the list is empty"
	}
	return ""
}

func storcliVolume(v object) tune.Volume {
	state := v.text("State")
	now := v.text("CurrentCache", "Cache")
	return tune.Volume{
		ID: v.text("DG/VD", "VD"), Level: v.text("TYPE", "RAID Level"), State: state, Optimal: strings.EqualFold(state, "Optl") || strings.EqualFold(state, "Optimal"),
		Cache: writeCache(v.text("DefaultCache", "Cache")), CacheNow: writeCache(now), ReadAhead: readAhead(now),
	}
}

// readAhead reads the first part of the same word.
func readAhead(word string) tune.ReadAhead {
	switch word = strings.ToUpper(word); {
	case strings.HasPrefix(word, "NR"):
		return tune.ReadsNoMore
	case strings.HasPrefix(word, "R"):
		return tune.ReadsAhead
	}
	return tune.ReadAheadHidden
}

// driveCache reads a policy of the drives' own caches.
func driveCache(text string) tune.DriveCache {
	switch low := strings.ToLower(strings.TrimSpace(text)); {
	case strings.Contains(low, "default"), low == "unchanged", low == "drive specific":
		return tune.DriveCacheDefault
	case strings.HasPrefix(low, "enabled"):
		return tune.DriveCacheOn
	case strings.HasPrefix(low, "disabled"):
		return tune.DriveCacheOff
	}
	return tune.DriveCacheHidden
}

// writeCache reads a word such as RWBD, NRAWBC or "NR,WB": what is read ahead,
// then what becomes of writes, then how the page cache is used.
func writeCache(word string) tune.WriteCache {
	switch word = strings.ToUpper(word); {
	case strings.Contains(word, "AWB"):
		return tune.BackAlways
	case strings.Contains(word, "WB"):
		return tune.Back
	case strings.Contains(word, "WT"):
		return tune.Through
	}
	return tune.CacheHidden
}

// soundStates are words for drives that do their work, or could: the columns State
// and Status of both generations.
var soundStates = []string{"onln", "online", "ghs", "dhs", "ugood", "jbod", "conf", "uconf", "good", "optl", "optimal", "hotspare", "ready"}

func storcliDrive(d object) tune.Drive {
	state, status := d.text("State"), d.text("Status")
	word := strings.TrimSpace(state + " " + status)
	has := func(marks ...string) bool {
		return slices.ContainsFunc(strings.Fields(word), func(w string) bool {
			return slices.ContainsFunc(marks, func(m string) bool { return strings.EqualFold(w, m) })
		})
	}
	return tune.Drive{
		ID: d.text("EID:Slt", "EID:Slot"), Media: strings.ToUpper(d.text("Med", "Media Type")), Model: d.text("Model", "Model Number"), State: word,
		Device: deviceNumber(d.text("DID")),
		Sound:  word != "" && !slices.ContainsFunc(strings.Fields(word), func(w string) bool { return !slices.Contains(soundStates, strings.ToLower(w)) }),
		Failed: has("Failed", "Offln", "Offline", "UBad", "Missing"), Rebuilding: has("Rbld", "Rebuild", "Cpybck"), Unsupported: has("UGUnsp", "UBUnsp"),
	}
}

// driveCounters asks for what `/call show all` does not say of drives: how many
// errors each had, and whether it has warned.
func (p *prober) driveCounters(t raidTool, cs []tune.Controller) {
	text, ok := p.command(t.tool+"-drives.json", with(t.programs, "/cALL/eALL/sALL", "show", "all", "J")...)
	if !ok {
		return
	}
	answer, err := parseObject(text)
	if err != nil {
		p.unread(t.tool+" drives", "its answer is no JSON: "+err.Error())
		return
	}
	for _, c := range answer.rows("Controllers") {
		for _, title := range slices.Sorted(maps.Keys(c.at("Response Data"))) {
			place := drivePlace().FindStringSubmatch(title)
			if place == nil {
				continue
			}
			inner := c.at("Response Data", title)
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				if strings.HasSuffix(name, " State") {
					countDrive(cs, place, inner.at(name))
				}
			}
		}
	}
}

// volumeStrips asks for what `/call show all` does not say of volumes: how they are laid over their drives.
func (p *prober) volumeStrips(t raidTool, cs []tune.Controller) {
	text, ok := p.command(t.tool+"-volumes.json", with(t.programs, "/cALL/vALL", "show", "all", "J")...)
	if !ok {
		return
	}
	answer, err := parseObject(text)
	if err != nil {
		p.unread(t.tool+" volumes", "its answer is no JSON: "+err.Error())
		return
	}
	for _, c := range answer.rows("Controllers") {
		number, known := c.at("Command Status").maybe("Controller")
		for i := range cs {
			if !known || int64(cs[i].Number) != number {
				continue
			}
			for n := range cs[i].Volumes {
				v := &cs[i].Volumes[n]
				id := v.ID[strings.LastIndex(v.ID, "/")+1:] // "0/239" is group and volume
				inner := c.at("Response Data", "VD"+id+" Properties")
				v.Strip = stripSize(inner.text("Strip Size"))
				v.DriveCache = driveCache(inner.text("Disk Cache Policy"))
				per, one := inner.maybe("Number of Drives Per Span")
				spans, two := inner.maybe("Span Depth")
				if one && two && per > 0 && spans > 0 && per*spans < 1000 {
					v.Disks = int(per * spans)
				}
			}
		}
	}
}

// stripSize reads "256 KB", "64kB" and "1.0 MB"; 0 when it is something else.
func stripSize(text string) int64 {
	m := stripText().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if unit := strings.ToUpper(m[2]); err == nil && unit == "MB" {
		n *= 1024
	}
	if kb := int64(n); err == nil && kb >= 4 && kb <= 16<<10 && kb&(kb-1) == 0 { // powers of two from 4 KiB on
		return kb << 10
	}
	return 0
}

var stripText = lazy.Regexp(`^(\d+(?:\.\d+)?) ?([kKM]B)$`)

// drivePlace is controller, enclosure and slot in "Drive /c0/e252/s3 - Detailed Information".
var drivePlace = lazy.Regexp(`^Drive /c(\d+)(?:/e(\d+))?/s(\d+) - Detailed Information$`)

func countDrive(cs []tune.Controller, place []string, state object) {
	for i := range cs {
		for n := range cs[i].Drives {
			d := &cs[i].Drives[n]
			if strconv.Itoa(cs[i].Number) != place[1] || strings.TrimSpace(d.ID) != place[2]+":"+place[3] {
				continue
			}
			media, one := state.maybe("Media Error Count")
			predicted, two := state.maybe("Predictive Failure Count")
			d.MediaErrors, d.Predicted, d.Counted = media, predicted, one && two
			d.Alert = state.truth("S.M.A.R.T alert flagged by drive")
		}
	}
}

// deviceNumber is -1 where there is none: storcli2 has a PID, which smartctl
// does not take.
func deviceNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// pciAddress reads "00:02:00:00", domain, bus, device and function in hexadecimal,
// as /sys writes it: "0000:02:00.0". "" when it is something else.
func pciAddress(text string) string {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return ""
	}
	var n [4]uint64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseUint(part, 16, 16); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])
}

// drives asks the drives behind controllers about themselves, each through a disk
// that its own controller hands out: the numbers of drives are the controller's.
// NVMe drives behind MegaRAID cannot be asked (smartmontools #274). A Smart Array
// does not tell its numbers: all are asked, and drives are known by their serial numbers.
func (p *prober) drives() {
	for c := range p.facts.Controllers {
		x := &p.facts.Controllers[c]
		bySerial := x.Tool == "ssacli" && len(x.Drives) > 0
		if !bySerial && !slices.ContainsFunc(x.Drives, askable) {
			continue
		}
		disk := p.diskOf(*x)
		if disk == "" {
			p.unread(fmt.Sprintf("drives of %s %d", x.Tool, x.Number), "which disk is this controller's is not known")
			continue
		}
		for n := range x.Drives {
			if bySerial {
				p.driveBySerial(disk, x, n)
			} else if askable(x.Drives[n]) {
				if a := p.behind(disk, x.SmartDevice(x.Drives[n].Device)); a.health != nil {
					x.Drives[n].Health, x.Drives[n].Cache = a.health, a.cache
				}
			}
		}
	}
}

func askable(d tune.Drive) bool { return d.Device >= 0 && !d.Failed }

// driveBySerial asks the drive with a number, and gives what it says to the one that has its serial number.
func (p *prober) driveBySerial(disk string, x *tune.Controller, n int) {
	a := p.behind(disk, x.SmartDevice(n))
	for i := range x.Drives {
		if d := &x.Drives[i]; a.health != nil && a.serial != "" && d.Serial == a.serial {
			d.Health, d.Device, d.Cache = a.health, n, a.cache
		}
	}
}

// diskOf is a disk that a controller hands out, by the place of both in the
// machine. Where there is one controller, any disk of a controller's is its own.
func (p *prober) diskOf(c tune.Controller) string {
	for _, d := range p.facts.Disks {
		if d.Kind == tune.Real && d.RAID() && (len(p.facts.Controllers) == 1 || c.PCI != "" && d.PCI == c.PCI) {
			return d.Name
		}
	}
	return ""
}

// behindAnswer is what a drive behind a controller says of itself.
type behindAnswer struct {
	health *tune.Health // nil: it told nothing
	serial string
	cache  tune.DriveCache
}

// behind asks a drive behind a controller, "megaraid,3" or "cciss,3".
func (p *prober) behind(disk, drive string) (a behindAnswer) {
	if drive == "" {
		return a
	}
	text, ok := p.command("smartctl-"+disk+"-"+strings.Replace(drive, ",", "-", 1)+".json", []string{"smartctl", "-j", "-x", "-d", drive, "/dev/" + disk})
	if !ok {
		return a
	}
	answer, err := parseObject(text)
	if err != nil {
		p.unread("smartctl "+drive, "its answer is no JSON; smartctl before 7.0 has none")
		return a
	}
	var cache *bool
	if a.health, cache, _ = parseSmartctl(answer, false); a.health == nil {
		p.unread("smartctl "+drive, "it told nothing about the drive's health")
	}
	switch {
	case cache == nil:
	case *cache:
		a.cache = tune.DriveCacheOn
	default:
		a.cache = tune.DriveCacheOff
	}
	a.serial = answer.text("serial_number")
	return a
}

// storcliBattery finds the battery in any of the places it has been in. "BBU
// Status" is a number of which 0, 8 and 4096 have been seen on healthy
// controllers; nobody documents it, so it only counts where there is no table.
func storcliBattery(data object) tune.Battery {
	for _, key := range []string{"Energy Pack Info", "Cachevault_Info", "BBU_Info"} {
		for _, row := range data.rows(key) {
			state := row.text("Status", "State")
			return tune.Battery{Known: true, Present: true, Healthy: strings.EqualFold(state, "Optimal") || strings.EqualFold(state, "Optl"), State: state}
		}
	}
	if _, there := anyOf(data, "Energy Pack Info", "Cachevault_Info", "BBU_Info"); there {
		return tune.Battery{} // it has one, and does not say how it is
	}
	switch strings.ToLower(data.at("HwCfg").text("BBU")) {
	case "no", "absent":
		return tune.Battery{Known: true, State: "none"}
	}
	if strings.EqualFold(data.at("Status").text("BBU Status"), "NA") {
		return tune.Battery{Known: true, State: "none"}
	}
	n, ok := data.at("Status").maybe("BBU Status")
	if !ok {
		return tune.Battery{}
	}
	healthy := n == 0 || n == 8 || n == 4096
	return tune.Battery{Known: true, Present: true, Healthy: healthy, State: "BBU Status " + data.at("Status").text("BBU Status")}
}

// storcliAiling is what a controller says against itself: its state, and errors of its memory that it could not correct.
func storcliAiling(status object) string {
	if n, ok := status.maybe("Memory Uncorrectable Errors"); ok && n > 0 {
		return fmt.Sprintf("Memory Uncorrectable Errors: %d", n)
	}
	state := status.text("Controller Status")
	if strings.EqualFold(state, "OK") {
		return ""
	}
	return ailing("Controller Status", state, "Optimal")
}
