package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"stowage/bench/matrix"
	"stowage/farm"
	"stowage/workspace"
)

// anyStep knows the steps that do not begin with X.
func anyStep(id string) error {
	if strings.HasPrefix(id, "X") {
		return &farm.Error{Op: "read step", Subject: id, Err: farm.ErrInput, Hint: "steps are named otherwise"}
	}
	return nil
}

func readMatrix(t *testing.T, text string) (*matrix.Matrix, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "matrix.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := workspace.ReadMatrix(path, anyStep)
	return m, filepath.Dir(path), err
}

const goodMatrix = `# a comment
directory: stands
loops: {count: 2, size: 1GiB}
profile: full
steps: [LOG4K-FDS-Q1T1, MIX]
runtime: 5s
rounds: 4
baseline: ext4 noatime queue defaults
axes:
  filesystem: [ext4, xfs]
  mount:
    ext4: [noatime, "noatime,nobarrier"]
    xfs: noatime
  mkfs: {xfs: ["", -m reflink=0]}
  queue: [defaults, {scheduler: mq-deadline, nr_requests: 64}]
  raid: [single]
  size: 256MiB
exclude:
  - {filesystem: xfs, queue: {scheduler: mq-deadline}}
  - {filesystem: ext4, mkfs: "", mount: "noatime,nobarrier", queue: {nr_requests: 64}, raid: single, size: 256MiB}
cells:
  - {name: two copies, filesystem: btrfs, raid: raid1, mount: nodatacow}
`

func TestReadMatrix(t *testing.T) {
	m, dir, err := readMatrix(t, goodMatrix)
	if err != nil {
		t.Fatal(err)
	}
	deadline := matrix.Queue{"scheduler": "mq-deadline", "nr_requests": "64"}
	want := &matrix.Matrix{
		Directory: filepath.Join(dir, "stands"), Loops: matrix.Loops{Count: 2, Size: 1 << 30}, Profile: "full", Steps: []string{"LOG4K-FDS-Q1T1", "MIX"}, Runtime: 5 * time.Second, Rounds: 4,
		Baseline: "ext4 noatime queue defaults",
		Axes: matrix.Axes{
			Filesystem: []string{"ext4", "xfs"}, Mkfs: matrix.Options{"xfs": {matrix.NoOptions, "-m reflink=0"}}, Mount: matrix.Options{"ext4": {"noatime", "noatime,nobarrier"}, "xfs": {"noatime"}},
			Queue: []matrix.Queue{nil, deadline}, RAID: []string{"single"}, Size: []int64{256 << 20},
		},
		Exclude: []matrix.Pattern{
			{Filesystem: "xfs", Queue: matrix.Queue{"scheduler": "mq-deadline"}},
			{Filesystem: "ext4", Mkfs: matrix.NoOptions, Mount: "noatime,nobarrier", Queue: matrix.Queue{"nr_requests": "64"}, RAID: "single", Size: 256 << 20},
		},
		Named: []matrix.Cell{{Name: "two copies", Filesystem: "btrfs", Mkfs: matrix.NoOptions, Mount: "nodatacow", RAID: "raid1", Size: 256 << 20}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v\nwant %+v", m, want)
	}
	if n := len(m.Cells()); n != 7 { // ext4: 2 mounts x 2 queues - 1, xfs: 2 mkfs, one by name, and the twin
		t.Errorf("%d cells: %+v", n, m.Cells())
	}
}

// TestMatrixFaults: each is one message with file, line, cause and remedy.
func TestMatrixFaults(t *testing.T) {
	base := "directory: d\nloops: {size: 1GiB}\naxes:\n  filesystem: [ext4]\n  size: 64MiB\n"
	for text, want := range map[string]string{
		"":                                  "matrix.yaml:1: the file is empty",
		"- a\n":                             "matrix.yaml:1: the file must hold keys and values, not a list",
		"directory: [\n":                    "this is not YAML",
		base + "stepz: [MIX]\n":             `matrix.yaml:6: unknown key "stepz" in the matrix; did you mean "steps"?`,
		base + "rounds: 0\n":                "matrix.yaml:6: rounds must be a whole number from 1 to 100, not 0",
		base + "rounds: many\n":             "matrix.yaml:6: rounds must be a whole number from 1 to 100, not many",
		base + "profile: slow\n":            `matrix.yaml:6: unknown profile "slow"; the profiles are quick and full`,
		base + "runtime: 10ms\n":            "matrix.yaml:6: runtime is 200ms or more",
		base + "runtime: soon\n":            "matrix.yaml:6: runtime wants a time such as 500ms or 10m, not soon",
		base + "steps: [MIX, XYZ]\n":        `matrix.yaml:6: no step "XYZ": steps are named otherwise`,
		base + "baseline: none\n":           `matrix.yaml:6: no cell is called "none"; the first is "ext4"`,
		base + "exclude: [{fs: xfs}]\n":     `unknown key "fs" in an entry of exclude; known are filesystem, mkfs, mount, queue, raid, size`,
		base + "exclude: [{raid: raid1}]\n": "matrix.yaml:6: this excludes no cell",
		base + "cells:\n  - {name: a, filesystem: zfs}\n":                                                      `matrix.yaml:7: no file system "zfs" is known here: it is xfs, ext4, btrfs`,
		"directory: d\nloops: {count: 1}\naxes: {filesystem: xfs, size: 64MiB}\n":                              "matrix.yaml:2: how large the loops are is not said",
		"directory: d\nloops: {size: 64MiB}\naxes: {filesystem: xfs, size: 64MiB}\n":                           "matrix.yaml:2: size of loops is 320MiB or more",
		"loops: {size: 1GiB}\naxes: {filesystem: xfs, size: 64MiB}\n":                                          "directory is missing",
		"directory: d\naxes: {filesystem: xfs, size: 64MiB}\n":                                                 "what is measured is not said",
		"directory: d\nloops: {size: 1GiB}\naxes: {filesystem: xfs, size: 64MB/s}\n":                           "axis size wants bytes such as 48GB, not 64MB/s",
		"directory: d\nloops: {size: 1GiB}\naxes: {filesystem: xfs, size: 2GiB}\n":                             "a test file of 2GiB does not fit into 1GiB of loops",
		"directory: d\nloops: {size: 1GiB}\naxes: {filesystem: xfs, raid: raid1, size: 64MiB}\n":               "raid1 needs 2 devices, and there are 1",
		"directory: d\nloops: {size: 1GiB}\naxes: {filesystem: xfs, size: 64MiB,\n  mount: logdev=/dev/sda}\n": "matrix.yaml:4: mount options may hold letters",
	} {
		_, _, err := readMatrix(t, text)
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) || farm.Hint(err) == "" {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "problems") {
			t.Errorf("%q: one mistake, several messages: %v", text, err)
		}
	}
	if _, err := workspace.ReadMatrix(filepath.Join(t.TempDir(), "none.yaml"), anyStep); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing: %v", err)
	}
}

func FuzzReadMatrix(f *testing.F) {
	f.Add(goodMatrix)
	f.Add("axes: {filesystem: [xfs], size: [1, 2], mkfs: {a: {b: c}}}")
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := readMatrix(t, text)
		if err == nil && len(m.Cells()) < 2 {
			t.Errorf("no cells and no error")
		}
	})
}
