package prove

import (
	"path"
	"slices"
	"strings"

	"stowage/tune"
)

// Trial is what is tried at once: one setting, on every disk below one directory, or
// on all processors.
type Trial struct {
	Rule      string        `json:"rule"`
	Subjects  []string      `json:"subjects"` // disks, processors
	Directory string        `json:"directory"`
	Step      string        `json:"step"` // of the storage benchmark
	Changes   []tune.Change `json:"changes"`
	// Options are those of a server that are tried on one of our own. Live are the same on the servers that run, which
	// are touched only to keep what helped; none where they were not asked.
	Options []tune.Change `json:"options,omitempty"`
	Live    []tune.Change `json:"live,omitempty"`
	Persist []string      `json:"persist"` // how each change lasts, for the case that it is kept
	Revert  []string      `json:"revert"`
}

// setting is what the changes of one trial have in common: "scheduler".
func (t Trial) setting() string {
	if len(t.Options) > 0 {
		return t.Options[0].Variable
	}
	return settingOf(t.Changes[0])
}

func settingOf(c tune.Change) string {
	if c.Path == "" {
		return c.Setting()
	}
	return path.Base(c.Path)
}

// Plan says what a proof of the rule tries: a trial for each directory and
// setting, in the order of the findings. dir is the directory that somebody
// named, with all links resolved; "" takes the one where the disk's data lies.
// No trial and no error: there is nothing to prove. farm.ErrRefused, with a hint:
// it cannot be proved.
func Plan(rule tune.Rule, findings []tune.Finding, facts *tune.Facts, dir string) ([]Trial, error) {
	if err := refuse(rule); err != nil {
		return nil, err
	}
	var out []Trial
	for _, f := range findings {
		if f.ID != rule.ID || f.Change == nil && (f.Option == nil || rule.Prove != ServerStep) {
			continue
		}
		if rule.Prove == ServerStep {
			if f.Option == nil {
				continue
			}
			home, err := serverHome(f, facts, dir)
			if err != nil {
				return nil, err
			}
			if home != "" {
				out = addServer(out, f, home)
			}
			continue
		}
		if path.Base(f.Change.Path) == "iostats" {
			return nil, refused(rule.ID, "with iostats off the kernel counts nothing, and a measurement that cannot be compared with its counts is none", "stowage tune --fix --rule "+rule.ID+": it is about seeing, not about speed")
		}
		home, err := homeOf(f, facts, dir)
		if err != nil {
			return nil, err
		}
		if home == "" {
			continue // about another disk
		}
		out = add(out, f, home)
	}
	return out, nil
}

// homeOf is the directory for a finding; "" when it is about a disk and dir is on
// others. What is about no disk is measured wherever commits are made.
func homeOf(f tune.Finding, facts *tune.Facts, dir string) (string, error) {
	if at := f.Change.Mount; at != "" {
		if dir != "" && facts.MountDir(dir) != at {
			return "", nil
		}
		if dir == "" {
			dir = at
		}
		return dir, nil
	}
	disk := f.Change.Disk()
	if dir != "" {
		if disk == "" || slices.Contains(facts.Below(dir), disk) {
			return dir, nil
		}
		return "", nil
	}
	homes, none, many := facts.Homes(disk), "no filesystem on "+disk+" is mounted, and devices are not written to", disk+" has several filesystems: "
	if disk == "" {
		homes, none, many = facts.DataHomes(), "no instance's data directory is known", "instances keep their data in several places: "
	}
	switch len(homes) {
	case 0:
		return "", refused(f.ID, none, "name a directory where data is kept: stowage tune --prove "+f.ID+" DIR")
	case 1:
		return homes[0], nil
	}
	return "", refused(f.ID, many+strings.Join(homes, ", "), "name a directory: stowage tune --prove "+f.ID+" "+homes[0])
}

// add puts the finding to a trial of the same setting in the same directory, or
// begins one.
func add(trials []Trial, f tune.Finding, home string) []Trial {
	i := slices.IndexFunc(trials, func(t Trial) bool {
		return t.Directory == home && t.Step == f.Prove && t.setting() == settingOf(*f.Change)
	})
	if i < 0 {
		trials = append(trials, Trial{Rule: f.ID, Directory: home, Step: f.Prove})
		i = len(trials) - 1
	}
	t := &trials[i]
	t.Subjects = append(t.Subjects, f.Subject)
	t.Changes = append(t.Changes, f.Changes()...)
	t.Persist = append(t.Persist, f.Persist)
	t.Revert = append(t.Revert, f.Revert)
	return trials
}

// serverHome is where a server of our own is run for a finding about an instance; "" when dir is on other disks than its data.
func serverHome(f tune.Finding, facts *tune.Facts, dir string) (string, error) {
	if dir != "" {
		if facts.KeepsIn(f.Option.Instance, dir) {
			return dir, nil
		}
		return "", nil
	}
	for _, i := range facts.Instances {
		if i.Name == f.Option.Instance && facts.MountDir(i.Datadir) != "" {
			return facts.MountDir(i.Datadir), nil
		}
	}
	return "", refused(f.ID, "where "+f.Option.Instance+" keeps its data is not known", "name a directory on the same disk: stowage tune --prove "+f.ID+" DIR")
}

// addServer puts an option to a trial of the same option and values, or begins one.
func addServer(trials []Trial, f tune.Finding, home string) []Trial {
	i := slices.IndexFunc(trials, func(t Trial) bool {
		o := t.Options[0]
		return t.Directory == home && o.Variable == f.Option.Variable && o.From == f.Option.From && o.To == f.Option.To
	})
	if i < 0 {
		trials = append(trials, Trial{Rule: f.ID, Directory: home, Step: ServerStep, Options: []tune.Change{*f.Option}, Changes: []tune.Change{}})
		i = len(trials) - 1
	}
	t := &trials[i]
	t.Subjects, t.Persist, t.Revert = append(t.Subjects, f.Subject), append(t.Persist, f.Persist), append(t.Revert, f.Revert)
	t.Live = append(t.Live, f.Changes()...)
	return trials
}
