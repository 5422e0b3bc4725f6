package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A reboot is done when the machine is another start than the one in which it began; until then it may be asked for again, and a machine that stays up is a failure.
// Not parallel: which start this is, is one file for the whole program.
func TestRebootIsDoneWhenTheMachineIsAnother(t *testing.T) {
	dir := private(t)
	was := BootIDFile
	t.Cleanup(func() { BootIDFile = was })
	BootIDFile = filepath.Join(dir, "boot_id")
	boots := func(id string) {
		if err := os.WriteFile(BootIDFile, []byte(id+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	boots("one")
	trace := filepath.Join(dir, "trace")
	s := station(dir, "")
	o := shell("r1", "echo x >> "+trace+"; echo two > "+BootIDFile)
	o.Reboots = true
	if out := run(t, s, o); !out.Rebooted || out.Code != 0 || out.Runs != 1 || out.Unknown != "" || out.String() != "the machine was started again" {
		t.Errorf("%+v", out)
	}
	if out := run(t, s, o); !out.Rebooted || lines(t, trace) != 1 { // asked again, after the boot
		t.Errorf("%d times, %+v", lines(t, trace), out)
	}

	// Its carrier dies with the machine, before it could write down how the command ended.
	o = shell("r2", "echo x >> "+trace+"; echo three > "+BootIDFile)
	o.Reboots = true
	if out := run(t, station(dir, "before end"), o); !out.Rebooted || out.Unknown != "" || lines(t, trace) != 2 {
		t.Errorf("%d times, %+v", lines(t, trace), out)
	}

	// The carrier is killed, and the machine stays up: it is asked for again.
	o = shell("r3", "echo x >> "+trace+"; test -e "+dir+"/second && echo four > "+BootIDFile+"; touch "+dir+"/second; exit 0")
	o.Reboots = true
	raw := station(dir, "before end")
	first := make(chan Outcome, 1)
	go func() { first <- run(t, raw, o) }()
	if out := <-first; !out.Rebooted || out.Runs < 2 || lines(t, trace) < 4 {
		t.Errorf("%d times, %+v", lines(t, trace), out)
	}

	// The command fails, or the machine stays up.
	o = shell("r4", "exit 7")
	o.Reboots = true
	if out := run(t, s, o); out.Rebooted || out.Code != 7 {
		t.Errorf("%+v", out)
	}
	o = shell("r5", "exit 0")
	o.Reboots, o.Limit = true, 200*time.Millisecond
	if out := run(t, s, o); out.Rebooted || !out.TimedOut || !strings.Contains(out.String(), "not started again") {
		t.Errorf("%+v: %s", out, out)
	}

	// What does not know reboots must not take the order for another command.
	if raw := string(o.Encode()); !strings.Contains(raw, `"version":2`) {
		t.Error(raw)
	}
	if raw := string(shell("x", "true").Encode()); !strings.Contains(raw, `"version":1`) {
		t.Error(raw)
	}
}
