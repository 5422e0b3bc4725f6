package probe

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/internal/nested"
	"stowage/tune"
)

// queueFiles are the queue settings that rules read.
var queueFiles = []string{
	"scheduler", "rotational", "write_cache", "fua", "nr_requests", "read_ahead_kb", "nomerges", "rq_affinity", "add_random", "iostats",
	"physical_block_size", "logical_block_size", "minimum_io_size", "optimal_io_size", "discard_max_bytes", "discard_granularity",
	"atomic_write_unit_max_bytes", "max_sectors_kb", "max_hw_sectors_kb",
}

func (p *prober) disks() {
	ids := p.stableNames()
	for _, name := range p.list("/sys/block") {
		d := p.disk(name)
		d.ByID = ids[name]
		p.facts.Disks = append(p.facts.Disks, d)
	}
	p.lsblk()
	if len(p.facts.Disks) == 0 {
		p.unread("/sys/block", "no disks, or it cannot be read")
	}
}

func (p *prober) disk(name string) tune.Disk {
	dir := "/sys/block/" + name
	d := tune.Disk{
		Name: name, Removable: p.value(dir+"/removable") == "1",
		Vendor: p.value(dir + "/device/vendor"), Model: p.value(dir + "/device/model"),
		Driver: path.Base("/" + p.link(dir+"/device/driver")), Alias: p.value(dir + "/dm/name"),
		Offset: p.value(dir + "/alignment_offset"), Queue: map[string]string{},
	}
	d.PCI, d.Adapter = p.hangsOn(dir)
	if d.Driver == "/" {
		d.Driver = ""
	}
	if strings.HasPrefix(d.Vendor, "0x") {
		d.Vendor = "" // the number of a PCI vendor, as virtio has it
	}
	sectors, err := strconv.ParseInt(p.value(dir+"/size"), 10, 64)
	if d.Size = sectors << 9; err != nil || d.Size>>9 != sectors {
		d.Size = -1 // not known
	}
	for _, q := range queueFiles {
		if v := p.value(dir + "/queue/" + q); v != "" || p.exists(dir+"/queue/"+q) {
			d.Queue[q] = v // "": it is there and says nothing
		}
	}
	for _, part := range p.list(dir) {
		start, err := strconv.ParseInt(p.value(dir+"/"+part+"/start"), 10, 64)
		if err != nil || start < 0 {
			start = -1
		}
		if start >= 0 || p.exists(dir+"/"+part+"/start") {
			d.Parts = append(d.Parts, tune.Partition{Name: part, Start: start})
		}
	}
	for _, place := range p.list(dir + "/device/scsi_disk") {
		if file := dir + "/device/scsi_disk/" + place + "/cache_type"; p.value(file) == "write through" {
			d.CacheType = file
		}
	}
	d.Slaves = p.list(dir + "/slaves")
	for _, s := range d.Slaves {
		p.keep(dir+"/slaves/"+s, "")
	}
	d.Kind = kind(d)
	return d
}

var pciPlace = lazy.Regexp(`[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]`)

// hangsOn is the PCI address of the controller that a SCSI disk hangs on: the
// disk is known as host:channel:target:lun, and the host is a link into the tree
// of devices. adapter is that host's driver. Both are "" for disks of other kinds.
func (p *prober) hangsOn(disk string) (pci, adapter string) {
	for _, name := range p.list(disk + "/device/scsi_device") {
		host, _, ok := strings.Cut(name, ":")
		if _, err := strconv.Atoi(host); !ok || err != nil {
			continue
		}
		p.keep(disk+"/device/scsi_device/"+name, "")
		places := pciPlace().FindAllString(p.link("/sys/class/scsi_host/host"+host), -1)
		if len(places) > 0 {
			pci = places[len(places)-1]
		}
		if adapter = p.value("/sys/class/scsi_host/host" + host + "/proc_name"); pci != "" || adapter != "" {
			return pci, adapter
		}
	}
	return "", ""
}

// virtualMedia are marks of what remote consoles show as disks.
var virtualMedia = []string{"virtual", "idrac", "drac", "ilo", "ipmi", "lcdrive", "ami ", "vmware ide cdr", "bmc"}

func kind(d tune.Disk) tune.Kind {
	letters := strings.TrimRight(d.Name, "0123456789")
	name := strings.ToLower(d.Vendor + " " + d.Model)
	switch {
	case letters == "loop":
		return tune.Loop
	case letters == "ram", letters == "zram":
		return tune.Memory
	case len(d.Slaves) > 0, letters == "md", letters == "dm-":
		return tune.Stacked
	case d.Removable && slices.ContainsFunc(virtualMedia, func(mark string) bool { return strings.Contains(name, mark) }):
		return tune.Virtual
	case d.Removable, letters == "sr", letters == "fd", d.Size == 0:
		return tune.Medium
	}
	return tune.Real
}

// stableNames are names that do not change, by the kernel's name of the disk.
// A wwn is the disk's own; others carry model and serial number.
func (p *prober) stableNames() map[string]string {
	const dir = "/dev/disk/by-id"
	out := map[string]string{}
	for _, id := range p.list(dir) {
		name := path.Base(p.link(dir + "/" + id))
		better := strings.HasPrefix(id, "wwn-") || strings.HasPrefix(id, "nvme-eui.")
		if !strings.Contains(id, "-part") && (out[name] == "" || better) {
			out[name] = dir + "/" + id
		}
	}
	return out
}

// lsblk adds what /sys does not show: models of disks, and disks that are only
// in a recording of its output.
func (p *prober) lsblk() {
	text, ok := p.command("lsblk.json", []string{"lsblk", "-J", "-b", "-o", "NAME,KNAME,TYPE,SIZE,ROTA,RM,MODEL,SERIAL,VENDOR,TRAN,SCHED,FSTYPE,MOUNTPOINT"})
	if !ok {
		return
	}
	listed, err := parseLsblk(text)
	if err != nil {
		p.unread("lsblk", "its answer is no JSON that Stowage knows: "+err.Error())
		return
	}
	for _, l := range listed {
		i := slices.IndexFunc(p.facts.Disks, func(d tune.Disk) bool { return d.Name == l.Name })
		switch {
		case i < 0 && p.ask == nil && len(p.list("/sys/block")) == 0:
			p.facts.Disks = append(p.facts.Disks, l)
		case i < 0:
			p.unread("lsblk: "+l.Name, "it names a disk that /sys/block does not have: renamed, or gone since")
		case p.facts.Disks[i].Model == "":
			p.facts.Disks[i].Model = l.Model
		}
	}
}

// parseLsblk reads `lsblk -J -b`. Older versions write numbers and truth as
// text, newer ones as what they are.
func parseLsblk(text string) ([]tune.Disk, error) {
	var answer struct {
		Devices []map[string]any `json:"blockdevices"`
	}
	if err := nested.Unmarshal([]byte(text), &answer); err != nil {
		return nil, err
	}
	var out []tune.Disk
	for _, m := range answer.Devices {
		v := object(m)
		name := v.text("kname", "name")
		if kind := v.text("type"); name == "" || kind != "" && kind != "disk" && kind != "loop" && kind != "rom" {
			continue
		}
		d := tune.Disk{Name: name, Size: lsblkSize(v), Removable: v.truth("rm"), Model: v.text("model"), Vendor: v.text("vendor"), Queue: map[string]string{}}
		if s := v.text("sched"); s != "" {
			d.Queue["scheduler"] = "[" + s + "]"
		}
		if _, there := v["rota"]; there {
			d.Queue["rotational"] = map[bool]string{true: "1", false: "0"}[v.truth("rota")]
		}
		d.Kind = kind(d)
		out = append(out, d)
	}
	return out, nil
}

// lsblkSize is in bytes; `lsblk` without -b writes "447.1G". -1: not known.
func lsblkSize(v object) int64 {
	if n, ok := v.maybe("size"); ok {
		return n
	}
	text := v.text("size")
	if text == "" {
		return -1
	}
	shift := strings.Index("BKMGTPE", text[len(text)-1:])
	n, err := strconv.ParseFloat(strings.Replace(text[:len(text)-1], ",", ".", 1), 64)
	if shift < 0 || err != nil || n < 0 || n*float64(int64(1)<<(10*shift)) > 1<<62 {
		return -1
	}
	return int64(n * float64(int64(1)<<(10*shift)))
}

// arrays are md devices, as /sys shows them.
func (p *prober) arrays() {
	for _, d := range p.facts.Disks {
		dir := "/sys/block/" + d.Name + "/md"
		level := p.value(dir + "/level")
		if level == "" {
			continue
		}
		a := tune.Array{Name: d.Name, Level: level, Action: p.value(dir + "/sync_action")}
		a.Chunk, _ = strconv.ParseInt(p.value(dir+"/chunk_size"), 10, 64) // 0: RAID 1 has none
		a.Disks, _ = strconv.Atoi(p.value(dir + "/raid_disks"))
		var err error
		if a.Degraded, err = strconv.Atoi(p.value(dir + "/degraded")); err != nil || a.Degraded < 0 {
			a.Degraded = -1
		}
		p.facts.Arrays = append(p.facts.Arrays, a)
	}
}
