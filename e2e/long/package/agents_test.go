package packaged

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	farmDir = "/srv/farm"
	in      = "stowage -C " + farmDir + " "
)

// agents are those of a farm whose hosts are all in one root. The first runs the very command of the unit; the others have directories of their own.
type agents struct {
	root  *cleanRoot
	hosts []string
	runs  []*background
}

// hostLine finds hosts and their addresses in farm.yaml.
var hostLine = regexp.MustCompile(`name: ((?:db|ssd)\d+), type: \S+, address: ([0-9.]+)`)

// farmWithAgents makes a farm of the demo one whose hosts have agents, each started by what the package's unit says.
func (r *cleanRoot) farmWithAgents() *agents {
	r.t.Helper()
	r.must("stowage demo up --pairs 2 --shards 2 --hosts 2 --dir " + farmDir)
	r.must("cd " + farmDir + " && sed -Ei 's#(dir|datadir|config): \"?hosts/#\\1: " + farmDir + "/hosts/#g' farm.yaml && echo 'agents: {engine: \"127.0.0.1:7233\"}' >>farm.yaml")
	r.must(in + "agent certs")
	f := &agents{root: r}
	for _, h := range hostLine.FindAllStringSubmatch(r.must("cat "+farmDir+"/farm.yaml"), -1) {
		f.start(h[1], h[2])
	}
	if len(f.hosts) != 6 {
		r.t.Fatalf("hosts %v in\n%s", f.hosts, r.must("cat "+farmDir+"/farm.yaml"))
	}
	f.areAll(now)
	return f
}

// start sets a host up as docs/guide/agents.md says, and runs the unit's command as systemd does: again whenever it ends.
func (f *agents) start(host, address string) {
	r, suffix := f.root, ""
	r.t.Helper()
	if len(f.hosts) > 0 {
		suffix = "-" + host
	}
	r.must(fmt.Sprintf("cp -a %s/.stowage/certificates/hosts/%s /etc/stowage/certificates%s && mkdir -p -m 700 /var/lib/stowage-agent%[3]s /run/agents", farmDir, host, suffix))
	env := fmt.Sprintf("STOWAGE_HOST=%s\nSTOWAGE_ENGINE=127.0.0.1:7233\nSTOWAGE_LISTEN=%s:7234\nSTOWAGE_FLAGS=\n", host, address)
	r.write(env, "/etc/stowage/agent.env"+suffix, 0o644)
	command := f.unitCommand()
	for _, place := range []string{"/etc/stowage/certificates", "/var/lib/stowage-agent"} {
		if !strings.Contains(command, place) {
			r.t.Fatalf("the unit's command does not name %s: %s", place, command)
		}
		command = strings.ReplaceAll(command, place, place+suffix)
	}
	f.hosts = append(f.hosts, host)
	f.runs = append(f.runs, r.start("agent-"+host, fmt.Sprintf(`sh -c 'set -a; . /etc/stowage/agent.env%s; while test -d /run/agents; do %s & echo $! >/run/agents/%s.pid; wait $!; sleep 1; done'`, suffix, command, host)))
}

// unitCommand is ExecStart of the installed unit. A shell reads its variables as systemd does, as long as no value has blanks.
func (f *agents) unitCommand() string {
	f.root.t.Helper()
	unit := f.root.must("cat /usr/lib/systemd/system/stowage-agent.service")
	for line := range strings.Lines(unit) {
		if command, ok := strings.CutPrefix(line, "ExecStart="); ok {
			return strings.TrimSpace(command)
		}
	}
	f.root.t.Fatalf("no ExecStart in\n%s", unit)
	return ""
}

// areAll waits until every agent answers as of a version.
func (f *agents) areAll(version string) {
	f.root.t.Helper()
	f.root.until(fmt.Sprintf("test $(%sagent status --json | grep -c '\"version\": \"%s+') = %d", in, version, len(f.hosts)))
}

// stopped waits until no agent runs.
func (f *agents) stopped() {
	f.root.t.Helper()
	for _, a := range f.runs {
		a.ended()
	}
	f.root.must("test -z \"$(cat /proc/[0-9]*/comm | grep '^stowage')\"")
}
