package tune

// Controller is one hardware RAID controller, in the words that all
// generations of tools share.
type Controller struct {
	Tool           string // which program told: "storcli", "perccli2", "MegaCli", "ssacli", "arcconf"
	Number         int    // as the tool counts; ssacli: the slot
	PCI            string // "0000:02:00.0"; "" when the tool does not say
	Model          string
	Battery        Battery
	CacheUnguarded bool // volumes go on writing back when the battery is bad
	Volumes        []Volume
	Drives         []Drive
	VolumesMissing string     // why not all volumes are known; "" when they are
	DrivesMissing  string     // why not all drives are known
	Busy           string     // a patrol read or a consistency check that runs now
	Ailing         string     // what it says against itself: "Controller Status: Failed"
	DriveCache     DriveCache // what it has set for all drives, where it tells
}

// Battery is what keeps a controller's cache over a power cut: a BBU or a
// capacitor with flash.
type Battery struct {
	Present bool
	Known   bool
	Healthy bool
	State   string // as the tool writes it
}

// WriteCache is what a controller does with a write.
type WriteCache string

const (
	Through     WriteCache = "write through"
	Back        WriteCache = "write back"
	BackAlways  WriteCache = "always write back" // with a bad battery, too
	CacheHidden WriteCache = ""
)

// DriveCache is what a controller has made of the drives' own caches, which are
// behind its own.
type DriveCache string

const (
	DriveCacheOn      DriveCache = "on"
	DriveCacheOff     DriveCache = "off"
	DriveCacheDefault DriveCache = "the drive's default"
	DriveCacheHidden  DriveCache = ""
)

// ReadAhead is whether a controller reads on behind what it was asked for.
type ReadAhead string

const (
	ReadsAhead      ReadAhead = "read ahead"
	ReadsNoMore     ReadAhead = "no read ahead"
	ReadAheadHidden ReadAhead = ""
)

// Volume is one virtual drive.
type Volume struct {
	ID         string // "0/0", as the tool names it
	Level      string // "RAID10"
	State      string // as the tool writes it
	Optimal    bool
	Cache      WriteCache // as it is configured
	CacheNow   WriteCache // as it is at this moment, when the tool tells
	Strip      int64      // bytes; 0: not known
	Disks      int        // 0 or less: not known
	ReadAhead  ReadAhead
	DriveCache DriveCache // of its drives
}

// Drive is one physical drive behind a controller.
type Drive struct {
	ID          string // "252:0", enclosure and slot
	Media       string // "SSD" or "HDD"; "" when the tool does not say
	Model       string
	State       string
	Sound       bool // by its state
	Failed      bool
	Rebuilding  bool
	Counted     bool // the controller told the two counters that follow
	MediaErrors int64
	Predicted   int64 // predictive failures
	Alert       bool  // the drive has warned the controller (SMART)
	Device      int   // the controller's number for it, which smartctl wants; -1: not known
	Serial      string
	Cache       DriveCache // as the drive, or the controller of this one drive, says
	Unsupported bool       // the controller will not use it
	Health      *Health
}

// guarded reports whether a healthy battery stands behind every cache there is.
func (c Controller) guarded() bool {
	if c.CacheUnguarded || !c.Battery.Healthy {
		return false
	}
	for _, v := range c.Volumes {
		if v.Cache == BackAlways {
			return false
		}
	}
	return true
}
