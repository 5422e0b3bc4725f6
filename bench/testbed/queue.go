package testbed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// snapshot are the settings that are kept beside those that are set: the kernel changes some of them when it changes the scheduler.
var snapshot = []string{"nr_requests", "read_ahead_kb", "nomerges", "rq_affinity", "wbt_lat_usec", "max_sectors_kb", "rotational", "add_random", "io_poll"}

func queueFile(device, name string) string { return filepath.Join("/sys/block", device, "queue", name) }

// setting reads one; of a scheduler the one in brackets.
func setting(device, name string) (string, error) {
	raw, err := os.ReadFile(queueFile(device, name))
	text := strings.TrimSpace(string(raw))
	if _, rest, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(rest, "]")
	}
	return text, err
}

func write(device, name, value string) error {
	f, err := os.OpenFile(queueFile(device, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// inOrder are the names of settings, the scheduler first: it brings values of its own for others.
func inOrder(values map[string]string) []string {
	names := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(names, func(a, b string) int {
		switch "scheduler" {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	return names
}

// setQueue writes queue settings of a device and reads them back.
func (s *Site) setQueue(device string, to map[string]string) error {
	if len(to) == 0 {
		return nil
	}
	from := map[string]string{}
	for name := range to {
		v, err := setting(device, name)
		if err != nil {
			return refused("queue", "%s has no %s", device, name)
		}
		from[name] = v
	}
	for _, name := range snapshot {
		if v, err := setting(device, name); err == nil {
			from[name] = v
		}
	}
	return s.do(act{Act: "queue", Device: device, Given: s.given(device), From: from, To: to}, func() error {
		for _, name := range inOrder(to) {
			if err := write(device, name, to[name]); err != nil {
				return refused("queue", "%s=%s: %v", name, to[name], errno(err))
			}
			got, err := setting(device, name)
			if err != nil || !sameSetting(name, got, to[name]) {
				return refused("queue", "%s=%s: the kernel made it %s", name, to[name], got)
			}
		}
		return nil
	})
}

// errno is what the system said, without the path.
func errno(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// sameSetting: the kernel takes the old name of one scheduler, and tells the new one.
func sameSetting(name, a, b string) bool {
	plain := func(v string) string {
		if name == "scheduler" && v == "deadline" {
			return "mq-deadline"
		}
		return v
	}
	return plain(a) == plain(b)
}

// restoreQueue puts back what was there. On a device of others a value that is neither what was there nor what we set is somebody else's, and
// stays; a loop device of ours has nobody else.
func restoreQueue(device string, a act, isOurs bool) (said []string, err error) {
	if _, err := os.Stat(filepath.Join("/sys/block", device, "queue")); err != nil {
		return nil, nil // the device is gone, and its settings with it
	}
	for _, name := range inOrder(a.From) {
		now, err := setting(device, name)
		if err != nil || now == a.From[name] {
			continue
		}
		if to, isSet := a.To[name]; !isOurs && isSet && !sameSetting(name, now, to) {
			said = append(said, fmt.Sprintf("%s of %s is %s, set by another process: left alone", name, device, now))
			continue
		}
		if err := write(device, name, a.From[name]); err != nil {
			return said, fmt.Errorf("put %s of %s back to %s: %w", name, device, a.From[name], errno(err))
		}
	}
	return said, nil
}
