package testbed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Spec is what a testbed is to be.
type Spec struct {
	Filesystem  string // xfs, ext4 or btrfs
	Mkfs, Mount string // options; "" for none
	Queue       map[string]string
	RAID        string // single, raid0, raid1, raid10
	Devices     int    // how many of the site's are used
}

// Stand is a file system, mounted.
type Stand struct {
	Dir     string   // where it is mounted
	Devices []string // what it is on: loop devices or disks, by the names of this boot
	site    *Site
}

// Refusal is an act that the kernel or a tool does not do.
type Refusal struct{ Act, Why string }

func (r *Refusal) Error() string { return r.Act + " refused: " + r.Why }

func refused(act, format string, args ...any) error {
	return &Refusal{act, fmt.Sprintf(format, args...)}
}

// Make makes a testbed; there is one at a time. What was made before an error is undone, so that the next can be made.
func (s *Site) Make(ctx context.Context, spec Spec) (*Stand, error) {
	st, err := s.make(ctx, spec)
	if err != nil {
		if bad := s.undoTo(s.ground); bad != nil {
			return nil, errors.Join(bad, errors.New(err.Error())) // no Refusal any more: the next testbed could not be made
		}
		return nil, err
	}
	return st, nil
}

func (s *Site) make(ctx context.Context, spec Spec) (*Stand, error) {
	devices, err := s.devices(spec.Devices)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if err := s.setQueue(d, spec.Queue); err != nil {
			return nil, err
		}
	}
	target := devices
	if spec.RAID != "single" && spec.Filesystem != "btrfs" {
		array, err := s.array(ctx, spec.RAID, devices)
		if err != nil {
			return nil, err
		}
		target = []string{array}
	}
	if err := s.format(ctx, spec, target); err != nil {
		return nil, err
	}
	if err := s.mountAt(spec, target); err != nil {
		return nil, err
	}
	return &Stand{Dir: s.mount(), Devices: devices, site: s}, nil
}

// Close undoes the testbed; the site stays.
func (st *Stand) Close() error { return st.site.undoTo(st.site.ground) }

// Dir is where the site lies.
func (s *Site) Dir() string { return s.dir }

// devices are the first n of the site: loop devices, attached now, or disks, looked at once more.
func (s *Site) devices(n int) ([]string, error) {
	var out []string
	for i := range n {
		if len(s.options.Disks) > 0 {
			d := s.options.Disks[i]
			claim, err := s.machine.Take(d, func(string, *os.File) bool { return s.options.Overwrite })
			if err != nil {
				return nil, err
			}
			if err := claim.Close(); err != nil { // mkfs and mount want it for themselves
				return nil, err
			}
			out = append(out, d.Name)
			continue
		}
		name := fmt.Sprintf("%s%d", loopPrefix, i)
		if err := s.refill(name); err != nil {
			return nil, err
		}
		device, err := s.attach(name)
		if err != nil {
			return nil, err
		}
		out = append(out, device)
	}
	return out, nil
}

// given is the name that stays of a device of this boot, where it has one: that of a disk.
func (s *Site) given(device string) string {
	for _, d := range s.options.Disks {
		if d.Name == device && !strings.HasPrefix(d.Given, "/dev/loop") {
			return d.Given
		}
	}
	return ""
}

// members are devices as the journal keeps them: disks by the name that stays.
func (s *Site) members(devices []string) []string {
	out := slices.Clone(devices)
	for i, d := range out {
		if g := s.given(d); g != "" {
			out[i] = g
		}
	}
	return out
}

// newUUID is of the random kind.
func newUUID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
