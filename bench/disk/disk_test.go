package disk

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/treetest"
)

// box is a machine with a free disk, a used one, and what else is found in servers.
func box() map[string]string {
	return map[string]string{
		"dev/disk/by-id/wwn-0x5000": "-> ../../sda", "dev/disk/by-id/ata-INTEL_X25E_7": "-> ../../sda", "dev/disk/by-id/ata-INTEL_X25E_7-part1": "-> ../../sda1",
		"dev/disk/by-id/nvme-X9_1": "-> ../../nvme0n1", "dev/disk/by-id/usb-iDRAC_Virtual": "-> ../../sdb", "dev/disk/by-id/usb-card": "-> ../../sdc",
		"dev/disk/by-id/scsi-gone": "-> ../../sdz", "dev/disk/by-id/zram": "-> ../../zram0",
		"sys/block/sda/size": "2048", "sys/block/sda/dev": "8:0", "sys/block/sda/device/model": "X25-E", "sys/block/sda/removable": "0", "sys/block/sda/ro": "0",
		"sys/block/sda/sda1/partition": "1", "sys/block/sda/sda1/dev": "8:1",
		"sys/block/nvme0n1/size": "4096", "sys/block/nvme0n1/dev": "259:0", "sys/block/nvme0n1/device/model": "X9",
		"sys/block/sdb/size": "2048", "sys/block/sdb/device/vendor": "iDRAC", "sys/block/sdb/device/model": "Virtual Floppy",
		"sys/block/sdc/size": "0", "sys/block/zram0/size": "2048",
		"sys/block/loop0/size": "2048", "sys/block/loop0/dev": "7:0", "sys/block/loop0/loop/backing_file": "/var/tmp/image", "sys/block/loop1/size": "0",
		"sys/block/vda/size": "2048", "dev/vda": "",
		"proc/swaps":            "Filename Type Size Used Priority\n",
		"proc/self/mountinfo":   "22 1 254:0 / / rw - ext4 /dev/root rw\n",
		"sys/fs/btrfs/features": "",
	}
}

func TestLook(t *testing.T) {
	m := Machine{treetest.Make(t, box())}
	for given, want := range map[string]string{
		"/dev/sda":                               "refused as unsafe: names as this may mean another disk after the next boot -> it is /dev/disk/by-id/ata-INTEL_X25E_7, if sda X25-E of 0 GB is what you mean",
		"/dev/vda":                               "this disk has no name below /dev/disk/by-id/ -> give the disk a serial number",
		"/dev/disk/by-id/ata-INTEL_X25E_7-part1": "refused as unsafe: it is a partition of sda -> name the whole disk",
		"/dev/disk/by-id/none":                   "unusable input: there is no such device",
		"/dev/disk/by-id/scsi-gone":              "/sys does not know the block device sdz",
		"/dev/disk/by-id/../../sda":              "refused as unsafe: names as this",
		"/dev/loop1":                             "no file is attached to this loop device",
		"sda":                                    "it is not the name of a device",
	} {
		_, err := m.Look(given)
		if err == nil || !strings.Contains(err.Error()+" -> "+farm.Hint(err), want) {
			t.Errorf("%s: %v -> %s\nwant %s", given, err, farm.Hint(err), want)
		}
	}
	d, err := m.Look("/dev/disk/by-id/ata-INTEL_X25E_7")
	if want := (Disk{"/dev/disk/by-id/ata-INTEL_X25E_7", "sda", "/dev/disk/by-id/ata-INTEL_X25E_7", "8:0", 1 << 20, "X25-E"}); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if d.Confirm("/dev/disk/by-id/wwn-0x5000") == nil || d.Confirm("") == nil || d.Confirm(d.Given) != nil {
		t.Error("a disk is confirmed by the name that was given first, and by nothing else")
	}
	// The number of a loop device is another after a reboot; its file is what is lost.
	d, err = m.Look("/dev/loop0")
	if err != nil || d.ID != "/var/tmp/image" || d.Confirm("/dev/loop0") == nil || d.Confirm("/var/tmp/image") != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		given string
		more  map[string]string
		want  string
	}{
		"free":           {"/dev/disk/by-id/nvme-X9_1", nil, ""},
		"mounted":        {"/dev/disk/by-id/nvme-X9_1", map[string]string{"proc/self/mountinfo": "30 22 259:0 / /srv rw shared:2 - xfs /dev/nvme0n1 rw\n"}, "nvme0n1 is mounted on /srv -> umount /srv"},
		"a part is":      {"/dev/disk/by-id/wwn-0x5000", map[string]string{"proc/self/mountinfo": "30 22 8:1 / /boot rw - ext4 /dev/sda1 rw\n"}, "sda1 is mounted on /boot"},
		"btrfs":          {"/dev/disk/by-id/nvme-X9_1", map[string]string{"proc/self/mountinfo": "30 22 0:44 / /b rw - btrfs /dev/nvme0n1 rw\n"}, "mounted on /b"},
		"btrfs of many":  {"/dev/disk/by-id/nvme-X9_1", map[string]string{"sys/fs/btrfs/1234/devices/nvme0n1/x": ""}, "a btrfs of several devices"},
		"held":           {"/dev/disk/by-id/nvme-X9_1", map[string]string{"sys/block/nvme0n1/holders/md0/x": ""}, "nvme0n1 is held by md0 -> it is part of an array"},
		"a part is held": {"/dev/disk/by-id/wwn-0x5000", map[string]string{"sys/block/sda/sda1/holders/dm-0/x": ""}, "sda1 is held by dm-0"},
		"swap":           {"/dev/disk/by-id/wwn-0x5000", map[string]string{"proc/swaps": "Filename Type\n/dev/sda1 partition 1 0 -2\n"}, "sda1 is swapped on"},
		"removable":      {"/dev/disk/by-id/wwn-0x5000", map[string]string{"sys/block/sda/removable": "1"}, "removable medium"},
		"read-only":      {"/dev/disk/by-id/wwn-0x5000", map[string]string{"sys/block/sda/ro": "1"}, "read-only"},
		"virtual media":  {"/dev/disk/by-id/usb-iDRAC_Virtual", nil, "virtual medium"},
		"no medium":      {"/dev/disk/by-id/usb-card", nil, "no size"},
		"memory":         {"/dev/disk/by-id/zram", nil, "not a storage"},
	} {
		tree := box()
		for k, v := range x.more {
			tree[k] = v
		}
		m := Machine{treetest.Make(t, tree)}
		d, err := m.Look(x.given)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Check(d)
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case x.want != "" && (!errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error()+" -> "+farm.Hint(err), x.want)):
			t.Errorf("%s: %v -> %s\nwant %s", name, err, farm.Hint(err), x.want)
		}
	}
}

func TestSignature(t *testing.T) {
	const size = 1 << 20
	for _, m := range marks {
		raw := make([]byte, size)
		at := m.at
		if at < 0 {
			at += size
		}
		copy(raw[at:], m.mark)
		if got, err := Signature(bytes.NewReader(raw), size); err != nil || got != m.what {
			t.Errorf("%q at %d: %q, %v, want %q", m.mark, m.at, got, err, m.what)
		}
	}
	old := make([]byte, size+512)
	copy(old[size-0x10000:], "\xfc\x4e\x2b\xa9")
	if got, err := Signature(bytes.NewReader(old), size+512); err != nil || got != "a member of an md array" {
		t.Errorf("%q, %v", got, err)
	}
	for _, n := range []int64{0, 1, 511, 4096, size} {
		if got, err := Signature(bytes.NewReader(make([]byte, n)), n); err != nil || got != "" {
			t.Errorf("%d zeros: %q, %v", n, got, err)
		}
	}
	if _, err := Signature(bytes.NewReader(nil), size); err == nil {
		t.Error("a device that cannot be read has no signature")
	}
}
