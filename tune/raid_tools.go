package tune

import (
	"cmp"
	"strconv"
	"strings"
)

// raidWords are the commands of one family of tools, for {c}, the number of a
// controller (ssacli: its slot), and {v}, that of a volume.
type raidWords struct {
	volumes, drives, battery string // what tells of them
	through                  string // a volume answers only when the disks have it
	back, undoBack           string // it writes back only while the battery is good; what takes that back
	drivesOff                string // the drives' own caches are switched off
	diskCache                string // tells of the disk cache policy; "": what tells of the volumes does
	noAhead                  string // nothing is read ahead; "": it has no such policy
	smart                    string // asks a drive behind the controller about itself, {d} by its number; "": nothing does
}

// words are the commands of the tool that told of this controller.
func (c Controller) words() raidWords {
	switch {
	case c.Tool == "MegaCli":
		return raidWords{volumes: "MegaCli -LdPdInfo -a{c} -NoLog", drives: "MegaCli -LdPdInfo -a{c} -NoLog", battery: "MegaCli -AdpBbuCmd -GetBbuStatus -a{c} -NoLog",
			through: "MegaCli -LDSetProp WT -L{v} -a{c}", back: "MegaCli -LDSetProp NoCachedBadBBU -L{v} -a{c}", undoBack: "the same with awb, or CachedBadBBU",
			drivesOff: "MegaCli -LDSetProp -DisDskCache -L{v} -a{c}", noAhead: "MegaCli -LDSetProp NORA -L{v} -a{c}", smart: "megaraid,{d}"}
	case c.Tool == "ssacli":
		return raidWords{volumes: "ssacli ctrl slot={c} ld all show detail", drives: "ssacli ctrl slot={c} pd all show detail", battery: "ssacli ctrl slot={c} show",
			through: "ssacli ctrl slot={c} ld {v} modify caching=disable", back: "ssacli ctrl slot={c} modify nobatterywritecache=disable", undoBack: "the same with enable",
			drivesOff: "ssacli ctrl slot={c} modify drivewritecache=disable, on newer ones with usage=configured", diskCache: "ssacli ctrl slot={c} show", smart: "cciss,{d}"}
	case c.Tool == "arcconf":
		return raidWords{volumes: "arcconf getconfig {c} ld", drives: "arcconf getconfig {c} pd", battery: "arcconf getconfig {c} ad",
			through: "arcconf setcache {c} logicaldrive {v} wt, or coff in place of wt", back: "arcconf setcache {c} logicaldrive {v} wbb, or where it does not know wbb: arcconf setcache {c} nobatterywritecache disable",
			undoBack: "the same with wb, or enable", drivesOff: "arcconf setcache {c} deviceall wt, or drivewritecachepolicy configured disable"}
	}
	return raidWords{volumes: c.Tool + " /c{c}/vall show all J", drives: c.Tool + " /c{c}/eall/sall show all J", battery: c.Tool + " /c{c}/cv show all J, or /c{c}/bbu",
		through: c.Tool + " /c{c}/v{v} set wrcache=wt", back: c.Tool + " /c{c}/v{v} set wrcache=wb", undoBack: "the same with awb, or CachedBadBBU",
		drivesOff: c.Tool + " /c{c}/v{v} set pdcache=off", noAhead: c.Tool + " /c{c}/v{v} set rdcache=nora", smart: "megaraid,{d}"}
}

func (c Controller) fill(command, volume string) string {
	return strings.NewReplacer("{c}", strconv.Itoa(c.Number), "{v}", volume).Replace(command)
}

// askVolumes, askDrives, askDiskCachePolicy and askBattery are the commands that tell what is missing.
func (c Controller) askVolumes() string { return c.fill(c.words().volumes, "") }
func (c Controller) askDrives() string  { return c.fill(c.words().drives, "") }
func (c Controller) askDiskCachePolicy() string {
	return c.fill(cmp.Or(c.words().diskCache, c.words().volumes), "")
}
func (c Controller) askBattery() string { return c.fill(c.words().battery, "") }

// writeThrough is the command that makes a volume answer only when the disks have it.
func (c Controller) writeThrough(volume string) string { return c.fill(c.words().through, volume) }

// writeBack is the command that makes a volume, or all, write back only while
// the battery is good.
func (c Controller) writeBack(volume string) string { return c.fill(c.words().back, volume) }

// SmartDevice is what smartctl wants behind -d for a drive of this number; "" where it cannot ask.
func (c Controller) SmartDevice(number int) string {
	return strings.ReplaceAll(c.words().smart, "{d}", strconv.Itoa(number))
}
