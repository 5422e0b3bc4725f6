package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// small is a matrix of which tests change a little.
func small() Matrix {
	return Matrix{
		Directory: "/srv", Loops: Loops{Count: 4, Size: 1 << 30}, Profile: "quick", Rounds: 3,
		Axes: Axes{
			Filesystem: []string{"xfs", "ext4"}, Mount: Options{"": {"noatime", "noatime,nobarrier"}}, Mkfs: Options{"xfs": {NoOptions, "-m reflink=0"}}, Size: []int64{64 << 20},
		},
	}
}

func names(cells []Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.Name)
	}
	return out
}

func TestCells(t *testing.T) {
	m := small()
	want := []string{
		"xfs mkfs defaults noatime", "xfs mkfs defaults noatime (A/A)", "xfs mkfs defaults noatime,nobarrier", "xfs mkfs -m reflink=0 noatime", "xfs mkfs -m reflink=0 noatime,nobarrier",
		"ext4 noatime", "ext4 noatime,nobarrier",
	}
	if got := names(m.Cells()); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	m.Exclude = []Pattern{{Filesystem: "xfs", Mount: "noatime,nobarrier"}, {Mkfs: "-m reflink=0"}}
	m.Named = []Cell{{Name: "by hand", Filesystem: "btrfs", Mkfs: NoOptions, Mount: NoOptions, RAID: "raid1", Size: 32 << 20}}
	want = []string{"xfs mkfs defaults noatime", "xfs mkfs defaults noatime (A/A)", "ext4 noatime", "ext4 noatime,nobarrier", "by hand"}
	if got := names(m.Cells()); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if c := m.Cells(); !c[1].Twin || c[0].Twin || !c[0].sameAs(c[1]) || len(m.Check()) > 0 {
		t.Errorf("%+v, %v", c[:2], m.Check())
	}
	m = small()
	m.Axes = Axes{Filesystem: []string{"btrfs"}, RAID: []string{Single, "raid10"}, Queue: []Queue{nil, {"scheduler": "bfq", "nomerges": "2"}}, Size: []int64{16 << 20, 1 << 30}}
	want = []string{
		"btrfs single queue defaults 16MiB", "btrfs single queue defaults 16MiB (A/A)", "btrfs single queue defaults 1GiB", "btrfs single nomerges=2,scheduler=bfq 16MiB",
		"btrfs single nomerges=2,scheduler=bfq 1GiB", "btrfs raid10 queue defaults 16MiB",
	}
	if got := names(m.Cells()); len(got) != 9 || !slices.Equal(got[:6], want) {
		t.Errorf("%q\nwant %q and three more", got, want)
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*Matrix){
		"directory: the directory":                          func(m *Matrix) { m.Directory = "" },
		"loops: what is measured is not said":               func(m *Matrix) { m.Loops = Loops{} },
		"devices: loops and devices are two ways":           func(m *Matrix) { m.Devices = []string{"a"} },
		"devices[1]: device a is there twice":               func(m *Matrix) { m.Loops, m.Devices = Loops{}, []string{"a", "a"} },
		"axes: no axis filesystem and no cells":             func(m *Matrix) { m.Axes = Axes{} },
		"axes: the size of the test file is not said":       func(m *Matrix) { m.Axes.Size = nil },
		`axes.filesystem[1]: no file system "zfs" is known`: func(m *Matrix) { m.Axes.Filesystem[1] = "zfs" },
		"axes.filesystem[1]: xfs is there twice":            func(m *Matrix) { m.Axes.Filesystem[1] = "xfs" },
		"axes.raid[0]: no RAID level \"raid5\"":             func(m *Matrix) { m.Axes.RAID = []string{"raid5"} },
		"axes.raid[0]: raid10 needs 4 devices":              func(m *Matrix) { m.Loops.Count, m.Axes.RAID = 2, []string{"raid10"} },
		"axes.raid[0]: raid10 needs an even number":         func(m *Matrix) { m.Loops.Count, m.Axes.RAID = 5, []string{"raid10"} },
		`axes.queue[0]: no queue setting "write_cache"`:     func(m *Matrix) { m.Axes.Queue = []Queue{{"write_cache": "write through"}} },
		`axes.queue[0]: scheduler wants a word`:             func(m *Matrix) { m.Axes.Queue = []Queue{{"scheduler": "../x"}} },
		"axes.size[0]: a test file of 1MiB is too small":    func(m *Matrix) { m.Axes.Size[0] = 1 << 20 },
		"axes: a test file of 1GiB does not fit into 1GiB":  func(m *Matrix) { m.Axes.Size[0] = 1 << 30 },
		"axes.mount[1]: mount options may hold":             func(m *Matrix) { m.Axes.Mount[""][1] = "logdev=/dev/sda" },
		"axes.mkfs.xfs[1]: mkfs options may not set a UUID": func(m *Matrix) { m.Axes.Mkfs["xfs"][1] = "-m uuid=7" },
		"axes.mkfs.zfs: no file system \"zfs\"":             func(m *Matrix) { m.Axes.Mkfs["zfs"] = []string{"x"} },
		"exclude[0]: this excludes no cell":                 func(m *Matrix) { m.Exclude = []Pattern{{Filesystem: "ext4", Mkfs: "-b 1024"}} },
		"exclude: every cell is excluded":                   func(m *Matrix) { m.Exclude = []Pattern{{}} },
		"baseline: no cell is called \"ext3\"":              func(m *Matrix) { m.Baseline = "ext3" },
		"cells[0]: a cell of its own needs a name":          func(m *Matrix) { m.Named = []Cell{{Filesystem: "xfs", RAID: Single, Size: 16 << 20}} },
		`cells[0]: "x" and "xfs mkfs defaults noatime" are the same`: func(m *Matrix) {
			m.Named = []Cell{{Name: "x", Filesystem: "xfs", Mkfs: NoOptions, Mount: "noatime", RAID: Single, Size: 64 << 20}}
		},
		"axes: 1200 cells are more than 1000": func(m *Matrix) {
			m.Axes = Axes{Filesystem: []string{"xfs", "ext4", "btrfs"}, Size: nil}
			for i := range 400 {
				m.Axes.Size = append(m.Axes.Size, int64(16+i)<<20)
			}
		},
	} {
		m := small()
		change(&m)
		var got []string
		for _, p := range m.Check() {
			got = append(got, p.String())
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestOrder: every cell once, the same for the same seed, and each cell first in about as many rounds as any other.
func TestOrder(t *testing.T) {
	first := map[int]int{}
	for round := 1; round <= 6000; round++ {
		o := Order(7, round, 6)
		if !slices.Equal(o, Order(7, round, 6)) {
			t.Fatal("not the same twice")
		}
		first[o[0]]++
		if slices.Sort(o); !slices.Equal(o, []int{0, 1, 2, 3, 4, 5}) {
			t.Fatalf("%v", o)
		}
	}
	for i := range 6 {
		if first[i] < 880 || first[i] > 1120 {
			t.Errorf("cell %d came first in %d of 6000 rounds", i, first[i])
		}
	}
}

func TestHours(t *testing.T) {
	m := small()
	p := m.Plan([]string{"MIX"}, func(c Cell) Visit { return Visit{Least: time.Minute, Most: time.Minute} })
	if want := "21 minutes (0.3 hours): 7 cells (one of them twice) x 3 rounds = 21 visits of 1 step"; p.Hours() != want {
		t.Errorf("%s\nwant %s", p.Hours(), want)
	}
	p = m.Plan([]string{"MIX"}, func(c Cell) Visit { return Visit{Least: time.Hour, Most: 2 * time.Hour} })
	if want := "21.0 hours: 7 cells (one of them twice) x 3 rounds = 21 visits of 1 step; up to 42.0 hours if"; !strings.HasPrefix(p.Hours(), want) {
		t.Errorf("%s\nwant %s", p.Hours(), want)
	}
	var text bytes.Buffer
	if err := WritePlan(&text, p); err != nil || !strings.HasPrefix(text.String(), p.Hours()) || !strings.Contains(text.String(), "xfs mkfs -m reflink=0 noatime ") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// measure gives a cell runs of given speeds.
func measure(c *Measured, speeds ...float64) {
	s := &result.Step{ID: "LOG4K-FDS-Q1T1", Answers: "commits", Op: "W", Pattern: "LOG", Outstanding: 1, Threads: 1, Durable: true}
	r := &result.Result{FormatVersion: result.FormatVersion, Settings: result.Settings{Target: 0.05}, Steps: []*result.Step{s}}
	r.Environment.Device = &result.Device{Name: "loop0", Queue: map[string]string{"write_cache": "write back"}}
	for i, v := range speeds {
		x := result.Sample{Seq: i + 1, Round: i + 1, IOPS: v, MBps: v * 4096 / 1e6, Lat: result.Latency{Mean: 1e6 / v, P99: 2e6 / v, Max: 3e6 / v}, Series: []float64{v, v, v}}
		x.Check = result.Check{Syncs: 100, Flushes: 100}
		if strings.Contains(c.Mount, "nobarrier") {
			x.Check.Flushes = 0
		}
		s.Add(x, stat.Histogram{{uint64(1e9 / v), 100}}, nil, 0.05)
	}
	c.Result, c.Rounds = r, len(speeds)
}

func whole() *Document {
	m := small()
	m.Exclude = []Pattern{{Mkfs: "-m reflink=0"}}
	d := New(m, 5)
	d.Ground = "ext4 on vda"
	for i, c := range d.Cells {
		switch {
		case c.Filesystem == "xfs" && strings.Contains(c.Mount, "nobarrier"):
			c.Refused = "mount refused: xfs: Unknown parameter 'nobarrier'"
		case strings.Contains(c.Mount, "nobarrier"):
			measure(c, 17000, 17100, 16900)
		default:
			measure(c, 1000+float64(i), 1004, 996)
		}
	}
	d.Judge()
	return d
}

func TestDocument(t *testing.T) {
	d := whole()
	if !d.Complete || d.Left() != 0 || d.Baseline != "xfs mkfs defaults noatime" || len(d.AA) != 1 || d.AA[0].Verdict != stat.Same {
		t.Fatalf("complete %v, %d left, baseline %q, A/A %+v", d.Complete, d.Left(), d.Baseline, d.AA)
	}
	verdicts := map[string]string{}
	for _, c := range d.Cells {
		verdicts[c.Name] = d.verdict(c, "LOG4K-FDS-Q1T1")
	}
	want := map[string]string{
		"xfs mkfs defaults noatime": "baseline", "xfs mkfs defaults noatime (A/A)": "same x1.00", "xfs mkfs defaults noatime,nobarrier": "-",
		"ext4 noatime": "same x1.00", "ext4 noatime,nobarrier": "better x17.00, p99 better x0.06",
	}
	if fmt.Sprint(verdicts) != fmt.Sprint(want) {
		t.Errorf("%v\nwant %v", verdicts, want)
	}
	var text bytes.Buffer
	if err := WriteText(&text, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Transfer/s  Requests/s  Avg/Request  95%/Request  99%/Request", "17000       0.06ms", "better x17.00, p99 better x0.06  NOT DURABLE",
		"xfs mkfs defaults noatime,nobarrier: mount refused: xfs: Unknown parameter 'nobarrier'.", "NOT DURABLE: ext4 noatime,nobarrier, LOG4K-FDS-Q1T1: 0.00 flushes",
		"A/A: LOG4K-FDS-Q1T1 of xfs mkfs defaults noatime and its twin: x1.000, same.", "the file system below (ext4 on vda)", "Quiet: nothing",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(raw)
	if err != nil || !IsDocument(raw) || IsDocument([]byte(`{"steps":[]}`)) {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("it does not read back as it was written: %v", err)
	}
}

// TestSurenessHasACap: as that of a bench has.
func TestSurenessHasACap(t *testing.T) {
	d := whole()
	measure(d.Cells[3], 10, 100_000)
	d.Judge()
	var text bytes.Buffer
	if err := WriteText(&text, d); err != nil || !strings.Contains(text.String(), " >1000% ") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestTwinsThatDiffer: what one cell differs from itself by is no verdict about another.
func TestTwinsThatDiffer(t *testing.T) {
	d := whole()
	measure(d.Cells[1], 1500, 1501, 1499)
	measure(d.Cells[3], 1500, 1501, 1499)
	d.Judge()
	if got := d.verdict(d.Cells[3], "LOG4K-FDS-Q1T1"); !strings.HasPrefix(got, "inconclusive") {
		t.Errorf("ext4 against a baseline that differs from itself as much: %s", got)
	}
	if d.AA[0].Verdict != stat.Better || !slices.ContainsFunc(d.Labels, func(s string) bool { return strings.Contains(s, "although they are the same") }) {
		t.Errorf("%+v %q", d.AA, d.Labels)
	}
}

func TestNextAndGoOn(t *testing.T) {
	d := whole()
	d.Cells[0].Rounds, d.Cells[4].Rounds = 1, 2
	var got []string
	for round := 1; round <= 3; round++ {
		for _, c := range d.Next(round) {
			got = append(got, fmt.Sprintf("%d %s", round, c.Name))
			c.Rounds = round
		}
	}
	want := []string{"2 xfs mkfs defaults noatime", "3 xfs mkfs defaults noatime", "3 ext4 noatime,nobarrier"}
	slices.Sort(got[1:])
	slices.Sort(want[1:])
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	more := d.Matrix
	more.Rounds, more.Baseline = 5, "ext4 noatime"
	if err := d.GoOn(more); err != nil {
		t.Errorf("more rounds: %v", err)
	}
	if d.TakeUp(more); d.Left() != 8 || d.Baseline != "ext4 noatime" {
		t.Errorf("%d left, baseline %s", d.Left(), d.Baseline)
	}
	other := small()
	if err := d.GoOn(other); err == nil {
		t.Error("another matrix continues with it")
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[]": "not a result", `{"kind":"matrix"}`: "format_version are missing", `{"kind":"matrix","format_version":9,"cells":[{"name":"a"}]}`: "format version 9",
		`{"kind":"matrix","format_version":1}`: "no cells", `{"kind":"matrix","format_version":1,"cells":[null]}`: "cell 1 has no name",
		`{"kind":"matrix","format_version":1,"cells":[{"name":"a"}]}`: "baseline", `{"kind":"matrix","format_version":1,"baseline":"a","cells":[{"name":"a","result":{"steps":[null]}}]}`: "step 1",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
