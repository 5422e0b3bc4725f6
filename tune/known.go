package tune

import (
	"fmt"
	"strings"
)

// look gathers what a rule says of one subject after the other.
type look struct {
	Outcome
}

// see names a subject that the rule is about.
func (l *look) see(subject string) { l.Subjects = append(l.Subjects, subject) }

func (l *look) find(x Finding) { l.Findings = append(l.Findings, x) }

// lacks says that a subject cannot be judged, for something is missing.
func (l *look) lacks(subject, missing, get string) {
	l.NotKnown = append(l.NotKnown, NotKnown{Subject: subject, Missing: missing, Get: get})
}

// outcome is what all subjects come to; none says why there are none.
func (l *look) outcome(none string) Outcome {
	if len(l.Subjects) == 0 && len(l.Findings)+len(l.NotKnown) == 0 {
		return notApplicable(none)
	}
	return l.Outcome
}

// unanswered says that there is, or may be, a controller of which nothing is known.
func (l *look) unanswered(f *Facts) {
	if f.Unanswered != "" {
		l.lacks("RAID controller", f.Unanswered, "run its maker's tool as root (storcli, perccli, MegaCli, ssacli, arcconf)")
	}
}

func (c Controller) name() string { return fmt.Sprintf("%s %d", c.Tool, c.Number) }

// askMedium and askCache are the commands that tell what a disk is made of and
// whether its cache is on.
func (d Disk) askMedium() string {
	if d.RAID() {
		return "ask its RAID controller's tool for the drives"
	}
	return "smartctl -i /dev/" + d.Name + " as root (Debian: smartmontools)"
}

func (d Disk) askCache() string {
	if strings.HasPrefix(d.Name, "nvme") {
		return "nvme id-ctrl /dev/" + d.Name + " as root (Debian: nvme-cli)"
	}
	return "hdparm -W /dev/" + d.Name + " as root (Debian: hdparm)"
}
