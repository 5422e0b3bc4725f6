package bench

import (
	"testing"

	"golang.org/x/sys/unix"

	"stowage/bench/result"
	"stowage/internal/treetest"
)

func TestDeviceBelowADirectory(t *testing.T) {
	m := machine{root: treetest.Make(t, map[string]string{
		"proc/thread-self/mountinfo": "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n" +
			"30 22 259:1 / /var/lib/mysql rw,noatime shared:2 - xfs /dev/nvme0n1p1 rw,attr2\n" +
			"31 22 0:44 / /mnt/with\\040blank rw - nfs4 filer:/vol rw\n" +
			"32 22 0:45 / /mnt/b rw - btrfs /dev/sdb rw\n",
		"sys/devices/sda/sda2/partition": "2", "sys/devices/sda/stat": "1 0 2 0 0 0 0 0 0 0 0", "sys/dev/block/8:2": "-> ../../devices/sda/sda2", "sys/block/sda": "-> ../devices/sda",
		"sys/devices/nvme0n1/nvme0n1p1/partition": "1", "sys/devices/nvme0n1/stat": "10 0 800 3 20 0 1600 9 0 70 80 0 0 0 0 5 1", "sys/devices/nvme0n1/size": "2048",
		"sys/devices/nvme0n1/queue/scheduler": "[none] mq-deadline", "sys/devices/nvme0n1/device/model": "X9  ",
		"sys/dev/block/259:1": "-> ../../devices/nvme0n1/nvme0n1p1", "sys/block/nvme0n1": "-> ../devices/nvme0n1",
		"dev/disk/by-id/nvme-X9_1":        "-> ../../nvme0n1",
		"sys/fs/btrfs/uuid/devices/sdb/x": "", "sys/fs/btrfs/uuid/devices/sdc/x": "",
	})}
	for _, x := range []struct {
		dir          string
		major, minor uint32
		device, why  string
	}{
		{"/var/lib/mysql/shard1", 259, 1, "nvme0n1", ""},
		{"/var/lib/mysqlx", 8, 2, "sda", ""},
		{"/mnt/with blank/x", 0, 44, "", "/mnt/with blank (nfs4) is not on a block device of this machine"},
		{"/mnt/b", 0, 45, "", "this btrfs is on 2 devices"},
	} {
		got, why := m.deviceOf(m.mountOf(x.dir, unix.Mkdev(x.major, x.minor)))
		if got != x.device || why != x.why {
			t.Errorf("%s: device %q, %q", x.dir, got, why)
		}
	}
	d := m.device("nvme0n1")
	if d.Model != "X9" || d.Size != 1<<20 || d.Queue["scheduler"] != "[none] mq-deadline" || d.ByID != "nvme-X9_1" {
		t.Errorf("%+v", d)
	}
	if c, ok := m.counters("nvme0n1"); !ok || c != (counters{read: 800 * 512, written: 1600 * 512, flushes: 5, operations: 30, busy: 70}) {
		t.Errorf("counters %+v %v", c, ok)
	}
	if _, ok := m.counters("absent"); ok {
		t.Error("a device that is not there counts something")
	}
}

func TestCompareCounts(t *testing.T) {
	for name, x := range map[string]struct {
		fioRead, fioWritten, read, written int64
		short                              bool
		foreign                            float64
	}{
		"as fio says":                        {100 * mib, 0, 100 * mib, 0, false, 0},
		"a cache answered":                   {100 * mib, 0, 10 * mib, 0, true, 0},
		"a cache answered, others wrote":     {100 * mib, 0, 10 * mib, 200 * mib, true, 110.0 / 210},
		"a journal's blocks":                 {0, 2 * mib, 0, 2*mib + 300*kib, false, 0},
		"others wrote as much":               {0, 100 * mib, 0, 200 * mib, false, 0.5},
		"too little to tell":                 {0, 64 * kib, 0, 0, false, 0},
		"writes that were merged into fewer": {0, 100 * mib, 0, 96 * mib, false, 0},
	} {
		c := result.Check{FioRead: x.fioRead, FioWritten: x.fioWritten}
		compareCounts(&c, counters{}, counters{read: x.read, written: x.written, busy: 500}, 1)
		if c.Short != x.short || c.Foreign != x.foreign || c.Utilisation != 0.5 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestNoiseIsRead(t *testing.T) {
	m := machine{root: treetest.Make(t, map[string]string{
		"proc/stat":            "cpu  10 0 20 60 0 0 0 10 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n",
		"proc/pressure/cpu":    "some avg10=1.00 avg60=0.00 avg300=0.00 total=2500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		"proc/loadavg":         "3.14 1 1 1/1 1",
		"proc/meminfo":         "MemTotal:       1000 kB\n",
		"proc/sys/kernel/none": "",
	})}
	if p := m.processors(); p.all != 100 || p.steal != 10 || stealBetween(processors{all: 50, steal: 5}, p) != 0.1 {
		t.Errorf("%+v", p)
	}
	if p := m.pressure(); p.cpu.Microseconds() != 2500 || p.io != 0 {
		t.Errorf("%+v", p)
	}
	if m.load() != 3.14 || m.number("/proc/meminfo", "MemTotal:") != 1000 {
		t.Error("load or memory")
	}
}

// TestDiskOfOurOwn: a disk of which another partition is mounted is not ours alone; the same file system mounted twice is.
func TestDiskOfOurOwn(t *testing.T) {
	m := machine{root: treetest.Make(t, map[string]string{
		"sys/devices/sda/sda1/partition": "1", "sys/devices/sda/sda1/size": "1", "sys/dev/block/8:1": "-> ../../devices/sda/sda1",
		"sys/devices/sda/sda2/partition": "1", "sys/devices/sda/sda2/size": "1", "sys/dev/block/8:2": "-> ../../devices/sda/sda2",
		"sys/devices/sdb/size": "1", "sys/dev/block/8:16": "-> ../../devices/sdb",
		"sys/block/sda/stat": "1 2 3", "sys/block/sdb/stat": "1 2 3",
		"proc/thread-self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - ext4 /dev/sda2 rw\n3 1 8:16 / /new rw - xfs /dev/sdb rw\n4 1 8:16 / /also rw - xfs /dev/sdb rw\n",
	})}
	for _, at := range m.mounts() {
		disk, why := m.deviceOf(at)
		if want := at.dev == "8:16"; m.isAlone(at, disk) != want || why != "" {
			t.Errorf("%s on %q: alone %v, want %v (%s)", at.point, disk, !want, want, why)
		}
	}
}
