package farmtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/demo"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/workspace"
)

// Way is how a machine's owner starts its servers.
type Way string

// The ways that are in use where Stowage did not make a farm.
const (
	ByMulti  Way = "mysqld_multi" // one file, [mysqld1] and so on
	BySuffix Way = "mariadb@"     // one file, [mysqld.NAME], as the unit mariadb@.service does
	AsDebian Way = "debian"       // my.cnf is a link, the options stand in include directories
)

// Machine is where instances live that one person starts.
type Machine struct {
	Name      string
	Way       Way
	Instances []farm.InstanceName // one, of AsDebian
}

// Foreign is a farm whose servers other means than Stowage's start, with option
// files that are no instance's own.
type Foreign struct {
	*LiveFarm
	Places map[farm.InstanceName]host.Instance // where each was at first
	starts map[farm.InstanceName][]string
	local  *host.Local
	asThey *syscall.Credential
	was    map[string]string // every option file, as Files
}

// RaiseForeign is a demo's farm, handed to owners who start its servers in
// their own ways; those of no machine stay as they are. Clients do not write yet.
func RaiseForeign(t *testing.T, o demo.Options, rate float64, machines ...Machine) *Foreign {
	t.Helper()
	f := &Foreign{LiveFarm: EmptyFarm(t, "r630-ssd", rate), Places: map[farm.InstanceName]host.Instance{}, starts: map[farm.InstanceName][]string{}}
	t.Cleanup(f.Down)
	o.Dir, o.Tell = f.Dir, func(string) {}
	if err := demo.Up(t.Context(), o, QuietLog()); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.local, err = host.NewLocal(QuietLog()); err != nil {
		t.Fatal(err)
	}
	if u, err := user.Lookup(host.ServerUser); err == nil && os.Geteuid() == 0 {
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		f.asThey = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	for _, m := range machines {
		f.take(m)
	}
	f.was = f.Files()
	return f
}

// take stops the servers of a machine and starts them as their owner does.
func (f *Foreign) take(m Machine) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	f.ok(err)
	dir := filepath.Join(f.Dir, "machines", m.Name)
	f.ok(os.MkdirAll(dir, 0o755))
	var options []string
	for _, name := range m.Instances {
		pair, side := sideOf(fm, name)
		i := f.At(name, PlaceOf(fm, pair, side))
		text, err := os.ReadFile(i.Config)
		f.ok(err)
		_, own, _ := strings.Cut(string(text), "]\n")
		options = append(options, own)
		f.ok(f.local.Stop(f.T.Context(), i, time.Minute))
		f.Places[name] = i
	}
	var config string
	var suffixes []string
	if m.Way == AsDebian {
		config, suffixes = f.debian(dir, options[0]), []string{""}
	} else {
		config, suffixes = f.together(dir, m, options)
	}
	w, err := workspace.Open(f.Dir)
	f.ok(err)
	for n, name := range m.Instances {
		i := f.Places[name]
		i.Config, i.GroupSuffix = config, suffixes[n]
		f.Places[name] = i
		f.starts[name] = f.startOf(m, config, suffixes[n])
		f.StartAsOwner(name)
		pair, side := sideOf(fm, name)
		p, _ := fm.Pair(pair)
		s := p.Sides[side]
		s.Config, s.GroupSuffix = config, suffixes[n]
		f.ok(w.EditFarm(func(e *workspace.Edit) error { e.SetSide(pair, side, s); return nil }))
	}
}

func (f *Foreign) startOf(m Machine, config, suffix string) []string {
	switch m.Way {
	case ByMulti:
		return []string{"mysqld_multi", "--defaults-file=" + config, "start", suffix}
	case BySuffix:
		return []string{"/usr/sbin/mariadbd", "--defaults-file=" + config, "--defaults-group-suffix=" + suffix}
	}
	return []string{"/usr/sbin/mariadbd", "--defaults-file=" + config}
}

// together is one file for all instances of a machine; what all have stands in
// [mysqld]. Its last line has no end, as people write them.
func (f *Foreign) together(dir string, m Machine, options []string) (config string, suffixes []string) {
	config = filepath.Join(dir, "my.cnf")
	var common []string
	for _, line := range strings.Split(options[0], "\n") {
		if line != "" && !slices.ContainsFunc(options, func(o string) bool { return !slices.Contains(strings.Split(o, "\n"), line) }) {
			common = append(common, line)
		}
	}
	text := "# Ours; ask the database group before you change it.\n"
	if m.Way == ByMulti { // it does not hand its --defaults-file on
		server := filepath.Join(dir, "server")
		f.ok(os.WriteFile(server, []byte("#!/bin/sh\nexec /usr/sbin/mariadbd --defaults-file="+config+" \"$@\"\n"), 0o755))
		log := filepath.Join(os.TempDir(), "mysqld_multi-"+filepath.Base(f.Dir)+"-"+m.Name+".log")
		f.T.Cleanup(func() { os.Remove(log) })
		text += "[mysqld_multi]\nmysqld = " + server + "\nlog = " + log + "\n"
	}
	if len(options) > 1 {
		text += "[mysqld]\n" + strings.Join(common, "\n") + "\n"
	}
	for n, o := range options {
		suffix := strconv.Itoa(n + 1)
		if m.Way == BySuffix {
			suffix = "." + string(m.Instances[n])
		}
		suffixes = append(suffixes, suffix)
		text += "\n[mysqld" + suffix + "]\n"
		for _, line := range strings.Split(o, "\n") {
			if line != "" && (len(options) == 1 || !slices.Contains(common, line)) {
				text += line + "\n"
			}
		}
	}
	f.ok(os.WriteFile(config, []byte(strings.TrimSuffix(text, "\n")), 0o644))
	return config, suffixes
}

// debian is my.cnf as the package has it: a link to a link, and directories.
func (f *Foreign) debian(dir, options string) (config string) {
	for _, d := range []string{"alternatives", "mysql/conf.d", "mysql/mariadb.conf.d"} {
		f.ok(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	lines := strings.SplitAfter(strings.TrimSpace(options), "\n")
	etc := filepath.Join(dir, "mysql")
	config = filepath.Join(etc, "my.cnf")
	for name, text := range map[string]string{
		"mariadb.cnf":                    "[client-server]\n# Port or socket location where to connect\n!includedir " + etc + "/conf.d/\n!includedir " + etc + "/mariadb.conf.d/\n",
		"mariadb.conf.d/50-server.cnf":   "[server]\n\n[mysqld]\n" + strings.Join(lines[:len(lines)/2], ""),
		"mariadb.conf.d/99-ours.cnf":     "[mariadb-10.11]\n" + strings.Join(lines[len(lines)/2:], "") + "\n",
		"conf.d/mysqldump.cnf":           "[mysqldump]\nquick\n",
		"mariadb.conf.d/60-old.cnf.save": "[mysqld]\nport = 1\n",
	} {
		f.ok(os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644))
	}
	f.ok(os.Symlink("../alternatives/my.cnf", config))
	f.ok(os.Symlink(filepath.Join(etc, "mariadb.cnf"), filepath.Join(dir, "alternatives/my.cnf")))
	if f.asThey != nil {
		f.ok(os.Chown(filepath.Join(etc, "mariadb.cnf"), 0, int(f.asThey.Gid)))
	}
	f.ok(os.Chmod(filepath.Join(etc, "mariadb.cnf"), 0o640))
	return config
}

// StartAsOwner starts a server as its owner does, and waits until it replicates
// or, where it has no source, answers.
func (f *Foreign) StartAsOwner(name farm.InstanceName) {
	f.T.Helper()
	argv := f.starts[name]
	f.launch(name)
	s := f.Server(name)
	defer s.Close()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := s.Replication(f.T.Context())
		if err == nil && (!r.Configured || r.Running()) {
			return
		}
		if time.Now().After(end) {
			f.T.Fatalf("%v: %s does not come up: %v %+v", argv, name, err, r)
		}
	}
}

// launch starts what starts a server. The channel is closed when that has ended.
func (f *Foreign) launch(name farm.InstanceName) <-chan struct{} {
	f.T.Helper()
	argv := f.starts[name]
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: f.asThey}
	f.ok(cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // what comes of it is seen by what follows
	return ended
}

// StaysRetired is somebody who starts a server that has retired, by mistake, as
// ever: it does not come up.
func (f *Foreign) StaysRetired(name farm.InstanceName) {
	f.T.Helper()
	select {
	case <-f.launch(name):
	case <-time.After(2 * time.Minute):
		f.T.Errorf("%s has retired, and runs", name)
	}
	// What mysqld_multi starts outlives it, and works nowhere for its first moments.
	i := f.Places[name]
	own := func(line string) bool {
		return strings.Contains(line+" ", "--defaults-group-suffix="+i.GroupSuffix+" ")
	}
	for end := time.Now().Add(2 * time.Minute); slices.ContainsFunc(ProcessesIn(i.Config), own) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if pid, err := f.local.Running(f.T.Context(), f.Places[name]); err != nil || pid != 0 {
		f.T.Errorf("%s has retired, and process %d runs (%v)", name, pid, err)
	}
}

// RestartAsOwner stops a server, as somebody does who knows nothing of Stowage,
// and starts it.
func (f *Foreign) RestartAsOwner(name farm.InstanceName) {
	f.T.Helper()
	f.ok(f.local.Stop(f.T.Context(), f.Places[name], time.Minute))
	f.StartAsOwner(name)
}

// Server is a server at its first place.
func (f *Foreign) Server(name farm.InstanceName) *mysql.Server {
	f.T.Helper()
	w, fm, _, err := FarmAccess(f.Dir)
	f.ok(err)
	as, err := mysql.ReadAccount(w.Path(fm.Accounts), "stowage")
	f.ok(err)
	return mysql.Open(name, f.Places[name].Dial(), as, QuietLog())
}

// Files are all files of the machines' owners: what each holds, or leads to,
// with owner, group and mode.
func (f *Foreign) Files() map[string]string {
	f.T.Helper()
	out := map[string]string{}
	f.ok(filepath.WalkDir(filepath.Join(f.Dir, "machines"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		what := fmt.Sprintf("%d:%d %v", st.Uid, st.Gid, info.Mode())
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " -> " + to
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += "\n" + string(text)
		}
		out[path] = what
		return nil
	}))
	return out
}

// FilesAreTheirs takes the files of the machines' owners, as they are now, for
// what they have to stay.
func (f *Foreign) FilesAreTheirs() { f.T.Helper(); f.was = f.Files() }

// CheckFiles holds all files of the machines' owners against what they were.
func (f *Foreign) CheckFiles() {
	f.T.Helper()
	is := f.Files()
	for path, was := range f.was {
		if is[path] != was {
			f.T.Errorf("%s became\n%s\nand was\n%s", path, is[path], was)
		}
	}
	for path := range is {
		if _, there := f.was[path]; !there {
			f.T.Errorf("%s was left behind", path)
		}
	}
}

// Edit changes the text of farm.yaml.
func (f *Foreign) Edit(old, is string) {
	f.T.Helper()
	path := f.Path("farm.yaml")
	text, err := os.ReadFile(path)
	f.ok(err)
	if !strings.Contains(string(text), old) {
		f.T.Fatalf("farm.yaml has no %q", old)
	}
	f.ok(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, is)), 0o644))
}

func (f *Foreign) ok(err error) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
}

func sideOf(fm *farm.Farm, name farm.InstanceName) (farm.PairName, farm.SideName) {
	for _, p := range fm.Pairs {
		for side := range p.Sides {
			if p.Instance(side) == name {
				return p.Name, side
			}
		}
	}
	return "", ""
}
