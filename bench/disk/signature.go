package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// marks are what file systems, tables and members of arrays begin with, each at its place from the beginning, or, below 0, from the end.
// Sources: the on-disk formats in the kernel's headers (xfs_format.h, ext4.h, btrfs_tree.h, md_p.h, swap.h), UEFI for GPT, LVM2's label.h, LUKS2's specification.
var marks = []struct {
	what string
	at   int64
	mark string
}{
	{"an xfs file system", 0, "XFSB"},
	{"an ext file system", 1080, "\x53\xef"},
	{"a btrfs file system", 65600, "_BHRfS_M"},
	{"swap space", 4086, "SWAPSPACE2"},
	{"swap space", 4086, "SWAP-SPACE"},
	{"a partition table (GPT)", 512, "EFI PART"},
	{"a partition table (GPT)", 4096, "EFI PART"},
	{"a partition table (GPT)", -512, "EFI PART"},
	{"a partition table (GPT)", -4096, "EFI PART"},
	{"a physical volume of LVM", 0, "LABELONE"},
	{"a physical volume of LVM", 512, "LABELONE"},
	{"a physical volume of LVM", 1024, "LABELONE"},
	{"a physical volume of LVM", 1536, "LABELONE"},
	{"a member of an md array", 0, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", 4096, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", -8192, "\xfc\x4e\x2b\xa9"},
	{"an encrypted device (LUKS)", 0, "LUKS\xba\xbe"},
	{"an ntfs file system", 3, "NTFS    "},
	{"an exfat file system", 3, "EXFAT   "},
	{"an f2fs file system", 1024, "\x10\x20\xf5\xf2"},
	{"a gfs2 file system", 65536, "\x01\x16\x19\x70"},
	{"a device of bcache", 4120, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
	{"an iso9660 file system", 32769, "CD001"},
	{"a device of bluestore", 0, "bluestore block device"},
	{"a member of a zfs pool", 131072, "\x0c\xb1\xba\x00\x00\x00\x00\x00"}, // the first uberblock of the first label
	{"a partition table (or a boot sector)", 510, "\x55\xaa"},
}

// Signature says what is on a device, as far as its marks tell; "" where none is known.
func Signature(r io.ReaderAt, size int64) (string, error) {
	for _, m := range marks {
		at := m.at
		if at < 0 {
			at += size
		}
		if at < 0 || at+int64(len(m.mark)) > size {
			continue
		}
		buf := make([]byte, len(m.mark))
		if _, err := r.ReadAt(buf, at); err != nil {
			return "", fmt.Errorf("it cannot be read at %d: %w", at, err)
		}
		if string(buf) == m.mark {
			return m.what, nil
		}
	}
	return raid090(r, size)
}

// raid090 looks for the old superblock of md, which is in the last 64 KiB that begin at a multiple of 64 KiB.
func raid090(r io.ReaderAt, size int64) (string, error) {
	at := size&^0xffff - 0x10000
	if at < 0 {
		return "", nil
	}
	buf := make([]byte, 4)
	if _, err := r.ReadAt(buf, at); err != nil {
		return "", fmt.Errorf("it cannot be read at %d: %w", at, err)
	}
	if binary.LittleEndian.Uint32(buf) == 0xa92b4efc || binary.BigEndian.Uint32(buf) == 0xa92b4efc {
		return "a member of an md array", nil
	}
	return "", nil
}

// uuids are where file systems keep theirs: behind a mark.
var uuids = map[string]struct {
	uuid, mark int64  // where
	is         string // the mark
	end        int64  // how much is overwritten to take the file system away
}{
	"xfs":   {32, 0, "XFSB", 4096},
	"ext4":  {1024 + 104, 1080, "\x53\xef", 4096},
	"btrfs": {65536 + 32, 65600, "_BHRfS_M", 65536 + 4096},
}

// UUID is that of the file system on a device; "" where there is none of that kind.
func UUID(r io.ReaderAt, filesystem string) string {
	f, known := uuids[filesystem]
	if !known {
		return ""
	}
	mark, id := make([]byte, len(f.is)), make([]byte, 16)
	if _, err := r.ReadAt(mark, f.mark); err != nil || string(mark) != f.is {
		return ""
	}
	if _, err := r.ReadAt(id, f.uuid); err != nil {
		return ""
	}
	x := hex.EncodeToString(id)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// readWriter is a device that is open for both.
type readWriter interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

var errNotOurs = errors.New("the file system on it is not the one that was made there")

// Wipe overwrites the beginning of a file system, if it is the one with that UUID; whatever else lies there is not ours.
func Wipe(d readWriter, filesystem, uuid string) error {
	f, known := uuids[filesystem]
	if !known || uuid == "" || UUID(d, filesystem) != uuid {
		return errNotOurs
	}
	// The mark goes last: until then the file system is known as ours, and this can be done again.
	zeros := bytes.Repeat([]byte{0}, int(f.end))
	from := f.mark / 512 * 512
	if from+512 < f.end {
		if _, err := d.WriteAt(zeros[from+512:], from+512); err != nil {
			return err
		}
	}
	if _, err := d.WriteAt(zeros[:from+512], 0); err != nil {
		return err
	}
	return d.Sync()
}
