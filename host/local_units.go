package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// UnitDir holds one file an instance, NAME.env, that tells the unit
// mariadb@NAME which option file is its own. The drop-in for mariadb@.service
// in packaging/ reads it.
const UnitDir = "/etc/stowage/instances"

// UseUnits makes Start and Stop go through systemd: instances that run come up
// with their machine and those that were stopped do not, and journal and limits
// are those of the unit. Everything else, Running above all, stays as it is: a
// unit's server is a process with the same command line.
func (l *Local) UseUnits() error {
	fail := func(err error, hint string) error {
		return &farm.Error{Op: "use systemd units", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
	}
	path, err := find([]string{"systemctl"})
	if err != nil {
		return fail(err, "without systemd leave --units out")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return fail(errors.New("this machine was not booted with systemd"), "leave --units out")
	}
	if err := os.MkdirAll(UnitDir, 0o755); err != nil {
		return fail(err, "run the agent as root")
	}
	l.systemctl = path
	return nil
}

func unitOf(i Instance) string { return "mariadb@" + string(i.Name) + ".service" }

// startUnit starts the unit, now and with the machine, and reports its end as
// an error of died does.
func (l *Local) startUnit(ctx context.Context, i Instance, budget time.Duration) error {
	if strings.ContainsAny(i.Config, " \t\n\"'\\$") {
		return &farm.Error{Op: "start unit", Subject: unitOf(i), Err: fmt.Errorf("%w: the path %q cannot be in a unit's environment", farm.ErrInput, i.Config)}
	}
	env := "MYSQLD_MULTI_INSTANCE=--defaults-file=" + i.Config + "\n"
	// Torn, it would have the unit start the host's default server.
	if err := replaceFile(filepath.Join(UnitDir, string(i.Name)+".env"), []byte(env), 0o644, nil); err != nil {
		return &farm.Error{Op: "start unit", Subject: unitOf(i), Err: err}
	}
	return l.unit(ctx, budget, "enable", "--now", unitOf(i))
}

// stopUnit tells systemd first, or it would start the server again, now or with
// the machine.
func (l *Local) stopUnit(ctx context.Context, i Instance, budget time.Duration) error {
	return l.unit(ctx, budget, "disable", "--now", unitOf(i))
}

// stopOthersUnit stops a server through the unit that is there for it alone, and
// reports whether it did: systemd would start it again, at once (Restart=always)
// or after a SIGKILL (Restart=on-abort). The unit stays enabled: it is somebody
// else's. Units that require it are left alone, as by a signal; systemctl start
// would not start them again.
func (l *Local) stopOthersUnit(ctx context.Context, pid int, budget time.Duration) bool {
	program, err := l.systemd()
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	unit := l.mainUnit(ctx, program, pid)
	if unit == "" || sharesUnit(pid, unit) {
		return false
	}
	if err := l.askSystemd(ctx, program, budget, "stop", "--job-mode=ignore-dependencies", unit); err != nil {
		l.log.Warn("systemd does not stop the unit; telling the server itself", "unit", unit, "error", err)
		return false
	}
	return true
}

// mainUnit is the unit that is there for a server, or "". A server that was
// started from a job or a login is in their unit, which is there for more.
func (l *Local) mainUnit(ctx context.Context, systemctl string, pid int) string {
	unit := unitOfProcess(pid)
	if unit == "" || unit == unitOfProcess(os.Getpid()) || !l.isMainOf(ctx, systemctl, unit, cmp.Or(safeAround(pid), pid)) {
		return ""
	}
	return unit
}

// sharesUnit reports whether the unit of a server runs others, too, as one of
// mysqld_multi does.
func sharesUnit(pid int, unit string) bool {
	return slices.ContainsFunc(servers(), func(other int) bool { return other != pid && unitOfProcess(other) == unit })
}

func (l *Local) unit(ctx context.Context, budget time.Duration, args ...string) error {
	return l.askSystemd(ctx, l.systemctl, budget, args...)
}

func (l *Local) askSystemd(ctx context.Context, systemctl string, budget time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, budget, fmt.Errorf("it took more than %v", budget))
	defer cancel()
	cmd := l.command(ctx, systemctl, args...)
	cmd.SysProcAttr.Credential = nil // systemd is asked by us, not by the servers' account
	if out, err := cmd.CombinedOutput(); err != nil {
		unit := args[len(args)-1]
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &farm.Error{Op: args[0] + " unit", Subject: unit, Err: fmt.Errorf("%w:\n  %s", err, lastLines(out, 5)), Hint: "journalctl -u " + unit}
	}
	return nil
}

// unitOfProcess is the service of systemd that a process belongs to, or "".
func unitOfProcess(pid int) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return serviceIn(string(raw))
}

// serviceIn finds a system service in the text of /proc/PID/cgroup, of either
// version of control groups: cgroups(7).
func serviceIn(text string) string {
	for line := range strings.Lines(text) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if controllers != "name=systemd" && (number != "0" || controllers != "") {
			continue
		}
		words := strings.Split(path, "/")
		at := slices.Index(words, "system.slice")
		if at < 0 {
			continue
		}
		for _, w := range words[at+1:] {
			if strings.HasSuffix(w, ".service") {
				return w
			}
		}
	}
	return ""
}
