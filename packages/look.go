package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"stowage/packages/pin"
)

// Report is what Look has found. It changes nothing and may be out of date a moment later.
type Report struct {
	// Set are the packages that go to another version, or stay: those that are named, and those that were built from the same source.
	Set []Change `json:"set"`
	// New are packages that come along and are not installed yet.
	New []string `json:"new,omitempty"`
	// Servers run here now: all must be stopped before Install.
	Servers []Process `json:"servers,omitempty"`
	// Faults keep the packages from being installed.
	Faults []Fault `json:"faults,omitempty"`
}

// Change is one package, and its versions.
type Change struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Fault is what keeps packages from being installed, and what to do about it.
type Fault struct {
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
}

// Goal are the packages as they are to be, Before as they are.
func (r Report) Goal() (out []pin.Pin) {
	for _, c := range r.Set {
		out = append(out, pin.Pin{Name: c.Name, Version: c.To})
	}
	return out
}

// Before: see Goal.
func (r Report) Before() (out []pin.Pin) {
	for _, c := range r.Set {
		out = append(out, pin.Pin{Name: c.Name, Version: c.From})
	}
	return out
}

// IsDone reports whether every package has its version already.
func (r Report) IsDone() bool {
	return !slices.ContainsFunc(r.Set, func(c Change) bool { return c.From != c.To })
}

// Encode is the report as ReadReport reads it.
func (r Report) Encode() string {
	raw, _ := json.Marshal(r) // strings and numbers always encode
	return string(raw)
}

// ReadReport reads what Look of another program has printed, which may be of another version.
func ReadReport(text string) (Report, error) {
	var r Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("read report about packages: %w", err)
	}
	for _, p := range append(r.Goal(), r.Before()...) {
		if wrong := pin.Fault(p.Name, p.Version); wrong != "" {
			return r, fmt.Errorf("read report about packages: %s", wrong)
		}
	}
	return r, nil
}

// look is a Look that is under way.
type look struct {
	*Apt
	ctx     context.Context
	pins    []pin.Pin
	wayBack bool
	sockets []string
	have    map[string]installed
	older   bool // a package goes to an older version
	Report
}

func (l *look) fault(remedy, format string, args ...any) {
	l.Faults = append(l.Faults, Fault{fmt.Sprintf(format, args...), remedy})
}

// questions are asked in this order, all of them: the first that need no package lists, the simulations last, and only where nothing else was found.
var questions = []func(*look) error{(*look).askSet, (*look).askSource, (*look).askHolds, (*look).askDpkg, (*look).askVersions, (*look).askOffered, (*look).askRoom, (*look).askLogin, (*look).simulate, (*look).simulateBack}

// Look says what installing packages of these versions would do here, and what keeps it from being done. With wayBack the versions of now must be to be had, too, and apt must find a way from there to here. Servers at sockets must
// let mariadb-upgrade in.
func (a *Apt) Look(ctx context.Context, pins []pin.Pin, wayBack bool, sockets []string) (Report, error) {
	l := &look{Apt: a, ctx: ctx, pins: pins, wayBack: wayBack, sockets: sockets}
	if missing := Missing(); missing != "" {
		l.fault("install them by a command of your own: docs/guide/roll.md", "%s", missing)
		return l.Report, nil
	}
	if os.Geteuid() != 0 {
		l.fault("let the agent run as root", "the agent runs as uid %d, and only root installs packages", os.Geteuid())
		return l.Report, nil
	}
	var err error
	if l.have, err = a.have(ctx); err != nil {
		return l.Report, err
	}
	for _, ask := range questions {
		if err := ask(l); err != nil {
			return l.Report, err
		}
	}
	l.Servers = servers()
	return l.Report, nil
}

// askSet: what is named is installed; what was built from the same source goes with it, for packages of one source check each other's version.
func (l *look) askSet() error {
	to, named := map[string]string{}, map[string]string{} // named is by source
	for _, p := range l.pins {
		is, ok := l.have[p.Name]
		if !ok {
			l.fault("take it out of the playbook, or install it first", "package %s is not installed: a step brings packages that are there to another version", p.Name)
			continue
		}
		if was := named[is.source]; was != "" && was != p.Version {
			l.fault("give them one version", "packages of source %s are to have versions %s and %s", is.source, was, p.Version)
		}
		to[p.Name], named[is.source] = p.Version, p.Version
	}
	for name, is := range l.have {
		if v := named[is.source]; v != "" && to[name] == "" {
			to[name] = v
		}
	}
	for _, p := range pin.Of(to) {
		l.Set = append(l.Set, Change{p.Name, l.have[p.Name].version, p.Version})
	}
	return nil
}

// askSource: packages of one source have one version now, too. Where they have not, somebody has left an installation half done, and nobody knows what the way back would be.
func (l *look) askSource() error {
	is := map[string]string{}
	for _, c := range l.Set {
		source := l.have[c.Name].source
		if was := is[source]; was != "" && was != c.From {
			l.fault("bring them to one version by hand first", "packages of source %s have different versions now: %s is %s, others are %s", source, c.Name, c.From, was)
			return nil
		}
		is[source] = c.From
	}
	return nil
}

func (l *look) askHolds() error {
	text, err := l.ask(l.ctx, "/usr/bin/apt-mark", "showhold")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(text) {
		if slices.ContainsFunc(l.Set, func(c Change) bool { return c.Name == name }) {
			l.fault("ask who holds it and why; then: apt-mark unhold "+name, "package %s is on hold", name)
		}
	}
	return nil
}

// askDpkg: every package is whole, and nobody is at work.
func (l *look) askDpkg() error {
	text, err := l.ask(l.ctx, "/usr/bin/dpkg", "--audit")
	if text = strings.TrimSpace(text); err != nil && text == "" {
		return err
	}
	if text != "" {
		l.fault("dpkg --audit says more; often helps: dpkg --configure -a", "packages of this host are half installed: %s", firstLine(text))
	}
	by, err := lockedBy()
	if err != nil {
		return err
	}
	if by != 0 {
		l.fault("wait until it has ended: unattended-upgrades, or a person?", "process %d holds the lock of dpkg", by)
	}
	if ours, _, err := policyIsOurs(); err != nil || ours {
		l.fault("stowage agent packages settle, on the host", "%s is still that of an earlier installation (%v)", policyFile, err)
	}
	return nil
}

// askVersions: within a series a server starts on files that another version of it has written, most often; backwards across one it does not.
func (l *look) askVersions() error {
	for _, c := range l.Set {
		older, err := l.isNewer(l.ctx, c.From, c.To)
		if err != nil {
			return err
		}
		l.older = l.older || older
		switch same := pin.Series(c.From) == pin.Series(c.To); {
		case same:
		case older:
			l.fault("rebuild the servers on a host that has the older series: stowage move instance", "%s would go from %s back to %s: a server does not start on files of a newer series", c.Name, c.From, c.To)
			return nil
		case l.wayBack:
			l.fault("way_back: none, and be ready to rebuild: stowage move instance", "%s goes from series %s to %s, and there is no way back across a series", c.Name, pin.Series(c.From), pin.Series(c.To))
			return nil
		}
	}
	return nil
}

// askOffered: apt can have each version, and for the way back that of now.
func (l *look) askOffered() error {
	if len(l.Set) == 0 {
		return nil
	}
	args := []string{"madison"}
	for _, c := range l.Set {
		args = append(args, c.Name)
	}
	text, err := l.ask(l.ctx, "/usr/bin/apt-cache", args...)
	if err != nil {
		return err
	}
	offered := map[string][]string{}
	for line := range strings.Lines(text) {
		f := strings.Split(line, "|")
		if len(f) == 3 && strings.HasSuffix(strings.TrimSpace(f[2]), "Packages") {
			name := strings.TrimSpace(f[0])
			offered[name] = append(offered[name], strings.TrimSpace(f[1]))
		}
	}
	for _, c := range l.Set {
		if c.From != c.To && !slices.Contains(offered[c.Name], c.To) {
			l.fault("apt-get update on the host, or correct the version", "apt has no %s of version %s; it has: %s", c.Name, c.To, orNone(offered[c.Name]))
		}
		if l.wayBack && c.From != c.To && !slices.Contains(offered[c.Name], c.From) {
			l.fault("give the host a source that still has it, or say way_back: none", "the way back needs %s of version %s, and apt has only: %s", c.Name, c.From, orNone(offered[c.Name]))
		}
	}
	return nil
}

func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// spare is what must be left on a file system besides: dpkg's database, logs.
const spare = 100 << 20

// askRoom: archives of both versions, and the files of a package beside those it replaces: dpkg unpacks all before it renames the first.
func (l *look) askRoom() error {
	if len(l.Faults) > 0 {
		return nil
	}
	var archives, files int64
	for _, c := range l.Set {
		for _, version := range []string{c.To, c.From} {
			if c.From == c.To || version == c.From && !l.wayBack {
				continue
			}
			text, err := l.ask(l.ctx, "/usr/bin/apt-cache", "show", "--no-all-versions", c.Name+"="+version)
			if err != nil {
				return err
			}
			archives += field(text, "Size")
			files += field(text, "Installed-Size") << 10
		}
	}
	need := map[string]int64{"/var/cache/apt/archives": archives, "/usr": files}
	left := map[uint64]int64{} // by device
	for _, dir := range []string{"/var/cache/apt/archives", "/usr"} {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if err := unix.Statfs(dir, &fs); err != nil {
			return fmt.Errorf("look at free space of %s: %w", dir, err)
		}
		if err := unix.Stat(dir, &st); err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		if _, known := left[st.Dev]; !known {
			left[st.Dev] = int64(fs.Bavail)*fs.Bsize - spare
		}
		if left[st.Dev] -= need[dir]; left[st.Dev] < 0 {
			l.fault("make room there; apt-get clean removes archives", "the file system of %s lacks %d MB for the packages", dir, -left[st.Dev]>>20+1)
		}
	}
	return nil
}

// field is a number of a package's description; 0 where there is none.
func field(text, name string) int64 {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// simulate lets apt say what it would do. It may bring new packages along; it changes or removes none but those of the set.
func (l *look) simulate() error {
	if len(l.Faults) > 0 || l.IsDone() {
		return nil
	}
	text, err := l.ask(l.ctx, "/usr/bin/apt-get", append([]string{"-s", "-o", "Debug::NoLocking=true"}, installArgs(l.Goal())...)...)
	if err != nil {
		l.fault("try on the host: apt-get -s install", "apt cannot install them: %v", err)
		return nil
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "Inst" && f[0] != "Remv" {
			continue
		}
		name, _, _ := strings.Cut(f[1], ":")
		_, known := l.have[name]
		switch {
		case f[0] == "Remv":
			l.fault("look on the host: apt-get -s install; a step removes nothing", "apt would remove %s", name)
		case slices.ContainsFunc(l.Set, func(c Change) bool { return c.Name == name }):
		case known:
			l.fault("name it in the playbook with its version, or bring it there first", "apt would bring %s, which is not named, to another version as well: %s", name, strings.TrimSpace(line))
		default:
			l.New = append(l.New, name+"="+strings.Trim(f[2], "("))
		}
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
