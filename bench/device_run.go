package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/bench/disk"
	"stowage/bench/result"
	"stowage/farm"
)

// placeOfDevices is where fio works while a device is measured: it leaves its series there, and the marker in it keeps two runs from one device.
// It is memory and goes with the next boot.
const placeOfDevices = "/run/stowage-bench"

// RunDevice is Run for a device that is claimed, without a file system. All that is on it is gone, from the beginning up to size and log. The
// claim stays the caller's.
func RunDevice(ctx context.Context, claim *disk.Claim, o Order) (res *result.Result, err error) {
	dir := filepath.Join(placeOfDevices, claim.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &farm.Error{Op: "prepare", Subject: dir, Err: err, Hint: "devices are measured by root"}
	}
	defer func() {
		for _, d := range []string{dir, placeOfDevices} {
			if bad := os.Remove(d); bad != nil && !errors.Is(bad, fs.ErrNotExist) && d == dir {
				err = errors.Join(err, &farm.Error{Op: "clear", Subject: d, Err: cause(bad)})
			}
		}
	}()
	o.Bed = &Bed{Devices: []string{claim.Name}}
	r := newRunner(o)
	r.claim = claim
	if err := r.open(ctx, dir); err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// prepareDevice is prepareDirectory for a device.
func (r *runner) prepareDevice(ctx context.Context, _ string) (env result.Environment, engine string, err error) {
	c := r.claim
	if engine, err = r.fio.engine(ctx, r.place.dir, c.Path()); err != nil {
		return env, "", err
	}
	env = r.machine.about()
	env.Directory, env.Filesystem, env.MountSource = c.Given, "none", c.Path()
	env.Capacity = c.Size
	if c.ID != c.Given {
		env.MountSource = fmt.Sprintf("%s over %s", c.Path(), c.ID)
	}
	r.files, err = deviceSizes(r.asked(), r.order.Profile.Name, c.Path(), c.Size)
	return env, engine, err
}

// laidOut is how long the data file is, or how far a device was written.
func (r *runner) laidOut(out []byte) (int64, error) {
	if r.claim == nil {
		info, err := os.Stat(filepath.Join(r.place.dir, fileData))
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	o, err := parseFio(out)
	if err != nil {
		return 0, err
	}
	return o.Jobs[len(o.Jobs)-1].Write.Bytes, nil
}
