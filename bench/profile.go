package bench

import (
	"fmt"
	"time"

	"stowage/bench/stat"
	"stowage/farm"
)

// Profile is a barrage: what is measured, for how long, how often.
type Profile struct {
	Name            string
	Steps           []Step
	Runtime, Warmup time.Duration // of each run
	MinRuns         int
	MaxRuns         int
	Target          float64       // half width of the interval that is narrow enough
	Budget          time.Duration // no round begins that would end after it; 0: none
	LayoutLimit     time.Duration // what is written by then is the size, unless a size was asked for; 0: none
	Passes          int           // over the data file, before anything is measured
	// Settle is the load that is run in windows until it is steady, before anything is measured; nil: none.
	Settle      *Load
	SettleLimit time.Duration
	Labels      []string
}

// mixStep is the MySQL shape: pages are read and flushed while commits wait for the log.
func mixStep() Step {
	return Step{ID: mix, Answers: "a commit's time while pages are read and written: the shape of MySQL", Load: mustLoad("LOG4K-FDS-Q1T1"), Beside: ptr(mustLoad("RND16K-RW70-Q4T4"))}
}

func ptr[T any](v T) *T { return &v }

func one(id, answers string) Step { return Step{ID: id, Answers: answers, Load: mustLoad(id)} }

// Quick looks at a storage for two minutes.
func Quick() Profile {
	return Profile{
		Name: "quick", Runtime: 2100 * time.Millisecond, Warmup: 500 * time.Millisecond, MinRuns: 3, MaxRuns: 8, Target: 0.05,
		Budget: 2 * time.Minute, LayoutLimit: 15 * time.Second, Passes: 1,
		Labels: []string{"quick: the device was not brought to a steady state; what it sustains may be less (burst possible)"},
		Steps: []Step{
			one("SEQ1M-W-Q4T1", "load and restore"),
			one("LOG4K-FDS-Q1T1", "commits a second, and what one waits for"),
			one("RND16K-R-Q1T1", "the time of one page read"),
			one("RND16K-R-Q8T4", "the ceiling of page reads"),
			one("RND16K-W-FDS-Q1T1", "the price of a durable page write"),
			one("RND16K-W-Q8T4", "the ceiling of page writes"),
			mixStep(),
			one("SEQ1M-R-Q8T1", "scans and backups"),
		},
	}
}

// Full takes hours: every block size and pattern, queues that grow, a log with many writers, MIX at a part of its ceiling, and how
// even the speed stays.
func Full() Profile {
	p := Profile{
		Name: "full", Runtime: time.Minute, Warmup: 10 * time.Second, MinRuns: 3, MaxRuns: 8, Target: 0.05, Passes: 2,
		Settle: ptr(mustLoad("RND16K-W-Q8T4")), SettleLimit: time.Hour,
	}
	for _, block := range []string{"4K", "16K", "128K", "1M"} {
		for _, pattern := range []string{"RND", "SEQ"} {
			for _, op := range []string{"R", "W", "RW70"} {
				p.Steps = append(p.Steps, one(fmt.Sprintf("%s%s-%s-Q1T1", pattern, block, op), "one at a time, by block size"))
			}
		}
	}
	for _, depth := range []string{"Q8T1", "Q8T4", "Q32T4", "Q32T8"} {
		for _, op := range []string{"R", "W", "RW70"} {
			p.Steps = append(p.Steps, one("RND16K-"+op+"-"+depth, "pages, by how many at a time"))
		}
	}
	for _, threads := range []string{"T1", "T4", "T16"} {
		p.Steps = append(p.Steps, one("LOG4K-FDS-Q1"+threads, "commits, by how many commit at a time"))
	}
	p.Steps = append(p.Steps, one("RND16K-W-FDS-Q1T1", "the price of a durable page write"),
		one("SEQ1M-W-Q4T1", "load and restore"), one("SEQ1M-R-Q8T1", "scans and backups"), mixStep())
	for _, percent := range []int{25, 50, 75} {
		s := mixStep()
		s.ID, s.Share = fmt.Sprintf("%s-%d", mix, percent), float64(percent)/100
		s.Answers = fmt.Sprintf("the same with pages at %d %% of what MIX reached", percent)
		p.Steps = append(p.Steps, s)
	}
	p.Steps = append(p.Steps, Step{ID: "STABILITY", Answers: "how even the speed stays over a long time", Load: mustLoad("RND16K-RW70-Q8T4"), Long: 20})
	return p
}

// SetRuntime gives all runs another length, and the warm-up before each a sixth of it, ten seconds at most.
func (p *Profile) SetRuntime(d time.Duration) {
	p.Runtime = d
	p.Warmup = min(d/6, 10*time.Second)
	if p.Warmup < 200*time.Millisecond {
		p.Warmup = 200 * time.Millisecond
	}
	p.Budget = 0 // it was made for the profile's own length
}

// Only keeps the steps that are named, and makes those that the profile does not have.
func (p *Profile) Only(ids []string) error {
	var steps []Step
	have := map[string]bool{}
	for _, id := range ids {
		s, err := ParseStep(id, *p)
		if err != nil {
			return err
		}
		if !have[s.ID] {
			steps = append(steps, s)
		}
		have[s.ID] = true
	}
	for _, s := range steps {
		if s.Share > 0 && !have[mix] {
			return &farm.Error{Op: "read step", Subject: s.ID, Err: fmt.Errorf("%w: it is a part of what MIX reaches", farm.ErrInput), Hint: "--steps MIX," + s.ID}
		}
	}
	p.Steps = steps
	return nil
}

// Estimate is how many runs there will be at least, about how long they take, and how long all rounds that there may be would. Filling and
// becoming steady come before, and are not in it.
func (p Profile) Estimate() (runs int, least, most time.Duration) {
	aa := 2 * aaRuns * p.timeOf(Step{})
	least, most = aa, aa
	for _, s := range p.Steps {
		n, all := p.MinRuns, p.MaxRuns
		if s.Long > 0 {
			n, all = 1, 1
		}
		runs += n
		least, most = least+time.Duration(n)*p.timeOf(s), most+time.Duration(all)*p.timeOf(s)
	}
	return runs, least, most
}

// length is how long a run of a step measures.
func (p Profile) length(s Step) time.Duration {
	if s.Long > 0 {
		return time.Duration(float64(p.Runtime) * s.Long)
	}
	return p.Runtime
}

// timeOf is about how long a run of a step takes with everything around it.
func (p Profile) timeOf(s Step) time.Duration {
	return p.Warmup + pause + 500*time.Millisecond + p.length(s)
}

// settleLimit is how long a device may take to become steady; 0 where nobody waits for that.
func (p Profile) settleLimit() time.Duration {
	if p.Settle == nil {
		return 0
	}
	return min(p.SettleLimit, 60*p.Runtime)
}

// Visit is about how long one round takes on a file system that was made anew, at least, and with the longest that a device may take to become
// steady. Writing is guessed at 200 MB/s.
func (p Profile) Visit(size int64) (least, most time.Duration) {
	const guess = 200e6
	length := time.Duration(float64(p.Passes) * float64(size+logSize(size)) / guess * float64(time.Second))
	for _, s := range p.Steps {
		length += p.timeOf(s)
	}
	if p.Settle == nil {
		return length, length
	}
	return length + stat.Windows*p.Runtime, length + p.settleLimit()
}
