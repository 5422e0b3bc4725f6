package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	if older {
		return
	}
	adapters, _ := p.command("megacli-adpallinfo.txt", with(megaCli, "-AdpAllInfo", "-aALL", "-NoLog")...)
	battery, _ := p.command("megacli-bbu.txt", with(megaCli, "-AdpBbuCmd", "-GetBbuStatus", "-aALL", "-NoLog")...)
	drives, _ := p.command("megacli-ldpdinfo.txt", with(megaCli, "-LdPdInfo", "-aALL", "-NoLog")...)
	p.addControllers(parseMegaCli(adapters, battery, drives))
}

// generation asks the tools of one generation until one knows a controller, and
// reports whether one does.
func (p *prober) generation(tools []raidTool) bool {
	for _, t := range tools {
		text, ok := p.command(t.tool+".json", with(t.programs, "/call", "show", "all", "J")...)
		if !ok {
			continue
		}
		cs, err := parseStorcli(t.tool, text)
		if err != nil {
			p.unread(t.tool, "its answer is no JSON: "+err.Error())
		}
		if p.addControllers(cs); len(cs) > 0 {
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

// parseStorcli reads `/call show all J` of storcli, perccli, storcli2 and
// perccli2. A controller that failed to answer is left out.
//
// The two generations: storcli (7.x) has "Basics", one column Cache such as
// RWBD, states in State, and a battery in BBU_Info or Cachevault_Info; storcli2
// (8.x) has "Product Name" at the top or in Basics, the columns CurrentCache
// and DefaultCache such as "NR,WB", a second column Status, and Energy Pack
// Info. HBAs have no VD LIST.
func parseStorcli(tool, text string) ([]tune.Controller, error) {
	answer, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	var out []tune.Controller
	for n, c := range answer.rows("Controllers") {
		data := c.at("Response Data")
		if data == nil || c.at("Command Status").text("Status") == "Failure" {
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
		x.CacheUnguarded = strings.EqualFold(data.at("Defaults").text("Cache When BBU Bad"), "On")
		for _, v := range data.rows("VD LIST", "Virtual Drive List") {
			x.Volumes = append(x.Volumes, storcliVolume(v))
		}
		for _, d := range data.allRows("PD LIST", "Physical Device Information", "Physical Drive List") {
			x.Drives = append(x.Drives, storcliDrive(d))
		}
		if x.Model != "" || len(x.Volumes)+len(x.Drives) > 0 {
			out = append(out, x)
		}
	}
	return out, nil
}

func storcliVolume(v object) tune.Volume {
	state := v.text("State")
	now := v.text("CurrentCache", "Cache")
	return tune.Volume{
		ID: v.text("DG/VD", "VD"), Level: v.text("TYPE", "RAID Level"), State: state, Optimal: strings.EqualFold(state, "Optl") || strings.EqualFold(state, "Optimal"),
		Cache: writeCache(v.text("DefaultCache", "Cache")), CacheNow: writeCache(now),
	}
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
		Failed: has("Failed", "Offln", "Offline", "UBad", "Missing"), Rebuilding: has("Rbld", "Rebuild", "Cpybck"),
		MediaErrors: d.number("Media Error Count"), Predicted: d.number("Predictive Failure Count"),
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

// drives asks the drives behind MegaRAID and PERC controllers about themselves,
// each through a disk that its own controller hands out: the numbers of drives
// are the controller's. NVMe drives there cannot be asked (smartmontools #274).
func (p *prober) drives() {
	for c := range p.facts.Controllers {
		x := &p.facts.Controllers[c]
		if !slices.ContainsFunc(x.Drives, askable) {
			continue
		}
		disk := p.diskOf(*x)
		if disk == "" {
			p.unread(fmt.Sprintf("drives of %s %d", x.Tool, x.Number), "which disk is this controller's is not known")
			continue
		}
		for n := range x.Drives {
			if askable(x.Drives[n]) {
				p.drive(disk, &x.Drives[n])
			}
		}
	}
}

func askable(d tune.Drive) bool { return d.Device >= 0 && !d.Failed }

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

func (p *prober) drive(disk string, d *tune.Drive) {
	number := strconv.Itoa(d.Device)
	text, ok := p.command("smartctl-"+disk+"-megaraid-"+number+".json", []string{"smartctl", "-j", "-x", "-d", "megaraid," + number, "/dev/" + disk})
	if !ok {
		return
	}
	answer, err := parseObject(text)
	if err != nil {
		p.unread("smartctl megaraid,"+number, "its answer is no JSON; smartctl before 7.0 has none")
		return
	}
	if d.Health, _, _ = parseSmartctl(answer); d.Health == nil {
		p.unread("smartctl megaraid,"+number, "it told nothing about the drive's health")
	}
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
	if strings.EqualFold(data.at("HwCfg").text("BBU"), "No") {
		return tune.Battery{Known: true, State: "none"}
	}
	n, ok := data.at("Status").maybe("BBU Status")
	if !ok {
		return tune.Battery{}
	}
	healthy := n == 0 || n == 8 || n == 4096
	return tune.Battery{Known: true, Present: true, Healthy: healthy, State: "BBU Status " + data.at("Status").text("BBU Status")}
}
