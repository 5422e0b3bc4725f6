package sheet

import (
	"fmt"
	"time"

	"stowage/farm"
)

// Guesses about what cannot be known beforehand. They are on the safe side of what was seen on two cores with a virtual disk.
const (
	loadRows   = 25_000 // rows a second while loading, of all tables
	startTime  = 1500 * time.Millisecond
	settleTime = 2 * time.Second
	scanRate   = 100 << 20 // bytes a second of the scan that warms a cache
	bootTime   = 5 * time.Second
	// backlogRate is transactions a second.
	backlogRate = 2000
)

// Estimate is how many runs there will be at least, and about how long everything takes. stores is how many data directories are loaded.
func Estimate(s Settings, rows, stores int) (runs int, length time.Duration) {
	runs = rows * s.MinRuns
	data := DataBytes(s.Rows)
	fill := time.Duration(float64(s.Rows*s.Tables) / loadRows * float64(time.Second))
	scan := time.Duration(float64(data) / scanRate * float64(time.Second))
	each := startTime + scan + 2*settleTime + time.Duration((s.Runtime+s.Warmup)*float64(time.Second))
	if s.Backlog > 0 { // written, and applied at half the speed
		each = 2*startTime + 2*scan + 2*settleTime + 3*time.Duration(float64(s.Backlog)/backlogRate*float64(time.Second))
	}
	return runs, bootTime + time.Duration(stores)*(fill+startTime) + time.Duration(runs)*each
}

// Need is what a bench takes of a machine at its worst moment.
type Need struct {
	Memory int64 // of servers that run at once
	Disk   int64 // of all data directories
}

// diskOf is what one data directory may come to: rows with their index and what splits leave, logs, a binary log, system tables.
func diskOf(data int64) int64 { return 3*data + 400<<20 }

// NeedOf is for servers of these memories at once, and so many data directories.
func NeedOf(data int64, stores int, atOnce []int64) Need {
	n := Need{Disk: int64(stores) * diskOf(data)}
	for _, m := range atOnce {
		n.Memory += m
	}
	return n
}

// Check refuses what would not fit: a machine that swaps, or a full disk, is not what was to be measured, and harms its neighbours.
func (n Need) Check(dir string, memory, free int64) error {
	switch {
	case memory > 0 && n.Memory > memory/10*8:
		return &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: its servers may take %d MiB of memory, and of %d MiB available a fifth stays free", farm.ErrRefused, n.Memory>>20, memory>>20),
			Hint: "fewer --rows, a larger --ratio (a smaller cache), or fewer --n-instances"}
	case n.Disk > free/10*9:
		return &farm.Error{Op: "measure", Subject: dir, Err: fmt.Errorf("%w: data of up to %d MiB would not leave a tenth of the %d MiB that are free", farm.ErrInput, n.Disk>>20, free>>20),
			Hint: "free some space, or use fewer --rows or --cells"}
	}
	return nil
}
