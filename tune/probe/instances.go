package probe

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"stowage/tune"
)

// instances puts together what option files, processes and the servers
// themselves say. What belongs to one instance is known by its data directory.
func (p *prober) instances(servers []Server) {
	version := p.serverVersion()
	var found []tune.Instance
	for _, run := range p.processes() {
		i := tune.Instance{Process: &run.Process, Options: p.optionsOf(run.argv)}
		i.Datadir = lastOption(i.Options, "datadir")
		found = append(found, i)
	}
	if len(found) == 0 {
		found = p.configured()
	}
	for i := range found {
		found[i].Datadir = strings.TrimRight(found[i].Datadir, "/")
		if found[i].Datadir == "" {
			found[i].Datadir = "/var/lib/mysql" // both vendors' default in packages
		}
		if found[i].Name == "" {
			found[i].Name = nameOf(found[i].Datadir)
		}
		setVersion(&found[i], version)
	}
	for _, s := range servers {
		dir := strings.TrimRight(s.Variables["datadir"], "/")
		n := slices.IndexFunc(found, func(i tune.Instance) bool { return dir != "" && i.Datadir == dir })
		if n < 0 {
			found = append(found, tune.Instance{})
			n = len(found) - 1
		}
		i := &found[n]
		i.Name, i.Datadir, i.Variables, i.Status, i.Files = s.Name, dir, s.Variables, s.Status, s.Files
		setVersion(i, s.Variables["version"]+" "+s.Variables["version_comment"])
	}
	for i := range found {
		found[i].Options = readBy(found[i])
		found[i].AIO = p.asynchronous(found[i])
	}
	p.facts.Instances = found
}

func setVersion(i *tune.Instance, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	i.Version = tune.ParseVersion(text)
	i.Version.Text, _, _ = strings.Cut(i.Version.Text, " ")
	i.MariaDB = strings.Contains(strings.ToLower(text), "mariadb")
}

// serverVersion is the version of the installed server, with its vendor:
// "10.11.14-MariaDB-0+deb12u2".
func (p *prober) serverVersion() string {
	text, ok := p.command("mysqld-version.txt", []string{"mariadbd", "--version"}, []string{"mysqld", "--version"}, []string{"/usr/sbin/mysqld", "--version"})
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(text, "Ver ")
	return strings.TrimSpace(rest)
}

// configured are instances that only option files tell of: one for each group
// of its own ([mysqld1], [mariadbd.shard7]), or one for all.
func (p *prober) configured() []tune.Instance {
	lines := p.optionFiles(defaultFiles)
	var names []string
	for _, l := range lines {
		if name := instanceGroup(l.Group); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var out []tune.Instance
	for _, name := range names {
		out = append(out, tune.Instance{Name: name, Options: inGroups(lines, name)})
	}
	if shared := inGroups(lines, ""); len(out) == 0 && len(shared) > 0 {
		out = append(out, tune.Instance{Options: shared})
	}
	for i := range out {
		out[i].Datadir = lastOption(out[i].Options, "datadir")
	}
	return out
}

// recordedServers are those of instances/NAME.variables.txt, as
// `SHOW GLOBAL VARIABLES` prints them in a pipe; NAME.status.txt beside it.
func (p *prober) recordedServers() []Server {
	var out []Server
	for _, file := range p.list("/instances") {
		name, ok := strings.CutSuffix(file, ".variables.txt")
		if !ok {
			continue
		}
		s := Server{Name: name}
		text, _ := p.read("/instances/" + file)
		s.Variables = parseVariables(text)
		text, _ = p.read("/instances/" + name + ".status.txt")
		s.Status = parseVariables(text)
		text, _ = p.read("/instances/" + name + ".files.txt")
		s.Files = parseFiles(text)
		out = append(out, s)
	}
	return out
}

// Keep adds a server's answers to a recording, as recordedServers reads them.
func (t *Tree) Keep(s Server) {
	t.keep("/instances/"+s.Name+".variables.txt", variableText(s.Variables))
	t.keep("/instances/"+s.Name+".status.txt", variableText(s.Status))
	if len(s.Files) > 0 {
		var b strings.Builder
		for _, x := range s.Files {
			fmt.Fprintf(&b, "%d %d %s\n", x.Operations, x.Bytes, x.Path)
		}
		t.keep("/instances/"+s.Name+".files.txt", b.String())
	}
}

// parseFiles reads lines of operations, bytes and a path.
func parseFiles(text string) (out []tune.FileUse) {
	for l := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(l), " ", 3)
		if len(f) != 3 {
			continue
		}
		operations, err := strconv.ParseUint(f[0], 10, 64)
		size, err2 := strconv.ParseUint(f[1], 10, 64)
		if err == nil && err2 == nil && operations < 1<<50 {
			out = append(out, tune.FileUse{Path: f[2], Operations: operations, Bytes: size})
		}
	}
	return out
}

func variableText(m map[string]string) string {
	var lines []string
	for k, v := range m {
		if !strings.Contains(v, "\n") {
			lines = append(lines, k+"\t"+v+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// parseVariables reads lines of a name, a tab or spaces, and a value.
func parseVariables(text string) map[string]string {
	out := map[string]string{}
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, "\r")
		if i := strings.IndexAny(l, "\t "); i > 0 {
			out[strings.ToLower(l[:i])] = strings.TrimSpace(l[i:])
		} else if l != "" {
			out[strings.ToLower(l)] = ""
		}
	}
	return out
}

// asynchronous finds in the error log how InnoDB waits for disks. The last
// start counts.
func (p *prober) asynchronous(i tune.Instance) string {
	name := i.Variables["log_error"]
	if name == "" {
		name = lastOption(i.Options, "log_error")
	}
	if name == "" || name == "stderr" {
		return ""
	}
	if !path.IsAbs(name) {
		name = path.Join(i.Datadir, name)
	}
	text, _ := p.tail(name, 1<<20)
	kind, line := "", ""
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.Contains(l, "Using io_uring"), strings.Contains(l, "Using liburing"):
			kind, line = "io_uring", l
		case strings.Contains(l, "Using Linux native AIO"):
			kind, line = "libaio", l
		}
	}
	if kind != "" {
		p.keep(name, line+"\n")
	}
	return kind
}

// nameOf is what an instance is called that nobody has named: the directory with its data, or the one above where that
// only says that it holds data.
func nameOf(datadir string) string {
	if path.Base(datadir) == "data" {
		datadir = path.Dir(datadir)
	}
	return path.Base(datadir)
}
