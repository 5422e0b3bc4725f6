package probe

import "testing"

// TestLsblkSizes: with -b sizes are numbers, or text in older versions; without it
// they have a unit, of 1024.
func TestLsblkSizes(t *testing.T) {
	for size, want := range map[string]int64{
		`480103981056`: 480103981056, `"480103981056"`: 480103981056, `"447.1G"`: 480069969510, `"1,8T"`: 1979120929996, `"0B"`: 0,
		`"many"`: -1, `null`: -1, `"-3G"`: -1,
	} {
		disks, err := parseLsblk(`{"blockdevices": [{"name": "sda", "type": "disk", "size": ` + size + `}]}`)
		if err != nil || len(disks) != 1 || disks[0].Size != want {
			t.Errorf("size %s: %+v %v, want %d", size, disks, err, want)
		}
	}
}
