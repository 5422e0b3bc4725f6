package workspace

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/roll/agenda"
)

const goodPlaybook = `# kernel and a larger pool
hosts: [h1, "h*"]
changes: [version]
takes: 5m
steps:
  - {command: [/usr/local/sbin/patch, --all], check: [/usr/bin/test, -e, /etc/patched], time_limit: 30m, on_failure: go-on, repeatable: true}
  - options: {innodb-io-capacity: 2000, innodb_buffer_pool_size: 87G}
  - {options: {innodb-io-capacity: 2100}, apply: true}
  - restart: true
    time_limit: 10m
  - reboot: true
  - {reboot: [/sbin/shutdown, -r, now], time_limit: 20m}
  - packages: {mariadb-server: "1:10.11.19-0+deb12u1", galera-4: 26.4.20-1}
    upgrade: none
    way_back: packages
`

func rolledFarm(t testing.TB) *farm.Farm {
	t.Helper()
	f, _, err := parseFarm("farm.yaml", []byte(fuzzedFarm))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPlaybookIsRead(t *testing.T) {
	got, err := parsePlaybook("rolls/kernel.yaml", []byte(goodPlaybook), rolledFarm(t))
	want := agenda.Work{Hosts: []string{"h1", "h*"}, Changes: []string{"version"}, Takes: 5 * time.Minute, Steps: []agenda.Step{
		{Command: []string{"/usr/local/sbin/patch", "--all"}, MustPass: []string{"/usr/bin/test", "-e", "/etc/patched"}, Limit: 30 * time.Minute, OnFailure: agenda.GoOn, Repeatable: true},
		{Options: map[string]string{"innodb_io_capacity": "2000", "innodb_buffer_pool_size": "87G"}},
		{Options: map[string]string{"innodb_io_capacity": "2100"}, Apply: true},
		{Restart: true, Limit: 10 * time.Minute},
		{Reboot: true, Command: []string{"/usr/bin/systemctl", "reboot"}},
		{Reboot: true, Command: []string{"/sbin/shutdown", "-r", "now"}, Limit: 20 * time.Minute},
		{Packages: map[string]string{"mariadb-server": "1:10.11.19-0+deb12u1", "galera-4": "26.4.20-1"}, Upgrade: agenda.NoUpgrade, WayBack: agenda.OldPackages},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

func TestFaultsOfPlaybooksSayTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"hosts: [h1]\nstepz: []\n":                             `k.yaml:2: unknown key "stepz" in the playbook; did you mean "steps"?`,
		"steps:\n  - {command: [a], time_limt: 3s}\n":          `k.yaml:2: unknown key "time_limt" in a step; did you mean "time_limit"?`,
		"hosts:\n  - h1\n  - web*\nsteps: [{restart: true}]\n": "k.yaml:3: no host of farm.yaml is called web*",
		"hosts: h1\n":             "k.yaml:1: the playbook has no steps",
		"steps: []\n":             "steps is empty",
		"steps: [{check: [a]}]\n": "this one is none of them",
		"steps: [{restart: true, command: [a]}]\n":             "more than one",
		"steps: [{command: apt upgrade}]\n":                    "must be a list of words",
		"steps: [{command: [bin/patch]}]\n":                    "is a relative path",
		"steps: [{options: {port: 3307}}]\n":                   "port cannot be rolled: clients and its twin find it there",
		"steps: [{options: {\"a b\": 1}}]\n":                   "is not the name of an option",
		"steps: [{restart: perhaps}]\n":                        "must be true or false",
		"steps: [{restart: true, on_failure: shrug}]\n":        "on_failure is \"shrug\": it is stay-out or go-on",
		"steps: [{restart: true, time_limit: 48h}]\n":          "at most 23h",
		"steps: [{reboot: false}]\n":                           "reboot is true, or the command",
		"steps: [{reboot: true, repeatable: true}]\n":          "repeatable is about a command",
		"steps: [{restart: true, repeatable: true}]\n":         "repeatable is about a command",
		"steps: [{restart: true, apply: true}]\n":              "apply is about options",
		"steps: [{packages: {mariadb-server: latest}}]\n":      `k.yaml:1: "latest" is not a version of mariadb-server`,
		"steps: [{packages: {-o: 1}}]\n":                       `"-o" is not the name of a package`,
		"steps: [{packages: {}}]\n":                            "packages is empty",
		"steps: [{packages: [mariadb-server]}]\n":              "packages",
		"steps: [{packages: {ab: 1}, way_back: rebuild}]\n":    `way_back is "rebuild": it is packages or none`,
		"steps: [{packages: {ab: 1}, upgrade: always}]\n":      `upgrade is "always": it is auto or none`,
		"steps: [{packages: {ab: 1}, on_failure: go-on}]\n":    "cannot go on; way_back says what follows",
		"steps: [{packages: {ab: 1}, restart: true}]\n":        "more than one",
		"steps: [{restart: true, way_back: packages}]\n":       "upgrade and way_back are about packages",
		"steps: [{restart: true}]\nsteps: [{restart: true}]\n": "is there twice",
	} {
		_, err := parsePlaybook("k.yaml", []byte(text), rolledFarm(t))
		if err == nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzPlaybook(f *testing.F) {
	of := rolledFarm(f)
	f.Add([]byte(goodPlaybook))
	f.Add([]byte("hosts: '['\nsteps: [{options: {x: 1}}, {restart: true}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		work, err := parsePlaybook("k.yaml", src, of)
		if err != nil {
			if !errors.Is(err, farm.ErrInput) {
				t.Errorf("error %v is not of unusable input", err)
			}
			return
		}
		for _, s := range work.Steps {
			n := 0
			for _, is := range []bool{len(s.Command) > 0, s.Restart, len(s.Options) > 0, len(s.Packages) > 0} {
				if is {
					n++
				}
			}
			if n != 1 {
				t.Errorf("a step that is %d things: %+v", n, s)
			}
		}
		if len(work.Steps) == 0 {
			t.Error("no steps, and no fault")
		}
	})
}

func TestRollsAreKeptAndNeverReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFileAtomic(dir+"/farm.yaml", []byte(fuzzedFarm), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := agenda.Make(rolledFarm(t), agenda.Work{Hosts: []string{"h*"}, Steps: []agenda.Step{{Restart: true}}}, agenda.Rules{}, agenda.Assumed)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"roll-001", "roll-002"} {
		_, saved, err := w.SaveRoll(p)
		if err != nil || saved.Name != want {
			t.Errorf("%s, %v, want %s", saved.Name, err, want)
		}
		if got, err := w.Roll(want); err != nil || !reflect.DeepEqual(got, saved) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, saved)
		}
	}
	p.Name, p.Seconds = "roll-001", 1
	if _, _, err := w.SaveRoll(p); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("replaced: %v", err)
	}
	if err := WriteFileAtomic(dir+"/rolls/kernel.yaml", []byte(goodPlaybook), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Name = "kernel"
	if _, _, err := w.SaveRoll(p); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a plan that is called as a playbook: %v", err)
	}
	if _, err := w.Roll("roll-009"); !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "roll-001, roll-002, kernel") {
		t.Errorf("%v (%s)", err, farm.Hint(err))
	}
	err = w.FarmFaults([]farm.Problem{{Path: "hosts[1]", Text: "no rack"}})
	if err == nil || !strings.Contains(err.Error(), "farm.yaml:7: no rack") {
		t.Errorf("%v", err)
	}
}
