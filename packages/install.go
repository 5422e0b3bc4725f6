package packages

import (
	"context"
	"errors"
	"fmt"

	"stowage/farm"
	"stowage/packages/pin"
)

// installArgs are those of apt-get for packages of exactly these versions. Option files of the host stay as they are. An older version is one that somebody has
// reviewed: Look refuses those that go across a series.
func installArgs(pins []pin.Pin) []string {
	args := []string{"-y", "-q", "--no-install-recommends", "--allow-downgrades", "--no-remove", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120",
		"-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Options::=--force-confdef", "install"}
	for _, p := range pins {
		args = append(args, p.String())
	}
	return args
}

// Fetch downloads the packages, and changes nothing but the archives of apt: the host is not out while it downloads, and what cannot be had is known before it is.
func (a *Apt) Fetch(pins []pin.Pin) error {
	return a.change("/usr/bin/apt-get", append([]string{"-d", "--reinstall"}, installArgs(pins)...)...)
}

// Install brings the packages to their versions, with every start and stop of a service forbidden, and looks whether dpkg has them whole. All servers must have been stopped.
func (a *Apt) Install(ctx context.Context, pins []pin.Pin) error {
	free, err := hold()
	if err != nil {
		return err
	}
	if free == nil {
		return &farm.Error{Op: "install packages", Err: fmt.Errorf("%w: another process installs packages for stowage", farm.ErrRefused), Hint: "wait until it has ended"}
	}
	defer free()
	if err := a.awaitUnlocked(ctx); err != nil {
		return err
	}
	if err := a.restore(); err != nil { // of one that was killed
		return err
	}
	if run := servers(); len(run) > 0 {
		return &farm.Error{Op: "install packages", Err: fmt.Errorf("%w: %s still runs as process %d, and its files would be replaced below it", farm.ErrRefused, run[0].Program, run[0].PID),
			Hint: "stop it, or take it into farm.yaml"}
	}
	if err := a.at("before policy"); err != nil {
		return err
	}
	if err := a.forbid(); err != nil {
		return err
	}
	failed := a.install(pins)
	if err := a.at("before restored"); err != nil {
		return err
	}
	if err := errors.Join(failed, a.restore()); err != nil {
		return err
	}
	if err := a.at("after restored"); err != nil {
		return err
	}
	return a.areThere(ctx, pins)
}

func (a *Apt) install(pins []pin.Pin) error {
	if err := a.at("after policy"); err != nil {
		return err
	}
	// What an installation that was cut short has left is finished first: apt refuses to do anything beside it.
	if err := a.change("/usr/bin/dpkg", "--configure", "-a", "--force-confold", "--force-confdef"); err != nil {
		a.say("dpkg --configure -a: %v", err) // the packages that come may mend it
	}
	if err := a.change("/usr/bin/apt-get", installArgs(pins)...); err != nil {
		return err
	}
	return a.at("after install")
}

// areThere is nil when dpkg has every package whole in its version: the exit code of apt alone does not say so.
func (a *Apt) areThere(ctx context.Context, pins []pin.Pin) error {
	have, err := a.have(ctx)
	if err != nil {
		return err
	}
	var wrong []string
	for _, p := range pins {
		switch is, ok := have[p.Name]; {
		case !ok:
			wrong = append(wrong, p.Name+" is not installed")
		case is.version != p.Version:
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", p.Name, is.version, p.Version))
		case !is.isWhole():
			wrong = append(wrong, fmt.Sprintf("%s %s is only half installed (%s)", p.Name, is.version, is.status))
		}
	}
	if len(wrong) > 0 {
		return &farm.Error{Op: "check packages", Err: fmt.Errorf("%w: %s", farm.ErrRefused, farm.Some(wrong)), Hint: "dpkg --audit on the host says more"}
	}
	return nil
}

// Settle waits until nobody changes packages any more, puts the policy back that a killed installation has left, and is nil when every package is whole in its version.
func (a *Apt) Settle(ctx context.Context, pins []pin.Pin) error {
	if err := a.awaitUnlocked(ctx); err != nil {
		return err
	}
	if err := Mend(ctx); err != nil {
		return err
	}
	return a.areThere(ctx, pins)
}
