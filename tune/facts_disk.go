package tune

import (
	"fmt"
	"slices"
	"strings"
)

// Disk is one block device that is not a partition.
type Disk struct {
	Name       string // "sda"
	Alias      string // of device-mapper: "vg-mysql"
	Kind       Kind
	Asked      bool  // somebody named a directory on it, to measure there
	Size       int64 // bytes
	Removable  bool
	Vendor     string
	Model      string
	PCI        string            // address of what it hangs on: "0000:02:00.0"; "" when it is not known
	Driver     string            // of the device: "sd", "nvme", "virtio_blk"
	Adapter    string            // the driver of what it hangs on: "megaraid_sas", "ahci"; "" when it is not known
	ByID       string            // "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"
	Queue      map[string]string // /sys/block/D/queue, values without the line end
	Offset     string            // alignment_offset
	Parts      []Partition
	Slaves     []string // what it is made of: md and device-mapper
	Health     *Health  // nil: nobody could ask the device
	CacheType  string   // file that switches the device's own cache: "/sys/block/sda/device/scsi_disk/0:0:0:0/cache_type"; "" where there is none
	WriteCache *bool    // the device's own cache, as the device says; nil: unknown
	NVMe       []LBAFormat
}

// Kind says what is behind a block device.
type Kind string

const (
	Real    Kind = "disk"
	Virtual Kind = "virtual media" // a remote console's floppy or CD: there whether anything is in it or not
	Loop    Kind = "loop"
	Memory  Kind = "memory"
	Stacked Kind = "stacked" // made of other disks
	Medium  Kind = "medium"  // a drive for media, or a device without any size
)

// Partition is one partition of a disk.
type Partition struct {
	Name  string
	Start int64 // in sectors of 512 bytes, whatever the disk's are; -1: not known
}

// Health is what a device says about itself.
type Health struct {
	From           string // "smartctl", "nvme"
	Rotation       int    // rpm; 0: none; -1: it did not say
	Passed         *bool
	Used           int   // percent of the rated endurance; -1: it did not say
	Hours          int64 // powered on; 0: it did not say
	Spare          int   // percent available; -1
	SpareThreshold int
	Critical       int // bits of critical_warning
	MediaErrors    int64
	HotMinutes     int64 // above the warning temperature, ever
	CriticalMins   int64 // above the critical one

	UsedFrom      string   // which of the drive's figures Used is: "attribute 233 Media_Wearout_Indicator"
	Reallocated   int64    // sectors replaced by spare ones; -1: it did not say
	Pending       int64    // sectors it could not read, not replaced yet; -1
	Uncorrectable int64    // sectors it could not read, or errors it reported; -1
	Failing       []string // attributes that are at their threshold now
	Failed        []string // attributes that were at it before
	Missing       []string // what a drive of its kind tells, and this answer lacks
}

// LBAFormat is one way a namespace can be formatted.
type LBAFormat struct {
	Bytes       int64
	Performance int // relative: 0 is the best
	InUse       bool
}

// Scheduler is the one in use, or "".
func (d Disk) Scheduler() string { return Chosen(d.Queue["scheduler"]) }

// Chosen is the value in use in a file such as "none [mq-deadline] kyber".
func Chosen(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		in, _, _ := strings.Cut(rest, "]")
		return in
	}
	return strings.TrimSpace(text)
}

// offers reports whether the disk's queue knows this scheduler.
func (d Disk) offers(scheduler string) bool {
	return slices.Contains(strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(d.Queue["scheduler"])), scheduler)
}

// attribute is the file of a queue setting.
func (d Disk) attribute(name string) string { return "/sys/block/" + d.Name + "/queue/" + name }

// set is the change of a queue setting.
func (d Disk) set(name, to string) *Change {
	return &Change{Path: d.attribute(name), From: Chosen(d.Queue[name]), To: to}
}

// guest reports whether a hypervisor hands out this disk.
func (d Disk) guest() bool {
	return strings.HasPrefix(d.Name, "vd") || strings.HasPrefix(d.Name, "xvd") || d.Driver == "virtio_blk" || strings.Contains(d.Model, "Virtual disk")
}

// raidDrivers are drivers of controllers that make volumes of drives, and the tools
// that ask them.
var raidDrivers = map[string]string{
	"megaraid_sas": "storcli, perccli or MegaCli", "megaraid": "MegaCli", "aacraid": "arcconf", "smartpqi": "ssacli or arcconf", "hpsa": "ssacli", "cciss": "ssacli",
}

// MakersTool is what asks the RAID controller that hands out this disk, by its
// driver; "" when the driver is not known.
func (d Disk) MakersTool() string { return raidDrivers[d.Adapter] }

// RAID reports whether a RAID controller hands out this disk: by the driver that
// it hangs on, and where that is not known, or makes volumes of some drives and
// hands out others as they are (mpt3sas), by its name.
func (d Disk) RAID() bool {
	if d.MakersTool() != "" {
		return true
	}
	if d.Adapter != "" && !strings.HasPrefix(d.Adapter, "mpt") {
		return false
	}
	for _, mark := range []string{"PERC", "MEGARAID", "LSI", "AVAGO", "BROADCOM", "SERVERAID", "LOGICAL VOLUME", "MR9", "RAID"} {
		if strings.Contains(strings.ToUpper(d.Vendor+" "+d.Model), mark) {
			return true
		}
	}
	return false
}

// storage are the disks that hold data, without what is made of others.
func (f *Facts) storage() []Disk {
	var out []Disk
	for _, d := range f.Disks {
		if d.Kind == Real {
			out = append(out, d)
		}
	}
	return out
}

// disk is the disk of a name such as "sda", "/dev/sda" or "/dev/sda1".
func (f *Facts) disk(name string) (Disk, bool) {
	name = strings.TrimPrefix(name, "/dev/")
	for _, d := range f.Disks {
		if d.Name == name || "/dev/"+name == d.ByID || d.Alias != "" && name == "mapper/"+d.Alias ||
			slices.ContainsFunc(d.Parts, func(p Partition) bool { return p.Name == name }) {
			return d, true
		}
	}
	return Disk{}, false
}

// below are the disks that a device stands on, itself when it is one.
func (f *Facts) below(device string) []Disk {
	var out []Disk
	seen := map[string]bool{}
	todo := []string{device}
	for len(todo) > 0 {
		d, ok := f.disk(todo[0])
		todo = todo[1:]
		if !ok || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		if len(d.Slaves) == 0 {
			out = append(out, d)
		}
		todo = append(todo, d.Slaves...)
	}
	return out
}

// under are the disks below a directory.
func (f *Facts) under(dir string) []Disk {
	m, ok := f.mountOf(dir)
	if !ok {
		return nil
	}
	return f.below(m.Device)
}

// flash says whether a disk is known to have no moving parts, and by whom.
// The kernel's own word counts last: behind a RAID controller or in a guest it
// is a guess.
func (f *Facts) flash(d Disk) (is, known bool, says string) {
	if is, known, says = f.flashWithoutKernel(d); known {
		return is, known, says
	}
	switch d.Queue["rotational"] {
	case "0":
		return true, true, "the kernel (rotational=0)"
	case "1":
		return false, !d.guest() && !d.RAID(), kernelSpins
	}
	return false, false, ""
}

const kernelSpins = "the kernel (rotational=1)"

// fast is the median of random reads, in microseconds, that no moving head
// reaches: a turn of a 15,000 rpm disk takes 4,000.
const fast = 1000

func (f *Facts) flashWithoutKernel(d Disk) (is, known bool, says string) {
	if strings.HasPrefix(d.Name, "nvme") {
		return true, true, "its name: NVMe"
	}
	if d.Health != nil && d.Health.Rotation >= 0 {
		if d.Health.Rotation == 0 {
			return true, true, d.Health.From + ": no rotation"
		}
		return false, true, fmt.Sprintf("%s: %d rpm", d.Health.From, d.Health.Rotation)
	}
	if d.RAID() {
		if media, all := f.media(d); all {
			return media == "SSD", true, "the RAID controller: all its drives are " + media
		}
	}
	if id, s, ok := f.Measured[d.Name].step("RND16K-R-Q1"); ok && s.Lat.P50 > 0 && s.Lat.P50 < fast {
		return true, true, fmt.Sprintf("measured: %s has a median of %.0f us", id, s.Lat.P50)
	}
	return false, false, ""
}

// media is what all drives of the disk's controller are made of; of all
// controllers, where nobody says which is the disk's.
func (f *Facts) media(of Disk) (media string, all bool) {
	own := slices.ContainsFunc(f.Controllers, func(c Controller) bool { return c.PCI != "" && c.PCI == of.PCI })
	for _, c := range f.Controllers {
		if own && c.PCI != of.PCI {
			continue
		}
		for _, d := range c.Drives {
			if d.Media == "" || media != "" && d.Media != media {
				return "", false
			}
			media = d.Media
		}
	}
	return media, media != ""
}
