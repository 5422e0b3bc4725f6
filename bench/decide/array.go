package decide

import "math"

// Level is how devices are put together.
type Level string

// The levels. None is one device, or several that hold different things each on its own.
const (
	None   Level = "none"
	JBOD   Level = "jbod" // several devices one after the other, no copy
	RAID0  Level = "0"
	RAID1  Level = "1"
	RAID5  Level = "5"
	RAID6  Level = "6"
	RAID10 Level = "10"
)

// Levels are all levels with the devices they need at least.
var Levels = []struct {
	Level Level
	Least int
}{{None, 1}, {JBOD, 1}, {RAID0, 2}, {RAID1, 2}, {RAID5, 3}, {RAID6, 4}, {RAID10, 4}}

// Array is what a candidate is made of. The zero value is one that nobody described.
type Array struct {
	Level   Level
	Devices int
}

// IsKnown reports whether somebody described it.
func (a Array) IsKnown() bool { return a.Devices > 0 }

func (a Array) String() string {
	switch {
	case !a.IsKnown():
		return "unknown"
	case a.Devices == 1:
		return "one device"
	case a.Level == None, a.Level == JBOD:
		return whole(float64(a.Devices)) + " devices, " + string(a.Level)
	}
	return whole(float64(a.Devices)) + " devices, RAID " + string(a.Level)
}

// usable is how many devices' worth of room there is.
func (a Array) usable() float64 {
	n := float64(a.Devices)
	switch a.Level {
	case RAID1:
		return 1
	case RAID5:
		return n - 1
	case RAID6:
		return n - 2
	case RAID10:
		return n / 2
	}
	return n
}

// written is how much of what servers write each device is written, when writes are smaller than a stripe: copies, and a parity for
// every block.
func (a Array) written() float64 {
	n := float64(a.Devices)
	switch a.Level {
	case RAID1:
		return 1
	case RAID5, RAID10:
		return 2 / n
	case RAID6:
		return 3 / n
	}
	return 1 / n
}

// survives is how many devices may be lost, whichever they are, without losing data.
func (a Array) survives() int {
	switch a.Level {
	case RAID1:
		return a.Devices - 1
	case RAID5, RAID10:
		return 1
	case RAID6:
		return 2
	}
	return 0
}

// Scale is by how much an array is faster than one of its devices, at most: the work is spread over all of them, and the controller costs nothing.
// Reads go to every copy. A small write is two of RAID 1 and 10; of RAID 5 two reads and two writes, of RAID 6 three and three; one that
// fills stripes costs the parities alone. Durable writes one at a time wait for one device, and are not faster.
func (a Array) Scale(reads float64, small bool) float64 {
	n := float64(a.Devices)
	write := n
	switch a.Level {
	case None, JBOD:
		return 1 // what is read together may be on one device
	case RAID1:
		write = 1
	case RAID10:
		write = n / 2
	case RAID5:
		write = n - 1
		if small {
			write = n / 4
		}
	case RAID6:
		write = n - 2
		if small {
			write = n / 6
		}
	}
	return 1 / (reads/n + (1-reads)/write)
}

// Degraded is what is left while one device is missing, as parts of what there was.
type Degraded struct {
	Data   float64 // of the data
	Reads  float64 // of random reads, by the device that has most to do
	Writes float64 // of small random writes, the same
}

// degraded counts requests: what the lost device would have read is read from its copy, or from all others of its stripe. The rebuild's own share
// comes on top of it.
func (a Array) degraded() Degraded {
	n := float64(a.Devices)
	switch a.Level {
	case RAID1:
		return Degraded{1, (n - 1) / n, 1}
	case RAID10:
		return Degraded{1, 0.5, 1} // the lost one's twin has twice the reads, and everybody waits for it
	case RAID5:
		// Of n writes one has its block on the lost device (n-2 reads, 1 write), one its parity (1 write), the others cost 4 as before; n-1
		// devices do it.
		return Degraded{1, 0.5, min(1, 4*(n-1)/(5*n-8))}
	case RAID6:
		// Of n writes one has its block there (n-3 reads, 2 writes), two a parity (2 reads, 2 writes), the others cost 6 as before.
		cost := (n - 1 + 2*4 + (n-3)*6) / n
		return Degraded{1, (n - 1) / (2*n - 3), min(1, 6*(n-1)/(n*cost))}
	case RAID0:
		return Degraded{}
	}
	left := (n - 1) / n
	return Degraded{left, left, left}
}

// hoursOfYear is 365.25 days.
const hoursOfYear = 8766

// rate is how many devices of one are lost in an hour, from the part that is lost in a year.
func rate(afr float64) float64 { return -math.Log1p(-min(afr, 1-1e-12)) / hoursOfYear }

// AFR is the part of devices that is lost in a year, from the mean hours between failures.
func AFR(mtbf float64) float64 { return -math.Expm1(-hoursOfYear / mtbf) }

// fatal is the probability that, one device being lost, so many others are lost within hours that data is gone. Devices fail independently of
// each other, at a constant rate: those of one batch, worn alike, do not, so that it is this at least.
func (a Array) fatal(afr, hours float64) float64 {
	q := -math.Expm1(-rate(afr) * hours) // of one given device
	n := float64(a.Devices)
	switch a.Level {
	case RAID1:
		return math.Pow(q, n-1)
	case RAID10:
		return -math.Expm1(math.Log1p(-q) + (n/2-1)*math.Log1p(-q*q))
	case RAID5:
		return -math.Expm1((n - 1) * math.Log1p(-q))
	case RAID6:
		return two(n-1, q)
	}
	return 1
}

// two is the probability that two at least of n are lost, each with q.
func two(n, q float64) float64 {
	if n*q > 0.1 {
		return 1 - math.Pow(1-q, n) - n*q*math.Pow(1-q, n-1)
	}
	// Summed from the small end, for 1 - (what is not) would round tiny ones away.
	sum := 0.0
	term := n * (n - 1) / 2 * q * q * math.Pow(1-q, n-2)
	for k := 2.0; k <= n && term > sum*1e-17; k++ {
		sum += term
		term *= (n - k) / (k + 1) * q / (1 - q)
	}
	return sum
}

// formula is fatal in words.
func (a Array) formula() string {
	switch a.Level {
	case RAID1:
		if a.Devices == 2 {
			return "1 - exp(-r t): the other one"
		}
		return "(1 - exp(-r t))^(n-1): all others"
	case RAID10:
		return "1 - (1-q) (1-q^2)^(n/2-1), q = 1 - exp(-r t): the lost one's twin, or both of another pair"
	case RAID5:
		return "1 - exp(-(n-1) r t): any of the others"
	case RAID6:
		return "sum of C(n-1, k) q^k (1-q)^(n-1-k) for k from 2 on, q = 1 - exp(-r t): two of the others"
	}
	return "1: the first loss loses data"
}

// yearly is the probability that data is lost within a year: losses of single devices come at n times the rate, and each is fatal with the
// given probability.
func (a Array) yearly(afr, fatal float64) float64 {
	return -math.Expm1(-float64(a.Devices) * rate(afr) * hoursOfYear * fatal)
}
