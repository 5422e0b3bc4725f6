package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// csvColumns begin as spreadsheets made from SQLIO's output do, with its letters (operation kind R or W, -f, -b, -o, -t, -s), and go on
// with what SQLIO did not tell. One row is one run.
var csvColumns = []string{
	"Test", "Run", "Kind", "IO Type", "Block KB", "Outstanding", "Threads", "Seconds", "IOs/sec", "MBs/sec", "Min Lat(ms)", "Avg Lat(ms)", "Max Lat(ms)",
	"p50(ms)", "p95(ms)", "p99(ms)", "p99.9(ms)", "Write Avg Lat(ms)", "Durable", "Read %", "Seq", "Began", "Client CPUs", "PSI CPU", "PSI IO", "Steal", "Foreign", "Short",
	"Host", "Directory", "File System", "Device", "File MB", "Profile",
}

// WriteCSV writes a row for each run of each step. MBs are 2^20 bytes, as SQLIO counts them; latencies are in milliseconds.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return err
	}
	if err := r.writeRows(out); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// Named is one of several results, with the name that tells it from the others.
type Named struct {
	Name   string
	Result *Result
}

// WriteCellsCSV writes the rows of several results below each other, the name of each in a last column.
func WriteCellsCSV(w io.Writer, all []Named) error {
	out := csv.NewWriter(w)
	if err := out.Write(append(slices.Clone(csvColumns), "Cell")); err != nil {
		return err
	}
	for _, n := range all {
		if err := n.Result.writeRows(out, n.Name); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeRows writes a row for each run, with more behind its columns.
func (r *Result) writeRows(out *csv.Writer, more ...string) error {
	device := ""
	if d := r.Environment.Device; d != nil {
		device = d.Name
	}
	for _, s := range r.Steps {
		kind, reads := map[string]string{"R": "R", "W": "W"}[s.Op], 0.0
		if kind == "" {
			kind = "RW"
		}
		pattern := map[string]string{"RND": "random"}[s.Pattern]
		if pattern == "" {
			pattern = "sequential"
		}
		for i, x := range s.Samples {
			if x.IOPS > 0 {
				reads = 100 * x.ReadIOPS / x.IOPS
			}
			write := ""
			if x.WriteLat != nil {
				write = millis(x.WriteLat.Mean)
			}
			row := []string{
				s.ID, strconv.Itoa(i + 1), kind, pattern, strconv.FormatInt(s.Block>>10, 10), strconv.Itoa(s.Outstanding), strconv.Itoa(s.Threads), number(x.Seconds),
				number(x.IOPS), number(x.MBps * 1e6 / (1 << 20)), millis(x.Lat.Min), millis(x.Lat.Mean), millis(x.Lat.Max),
				millis(x.Lat.P50), millis(x.Lat.P95), millis(x.Lat.P99), millis(x.Lat.P999), write, strconv.FormatBool(s.Durable), number(reads),
				strconv.Itoa(x.Seq), x.Began.UTC().Format(time.RFC3339), number(x.ClientCPU), number(x.Noise.CPU), number(x.Noise.IO), number(x.Noise.Steal), number(x.Noise.Foreign),
				strconv.FormatBool(x.Check.Short), r.Environment.Host, r.Environment.Directory, r.Environment.Filesystem, device, fmt.Sprint(r.Settings.Size >> 20), r.Profile,
			}
			if r.IsSecondhand() {
				blank(row, r.Kind == Entered)
			}
			if err := out.Write(append(row, more...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// blank empties what nobody gave: 0 in a result that bench run has not measured is not a figure. Of one that was typed in the load is not known either.
// Columns are those of csvColumns.
func blank(row []string, isEntered bool) {
	for i, name := range csvColumns {
		switch name {
		case "Test", "Run", "Durable", "Directory", "File System", "Profile", "Host", "Device":
		case "Short", "Began", "Seq":
			row[i] = ""
		case "IO Type", "Kind", "Read %":
			if isEntered {
				row[i] = ""
			}
		default:
			if row[i] == "0" {
				row[i] = ""
			}
		}
	}
}

func millis(us float64) string { return number(us / 1000) }

// number has four digits behind the point at most, and none that say nothing.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }
