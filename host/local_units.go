package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stowage/farm"
)

// UnitDir holds one file an instance, NAME.env, that tells the unit
// mariadb@NAME which option file is its own. The drop-in for mariadb@.service
// in packaging/ reads it.
const UnitDir = "/etc/stowage/instances"

// UseUnits makes Start and Stop go through systemd: instances come up with
// their machine, and journal and limits are those of the unit. Everything else,
// Running above all, stays as it is: a unit's server is a process with the same
// command line.
func (l *Local) UseUnits() error {
	fail := func(err error, hint string) error {
		return &farm.Error{Op: "use systemd units", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	path, err := find([]string{"systemctl"})
	if err != nil {
		return fail(err, "without systemd leave --units away")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return fail(errors.New("this machine was not booted with systemd"), "leave --units away")
	}
	if err := os.MkdirAll(UnitDir, 0o755); err != nil {
		return fail(err, "run the agent as root")
	}
	l.systemctl = path
	return nil
}

func unitOf(i Instance) string { return "mariadb@" + string(i.Name) + ".service" }

// startUnit starts the unit and reports its end as an error of died does.
func (l *Local) startUnit(ctx context.Context, i Instance) error {
	if strings.ContainsAny(i.Config, " \t\n\"'\\$") {
		return &farm.Error{Op: "start unit", Subject: unitOf(i), Err: fmt.Errorf("%w: the path %q cannot stand in a unit's environment", farm.ErrInput, i.Config)}
	}
	env := "MYSQLD_MULTI_INSTANCE=--defaults-file=" + i.Config + "\n"
	if err := os.WriteFile(filepath.Join(UnitDir, string(i.Name)+".env"), []byte(env), 0o644); err != nil {
		return &farm.Error{Op: "start unit", Subject: unitOf(i), Err: err}
	}
	return l.unit(ctx, "start", i)
}

func (l *Local) unit(ctx context.Context, verb string, i Instance) error {
	cmd := l.command(ctx, l.systemctl, verb, unitOf(i))
	cmd.SysProcAttr.Credential = nil // systemd is asked by us, not by the servers' account
	if out, err := cmd.CombinedOutput(); err != nil {
		return &farm.Error{Op: verb + " unit", Subject: unitOf(i), Err: fmt.Errorf("%w:\n  %s", err, lastLines(out, 5)),
			Hint: "journalctl -u " + unitOf(i)}
	}
	return nil
}

// stopUnit tells systemd first, or it would start the server again.
func (l *Local) stopUnit(ctx context.Context, i Instance, budget time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	return l.unit(ctx, "stop", i)
}
