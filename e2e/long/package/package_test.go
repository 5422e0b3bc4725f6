package packaged

import (
	"strings"
	"testing"
)

// systemctl stands in for systemd, of which a clean root has none: it writes down what it is told, and restarts agents as systemd would. /run/systemd/system
// is where maintainer scripts look whether systemd runs.
const systemctl = `#!/bin/sh
echo "$@" >>/run/systemctl.log
case "$*" in
*is-enabled*) echo enabled ;;
*try-restart*stowage-agent* | *stop*stowage-agent*)
	for pid in /run/agents/*.pid; do
		test ! -e "$pid" || kill -TERM "$(cat "$pid")" || true
	done
	case "$*" in *stop*) rm -rf /run/agents ;; esac
	;;
esac
`

// installToPurge is the way of a package through a machine: installed, used as the docs say, upgraded in the middle of a move with agents, removed, purged.
func installToPurge(t *testing.T, first, second string) {
	r := newCleanRoot(t)
	r.put(first, "/root/first.deb", 0o644)
	r.put(second, "/root/second.deb", 0o644)
	r.write(systemctl, "/usr/bin/systemctl", 0o755)
	r.must("mkdir -p /run/systemd/system")

	r.must("dpkg -i /root/first.deb")
	r.installed()
	r.demo()

	f := r.farmWithAgents()
	load := r.start("load", "stowage demo load --dir "+farmDir+" --rate 60")
	r.until("grep -q 'writes acknowledged' /run/load.out")
	r.must(in + "plan --name first")
	move := r.start("move", in+"move first")
	r.until(in + "status --json | grep -q '\"step\": \"\\(follow\\|compare\\|preload\\)\"'")
	r.must(in + "pause --reason upgrade")
	r.shows(in+"top", "PAUSED by ")

	r.must("dpkg -i /root/second.deb")
	r.shows("stowage --version", "stowage version "+next+", commit ")
	r.shows("stowage-engine --version", "stowage-engine version "+next+", commit ")
	r.shows("cat /run/systemctl.log", "try-restart stowage-agent.service")
	r.shows("cd /proc/$(cat /run/move.pid) && readlink exe", "(deleted)") // the old program carries it out
	f.areAll(next)

	// The old program goes on, is killed in the middle, and the new one carries the move to its end.
	r.must(in + "resume")
	r.until(in + "status --json | grep -q '\"step\": \"\\(out\\|rewire\\|catch-up\\|check\\|warm\\|in\\|retire\\)\"'")
	move.signal("KILL")
	if code, said := move.ended(); code == 0 {
		t.Errorf("the move had ended before it was killed:\n%s", said)
	}
	r.must(in + "resume")
	r.shows(in+"status", "done")
	load.signal("INT")
	if code, said := load.ended(); code != 0 {
		t.Errorf("clients: exit code %d:\n%s", code, last(said, 2000))
	}
	r.shows("stowage demo verify --dir "+farmDir, ": 0 lost, 0 duplicated; 0 tables differ")

	servers := r.must(countServers)
	for _, way := range []string{"-r", "-r", "-P", "-P"} { // each is safe to do again
		r.must("dpkg " + way + " stowage")
		r.must("test ! -e /usr/bin/stowage && test ! -e /usr/share/doc/stowage && test ! -e /usr/lib/systemd/system/stowage-agent.service")
	}
	r.shows("cat /run/systemctl.log", "stop stowage-due.timer stowage-agent.service")
	f.stopped()
	// Databases serve on, and what people and runs have made is there.
	r.must("test -s " + farmDir + "/farm.yaml && test -s " + farmDir + "/.stowage/stowage.db && test -s /etc/stowage/agent.env && test -d /etc/stowage/certificates && test -s /var/lib/stowage-agent/audit.jsonl")
	if now := r.must(countServers); now != servers {
		t.Errorf("servers before the removal %s, and after it %s", servers, now)
	}
	r.must("dpkg -i /root/second.deb && " + in + "status")
}

const countServers = "cat /proc/[0-9]*/comm | grep -c '^mariadbd'"

// installed is what a package has brought, and what it has left alone.
func (r *cleanRoot) installed() {
	r.t.Helper()
	r.shows("stowage --version", "stowage version "+now+", commit ")
	r.shows("stowage-engine --version", "stowage-engine version "+now+", commit ")
	r.shows("man -w stowage-plan-show", "/usr/share/man/man1/stowage-plan-show.1.gz")
	r.shows("man --warnings=w stowage-move 2>&1", "EXIT STATUS")
	if said := r.must("for page in /usr/share/man/man1/stowage*.gz; do man --warnings=w -l $page 2>&1 >/dev/null; done"); said != "" {
		r.t.Errorf("man warns: %s", said)
	}
	r.shows("bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader stowage; complete -p stowage'", "__start_stowage")
	r.must("test -s /usr/share/zsh/vendor-completions/_stowage && test -s /usr/share/fish/vendor_completions.d/stowage.fish")
	r.must("cd /usr/share/doc/stowage && test -s copyright && test -s docs/guide/install.md && test -s examples/etsy-2016/farm.yaml && test -s packaging/prometheus/alerts.yaml && test -s packaging/prometheus/dashboard.json")
	r.shows("cp -r /usr/share/doc/stowage/examples/etsy-2016 /srv/etsy && stowage -C /srv/etsy inventory check || test $? = 1", "etsy-2016: 120 hosts") // its servers are not there: a finding
	r.must("test -z \"$(find /etc/systemd -name 'stowage*')\"")                                                                                         // nothing is enabled
	if said := r.must("cat /run/systemctl.log"); strings.TrimSpace(said) != "--system daemon-reload" {
		r.t.Errorf("the first install told systemd %q", said)
	}
	r.must("test -z \"$(cat /proc/[0-9]*/comm | grep '^stowage')\"")
}

// demo is what the docs say first.
func (r *cleanRoot) demo() {
	r.t.Helper()
	said := r.must("stowage demo --pairs 2 --shards 2 --hosts 2")
	for _, want := range []string{"hosts                  4 -> 2", "lost writes            0", "failed queries         0"} {
		if !strings.Contains(said, want) {
			r.t.Errorf("the demo does not end with %q:\n%s", want, last(said, 2000))
		}
	}
	r.must("test -s /var/lib/stowage-demo/report.html")
	r.must("grep -q 'The machine that these hosts share' /var/lib/stowage-demo/report.html") // measured before and after
}
