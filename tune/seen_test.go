package tune_test

import (
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/tune"
)

// seenRules judge facts that a test can turn: a setting of the machine, a setting of each disk, and options in a file.
func seenRules() []tune.Rule {
	return []tune.Rule{
		{ID: "T-SWAP", Check: func(f *tune.Facts) tune.Outcome {
			switch f.Sys["vm.swappiness"] {
			case "":
				return tune.Outcome{NotApplicable: "it could not be read"}
			case "60":
				return tune.Outcome{Findings: []tune.Finding{{Severity: farm.Warning, Subject: "vm.swappiness", Verdict: "it swaps"}}}
			}
			return tune.Outcome{}
		}},
		{ID: "T-DISK", Check: func(f *tune.Facts) (out tune.Outcome) {
			for _, d := range f.Disks {
				switch d.Queue["scheduler"] {
				case "":
					out.NotKnown = append(out.NotKnown, tune.NotKnown{Subject: d.Name, Missing: "its scheduler"})
				case "bad":
					out.Findings = append(out.Findings, tune.Finding{Severity: farm.Note, Subject: d.Name, Verdict: "a bad scheduler"})
				}
				out.Subjects = append(out.Subjects, d.Name)
			}
			return out
		}},
		{ID: "T-FILE", Check: func(f *tune.Facts) (out tune.Outcome) {
			for _, l := range f.Lines {
				out.Findings = append(out.Findings, tune.Finding{Severity: farm.Note, Subject: l.File, Verdict: "an old option",
					Option: &tune.Change{Instance: "p1a", Variable: "old_option"}})
			}
			return out
		}},
		{ID: "T-LOAD", Passing: true, Check: func(f *tune.Facts) tune.Outcome {
			if f.CPU == nil {
				return tune.Outcome{}
			}
			return tune.Outcome{Findings: []tune.Finding{{Severity: farm.Warning, Subject: "processors", Verdict: "it waits"}}}
		}},
	}
}

func seen(sys string, disks map[string]string, lines ...string) tune.Seen {
	f := &tune.Facts{Sys: map[string]string{"vm.swappiness": sys}}
	for _, name := range []string{"sda", "sdb"} {
		if s, there := disks[name]; there {
			f.Disks = append(f.Disks, tune.Disk{Name: name, Queue: map[string]string{"scheduler": s}})
		}
	}
	for _, l := range lines {
		f.Lines = append(f.Lines, tune.Line{File: l})
	}
	return tune.See(f, tune.Lasting(seenRules()))
}

// A finding is new where its subject was judged before and followed the advice; everything else is not known to be a difference.
func TestFindingsThatDiffer(t *testing.T) {
	type disks = map[string]string
	good := disks{"sda": "good"}
	for name, x := range map[string]struct {
		before, now tune.Seen
		fresh, gone string
	}{
		"nothing changed":                        {seen("60", disks{"sda": "bad"}, "/etc/my.cnf:3"), seen("60", disks{"sda": "bad"}, "/etc/my.cnf:3"), "", ""},
		"a kernel swaps again":                   {seen("1", good), seen("60", good), "T-SWAP vm.swappiness", ""},
		"and was taught not to":                  {seen("60", good), seen("1", good), "", "T-SWAP vm.swappiness"},
		"nobody could read it before":            {seen("", good), seen("60", good), "", ""},
		"nobody can read it now":                 {seen("60", good), seen("", good), "", ""},
		"a scheduler was lost":                   {seen("1", good), seen("1", disks{"sda": "bad"}), "T-DISK sda", ""},
		"one that was not known is bad":          {seen("1", disks{"sda": ""}), seen("1", disks{"sda": "bad"}), "", ""},
		"one that was bad is not known":          {seen("1", disks{"sda": "bad"}), seen("1", disks{"sda": ""}), "", ""},
		"the other one was not known":            {seen("1", disks{"sda": "good", "sdb": ""}), seen("1", disks{"sda": "bad", "sdb": ""}), "T-DISK sda", ""},
		"a disk that was not there is bad":       {seen("1", good), seen("1", disks{"sda": "good", "sdb": "bad"}), "", ""},
		"a disk that was bad is not there":       {seen("1", disks{"sda": "good", "sdb": "bad"}), seen("1", good), "", ""},
		"lines above it move a line":             {seen("1", good, "/etc/my.cnf:3"), seen("1", good, "/etc/my.cnf:9"), "", ""},
		"a second line of the same file":         {seen("1", good, "/etc/my.cnf:3"), seen("1", good, "/etc/my.cnf:9", "/etc/my.cnf:12"), "T-FILE /etc/my.cnf:12", ""},
		"a line of another file, and one's gone": {seen("1", good, "/etc/my.cnf:3"), seen("1", good, "/etc/you.cnf:3"), "T-FILE /etc/you.cnf:3", "T-FILE /etc/my.cnf:3"},
	} {
		fresh, gone := tune.Differ(x.before, x.now)
		if got := words(fresh); got != x.fresh {
			t.Errorf("%s: new %q, want %q", name, got, x.fresh)
		}
		if got := words(gone); got != x.gone {
			t.Errorf("%s: gone %q, want %q", name, got, x.gone)
		}
	}
}

func words(fs []tune.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, f.ID+" "+f.Subject)
	}
	return strings.Join(out, ", ")
}

// What comes and goes with load is not compared, and a finding knows which variable it is about.
func TestFindingsThatAreCompared(t *testing.T) {
	f := &tune.Facts{CPU: &tune.CPUTime{}, Lines: []tune.Line{{File: "/etc/my.cnf:3"}}, Sys: map[string]string{"vm.swappiness": "1"}}
	s := tune.See(f, tune.Lasting(seenRules()))
	if got := words(s.Findings); got != "T-FILE /etc/my.cnf:3" {
		t.Fatalf("compared: %q", got)
	}
	if x := s.Findings[0]; !x.Sets([]string{"version", "old_option"}) || x.Sets([]string{"version"}) {
		t.Error("which variables it sets is not known")
	}
	passing := 0
	for _, r := range tune.Rules() {
		if r.Passing {
			passing++
		}
	}
	if n := len(tune.Lasting(tune.Rules())); passing == 0 || n+passing != len(tune.Rules()) {
		t.Errorf("%d rules are compared, %d are not", n, passing)
	}
}

// What others have on the machine is no matter: a server, and a filesystem on which none of these has a file.
func TestOnlyTheirFilesystemsConcernInstances(t *testing.T) {
	mount := func(dir string, options ...string) tune.Mount {
		return tune.Mount{Dir: dir, Type: "ext4", Options: options, Device: "/dev/x"}
	}
	for name, tt := range map[string]struct {
		mine tune.Instance
		want []string
	}{
		"its data":               {tune.Instance{Name: "mine", Datadir: "/data/mine"}, []string{"/data"}},
		"its log":                {tune.Instance{Name: "mine", Datadir: "/data/mine", Variables: map[string]string{"innodb_log_group_home_dir": "/theirs/redo"}}, []string{"/data", "/theirs"}},
		"nobody knows its files": {tune.Instance{Name: "mine"}, []string{"/data", "/theirs", "/gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &tune.Facts{Instances: []tune.Instance{tt.mine, {Name: "theirs", Datadir: "/theirs/x"}},
				Mounts: []tune.Mount{mount("/data"), mount("/theirs", "nobarrier")}, Fstab: []tune.FstabLine{{Number: 1, Mount: mount("/gone", "nobarrier")}}}
			f.Narrow([]string{"mine"})
			var got []string
			for _, m := range f.Mounts {
				got = append(got, m.Dir)
			}
			for _, l := range f.Fstab {
				got = append(got, l.Dir)
			}
			if !slices.Equal(got, tt.want) || len(f.Instances) != 1 || f.Instances[0].Name != "mine" {
				t.Errorf("%q and %d instances are left, want %q", got, len(f.Instances), tt.want)
			}
		})
	}
}
