package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
)

// storageModel is a storage that can be reckoned: more requests at a time bring more until it is saturated, then they wait.
type storageModel struct {
	read, write float64 // requests of 16K a second at most
	alone       float64 // microseconds of one request alone
	sync        float64 // microseconds of a fdatasync
	seed        uint64
}

var (
	oldStorage = storageModel{read: 42_000, write: 21_000, alone: 190, sync: 1900, seed: 1}
	newStorage = storageModel{read: 160_000, write: 74_000, alone: 85, sync: 1905, seed: 2}
)

// inventBench is a result as bench run would leave it, of a storage that nobody has.
func inventBench(p bench.Profile, m storageModel) *result.Result {
	random := rand.New(rand.NewPCG(m.seed, 7))
	began := time.Date(2026, 11, 20+int(m.seed), 9, 0, 0, 0, time.UTC)
	r := &result.Result{
		FormatVersion: result.FormatVersion, Profile: p.Name, Complete: true,
		Sessions: []result.Session{{Began: began, Ended: began.Add(3 * time.Hour), Command: []string{"stowage", "bench", "run", "/mnt/db", "--profile", p.Name}}},
		Settings: result.Settings{Size: 256 << 30, LogSize: 1 << 30, Runtime: p.Runtime.Seconds(), Warmup: p.Warmup.Seconds(), MinRuns: 3, MaxRuns: 8, Target: 0.05, Seed: m.seed, Engine: "io_uring", Direct: true},
		Environment: result.Environment{
			Host: "db01", Kernel: "6.1.0-28", Arch: "amd64", CPUs: 32, CPUModel: "EPYC 7302", Memory: 128 << 30, Fio: "3.33", Stowage: "test", Directory: "/mnt/db", Mount: "/mnt/db", Filesystem: "xfs",
			MountSource: "/dev/nvme0n1", MountOptions: "rw,noatime", Capacity: 2 << 40, Free: 1 << 40,
			Device: &result.Device{Name: "nvme0n1", Model: fmt.Sprintf("Model %d", m.seed), Size: 2 << 40, Queue: map[string]string{"scheduler": "[none] mq-deadline", "nr_requests": "1023", "write_cache": "write through"}},
		},
		Precondition: &result.Precondition{Bytes: 512 << 30, Seconds: 600, MBps: 900, Passes: 2},
	}
	seq := 0
	for _, s := range p.Steps {
		seq++
		runs, windows := 3, int(p.Runtime.Seconds()/0.25)
		window := 0.25
		if p.Runtime > 30*time.Second {
			windows, window = int(p.Runtime.Seconds()), 1
		}
		if s.Long > 0 {
			runs, windows = 1, windows*int(s.Long)
		}
		loads := []bench.Load{s.Load}
		ids := []string{s.ID}
		if s.Beside != nil {
			loads, ids = append(loads, *s.Beside), append(ids, s.ID+"/"+s.Beside.ID)
		}
		for i, l := range loads {
			x := &result.Step{
				ID: ids[i], Answers: s.Answers, Pattern: l.Pattern, Op: l.Op, Block: l.Block, Outstanding: l.Q, Threads: l.T, Durable: l.Durable, Engine: "io_uring",
				Job: "[" + ids[i] + "]\nrw=randread\nbs=" + fmt.Sprint(l.Block) + "\n",
			}
			x.Series.Window = window
			for run := range runs {
				m.run(x, l, s.Beside != nil, seq*10+run, windows, random)
			}
			r.Steps = append(r.Steps, x)
		}
	}
	r.Noise.SetAA("RND16K-R-Q1T1", 5000, 5050)
	r.Judge()
	return r
}

// run adds one run to a step.
func (m storageModel) run(x *result.Step, l bench.Load, isMixed bool, seq, windows int, random *rand.Rand) {
	top := m.read
	if l.Op != "R" {
		top = m.write
	}
	top *= min(4, 16384/float64(l.Block))
	if l.Pattern == "SEQ" {
		top *= 1.3
	}
	alone := m.alone * (1 + float64(l.Block)/262144)
	if l.Durable {
		top, alone = top/6, m.sync
	}
	if isMixed {
		top, alone = top*0.7, alone*1.6
	}
	n := float64(l.Q * l.T)
	want := n * 1e6 / alone
	iops := want / math.Pow(1+math.Pow(want/top, 4), 0.25) * math.Exp(0.008*random.NormFloat64())
	wait := n / iops * 1e6
	var series []float64
	for w := range windows {
		v := iops * math.Exp(0.10*random.NormFloat64())
		if windows > 400 && w%180 > 170 {
			v *= 0.55 // it tidies up
		}
		series = append(series, math.Round(v))
	}
	spread := 0.25 + 0.5*min(want/top, 1.5)
	h := lognormal(wait, spread, uint64(iops*float64(windows)*x.Series.Window))
	lat := result.LatencyOf(h, float64(h[0][0]), wait*1000, float64(h[len(h)-1][0]))
	sample := result.Sample{Seq: seq, Round: len(x.Samples) + 1, IOPS: iops, MBps: iops * float64(l.Block) / 1e6, Lat: lat, Series: series, Check: result.Check{Of: "nvme0n1"}, Noise: result.Disturbance{CPU: 0.004, IO: 0.002}}
	var writes stat.Histogram
	if l.Durable {
		writes = lognormal(wait/20, 0.3, h.Count())
		w := result.LatencyOf(writes, 1, wait/20*1000, wait*1000)
		sample.WriteLat = &w
	}
	x.Add(sample, h, writes, 0.05)
}

// lognormal is a histogram of about n times whose median is near middle microseconds, one in a thousand ten times as long.
func lognormal(middle, spread float64, n uint64) stat.Histogram {
	var h stat.Histogram
	for us := middle / 8; us < middle*60; us *= 1.03 {
		z := math.Log(us/middle) / spread
		tail := math.Log(us/middle/10) / 0.5
		part := 0.03/spread*math.Exp(-z*z/2)/2.507 + 0.001*0.03/0.5*math.Exp(-tail*tail/2)/2.507
		if count := uint64(part * float64(n)); count > 0 {
			h = append(h, stat.Bucket{uint64(us * 1000), count})
		}
	}
	if len(h) == 0 {
		h = stat.Histogram{{uint64(middle * 1000), 1}}
	}
	return h
}

// benchPageOf is the whole page of some results.
func benchPageOf(benches ...Bench) (string, error) {
	var b strings.Builder
	err := NewBenchDocument(benches).WriteHTML(&b)
	return b.String(), err
}
