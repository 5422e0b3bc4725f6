package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/farm"
)

// File is what one program printed.
type File struct {
	Name string
	Text []byte
}

// run is one load as one program measured it once. What is not known of it is 0.
type run struct {
	load
	line     int    // where it stands
	on       string // the file or device it went to
	seconds  float64
	iops     float64
	reads    float64 // of them
	mbps     float64
	lat      result.Latency
	writeLat *result.Latency
	times    stat.Histogram
	notes    []string // what must be known of its figures
}

// printed is what a file holds.
type printed struct {
	tool, host string
	runs       []run
}

// fault is what is wrong with a file, and where.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

func faultAt(line int, format string, args ...any) error {
	return &fault{line, fmt.Sprintf(format, args...)}
}

// lineOf is the line in which a byte stands.
func lineOf(text []byte, at int64) int {
	return 1 + bytes.Count(text[:max(0, min(at, int64(len(text))))], []byte("\n"))
}

// Read makes one result of all files. Errors wrap farm.ErrInput and name file and line.
func Read(files []File) (*result.Result, error) {
	r := &result.Result{FormatVersion: result.FormatVersion, Kind: result.Imported, Profile: result.Imported, Complete: true, Valid: true}
	var tools, names []string
	for _, f := range files {
		p, err := parse(f.Text)
		if err != nil {
			return nil, refuse(f.Name, err)
		}
		for _, x := range p.runs {
			if err := x.check(); err != nil {
				return nil, refuse(f.Name, faultAt(x.line, "%s", err))
			}
			take(r, f.Name, x)
		}
		tools, names = append(tools, p.tool), append(names, filepath.Base(f.Name))
		if p.host != "" && r.Environment.Host == "" {
			r.Environment.Host = p.host
		}
	}
	if len(r.Steps) == 0 {
		return nil, &farm.Error{Op: "import", Err: fmt.Errorf("%w: no file was named", farm.ErrInput), Hint: "stowage bench import FILE..."}
	}
	slices.Sort(tools)
	tools = slices.Compact(tools)
	r.Environment.Fio = strings.Join(tools, ", ")
	r.Source = r.Environment.Fio + ": " + strings.Join(names, ", ")
	return r, nil
}

func refuse(name string, err error) error {
	subject := name
	var at *fault
	if errors.As(err, &at) && at.line > 0 {
		subject = fmt.Sprintf("%s:%d", name, at.line)
	}
	return &farm.Error{Op: "import", Subject: subject, Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
		Hint: "give what fio --output-format=json, diskspd -Rxml or sqlio printed, whole"}
}

// parse finds out whose output it is.
func parse(text []byte) (printed, error) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	switch {
	case len(trimmed) == 0:
		return printed{}, faultAt(1, "it is empty")
	case bytes.HasPrefix(trimmed, []byte("<")):
		return parseDiskSpd(text)
	case bytes.Contains(text, []byte("IOs/sec:")) || bytes.Contains(text, []byte("sqlio v")):
		return parseSQLIO(text)
	case jsonBegins(text) >= 0:
		return parseFio(text)
	}
	return printed{}, faultAt(1, "it is not output of fio (JSON), DiskSpd (XML) or SQLIO (text)")
}

// check refuses figures that are none.
func (x run) check() error {
	for _, v := range []float64{x.seconds, x.iops, x.reads, x.mbps, x.lat.Min, x.lat.Mean, x.lat.P50, x.lat.P95, x.lat.P99, x.lat.P999, x.lat.Max} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) || v > 1e15 {
			return fmt.Errorf("%s has a figure that cannot be: %v", x.id(), v)
		}
	}
	if x.iops == 0 {
		return fmt.Errorf("%s did no I/O", x.id())
	}
	return nil
}
