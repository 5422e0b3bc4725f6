package bench

import (
	"errors"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

func TestParseLoad(t *testing.T) {
	for id, want := range map[string]Load{
		"RND16K-RW70-Q4T4":  {Pattern: "RND", Block: 16 * kib, Op: "RW70", Q: 4, T: 4},
		"RND16K-W-FDS-Q1T1": {Pattern: "RND", Block: 16 * kib, Op: "W", Durable: true, Q: 1, T: 1},
		"LOG4K-FDS-Q1T16":   {Pattern: "LOG", Block: 4 * kib, Op: "W", Durable: true, Q: 1, T: 16},
		"SEQ1M-R-Q8T1":      {Pattern: "SEQ", Block: mib, Op: "R", Q: 8, T: 1},
	} {
		want.ID = id
		if got, err := ParseLoad(id); err != nil || got != want {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	for _, id := range []string{"", "RND16K", "RND3K-R-Q1T1", "RND16K-R-FDS-Q1T1", "LOG4K-W-Q1T1", "LOG4M-FDS-Q1T1", "RND16K-R-Q0T1", "RND16K-R-Q1T1000", "RND16K-R-Q1T1 ", "RND99999999999999999999K-R-Q1T1"} {
		if got, err := ParseLoad(id); !errors.Is(err, farm.ErrInput) || farm.Hint(err) == "" {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}

// TestProfiles: every step of every profile can be distinguished and asked for by name, and has an answer.
func TestProfiles(t *testing.T) {
	for _, p := range []Profile{Quick(), Full()} {
		seen := map[string]bool{}
		for _, s := range p.Steps {
			if seen[s.ID] || s.Answers == "" {
				t.Errorf("%s has %q twice, or it answers nothing", p.Name, s.ID)
			}
			seen[s.ID] = true
			if got, err := ParseStep(strings.ToLower(s.ID), Quick()); err != nil || got.Load != s.Load || got.Share != s.Share {
				t.Errorf("%s cannot be asked for: %+v, %v", s.ID, got, err)
			}
		}
	}
	if _, length, _ := Quick().Estimate(); length+Quick().LayoutLimit > 2*time.Minute+10*time.Second {
		t.Errorf("the quick profile takes %v", length)
	}
	p := Quick()
	if err := p.Only([]string{"MIX-50"}); !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "MIX,MIX-50") {
		t.Errorf("a part of a ceiling that is not measured: %v", err)
	}
}

func TestJobFile(t *testing.T) {
	f := files{data: 64 * mib, log: 8 * mib}
	s, err := ParseStep("MIX-50", Full())
	if err != nil {
		t.Fatal(err)
	}
	s.Beside.Rate = 1000
	got := jobFile(s, f, "io_uring", 1500*time.Millisecond, 7, true)
	for _, want := range []string{
		"direct=1\n", "runtime=1500ms\n", "refill_buffers=1\n", "allow_file_create=0\n", "thread=1\n",
		"[MIX-50]\nioengine=psync\nrw=write\nbs=4096\niodepth=1\nnumjobs=1\nfdatasync=1\nfilename=log\nsize=8388608\n",
		"[MIX-50/RND16K-RW70-Q4T4]\nnew_group=1\nioengine=io_uring\nrw=randrw\nrwmixread=70\nbs=16384\niodepth=4\nnumjobs=4\nrate_iops=175,75\nfilename=data\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the job lacks %q:\n%s", want, got)
		}
	}
	// Threads of a log write parts of it, not the same blocks.
	got = jobFile(Step{ID: "x", Load: mustLoad("LOG4K-FDS-Q1T4")}, f, "libaio", time.Second, 7, false)
	if !strings.Contains(got, "size=2097152\noffset_increment=2097152\n") || strings.Contains(got, "write_iops_log") {
		t.Errorf("a log of four threads:\n%s", got)
	}
}
