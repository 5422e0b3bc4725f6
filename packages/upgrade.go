package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"stowage/farm"
)

// upgradePrograms are the program that brings the system tables of a server to its version, by its names. MySQL has none: its server does it as it starts.
var upgradePrograms = []string{"/usr/bin/mariadb-upgrade", "/usr/bin/mysql_upgrade"}

// askUpgrade asks whether a server needs its upgrade step: 0 says that it does and 1 that it does not, and that it could not be asked: the last line tells which. It asks as root
// through the socket, or as ~/.my.cnf says. The server's answer is a file in its data directory, which a copy by mariadb-backup does not have: then it is needed.
func (a *Apt) askUpgrade(ctx context.Context, socket string) (needed bool, program string, err error) {
	for _, program = range upgradePrograms {
		if _, err = os.Stat(program); err == nil {
			break
		}
	}
	if err != nil {
		return false, "", fmt.Errorf("%w: mariadb-upgrade is not installed", farm.ErrInput)
	}
	cmd := exec.CommandContext(ctx, program, "--check-if-upgrade-is-needed", "--socket="+socket)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	var code *exec.ExitError
	switch {
	case err == nil:
		return true, program, nil
	case errors.As(err, &code) && code.ExitCode() == 1 && !isFailure(string(out)):
		return false, program, nil
	}
	return false, program, fmt.Errorf("mariadb-upgrade at %s: %w: %s", socket, err, lastLine(string(out)))
}

func isFailure(out string) bool {
	return strings.Contains(out, "ERROR") || strings.Contains(out, "error:") || strings.Contains(out, "FATAL")
}

// askLogin: mariadb-upgrade gets into every server, asked while they still serve.
func (l *look) askLogin() error {
	for _, socket := range l.sockets {
		if _, _, err := l.askUpgrade(l.ctx, socket); err != nil {
			l.fault("let root@localhost in through the socket, or give root an account in ~/.my.cnf; upgrade: none leaves the step out", "%v", err)
		}
	}
	return nil
}

// Upgrade runs mariadb-upgrade for each server that needs it. It may run again.
func (a *Apt) Upgrade(ctx context.Context, sockets []string) error {
	for _, socket := range sockets {
		needed, program, err := a.askUpgrade(ctx, socket)
		if err != nil {
			return err
		}
		if !needed {
			a.say("%s needs no upgrade", socket)
			continue
		}
		a.say("%s: upgrade", socket)
		if err := a.change(program, "--socket="+socket); err != nil {
			return fmt.Errorf("at %s: %w", socket, err)
		}
	}
	return nil
}
