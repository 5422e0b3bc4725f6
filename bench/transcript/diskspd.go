package transcript

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// diskSpd is what is read of the XML that diskspd -Rxml prints: what was asked for (Profile), and what came of each time span of it.
type diskSpd struct {
	XMLName xml.Name `xml:"Results"`
	System  struct {
		Computer string `xml:"ComputerName"`
		Tool     struct {
			Version string `xml:"Version"`
		} `xml:"Tool"`
	} `xml:"System"`
	Asked []struct {
		Warmup  float64         `xml:"Warmup"`
		Threads int             `xml:"ThreadCount"` // of all targets together, with -F
		Targets []diskSpdTarget `xml:"Targets>Target"`
	} `xml:"Profile>TimeSpans>TimeSpan"`
	Spans []diskSpdSpan `xml:"TimeSpan"`
}

type diskSpdTarget struct {
	Path        string   `xml:"Path"`
	Block       int64    `xml:"BlockSize"`
	Random      *string  `xml:"Random"` // the alignment; there or not
	RandomRatio float64  `xml:"RandomRatio"`
	Requests    int      `xml:"RequestCount"`
	Threads     int      `xml:"ThreadsPerFile"`
	Writes      float64  `xml:"WriteRatio"`
	Throughput  float64  `xml:"Throughput"`
	NoOSCache   bool     `xml:"DisableOSCache"`
	NoAllCache  bool     `xml:"DisableAllCache"`
	Through     bool     `xml:"WriteThrough"`
	WriteBuffer []string `xml:"WriteBufferContent>Pattern"`
}

type diskSpdSpan struct {
	Seconds float64 `xml:"TestTimeSeconds"`
	Threads int     `xml:"ThreadCount"`
	Latency *struct {
		Read    float64 `xml:"AverageReadMilliseconds"`
		Write   float64 `xml:"AverageWriteMilliseconds"`
		Total   float64 `xml:"AverageTotalMilliseconds"`
		Buckets []struct {
			Percentile float64 `xml:"Percentile"`
			Total      float64 `xml:"TotalMilliseconds"`
		} `xml:"Bucket"`
	} `xml:"Latency"`
	Targets []struct {
		ReadBytes  float64 `xml:"ReadBytes"`
		Reads      float64 `xml:"ReadCount"`
		WriteBytes float64 `xml:"WriteBytes"`
		Writes     float64 `xml:"WriteCount"`
	} `xml:"Thread>Target"`
}

// parseDiskSpd reads the XML. Several outputs behind each other in one file are as many documents.
func parseDiskSpd(text []byte) (printed, error) {
	p := printed{tool: "DiskSpd"}
	in := xml.NewDecoder(bytes.NewReader(text))
	in.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // names of files may suffer, figures do not
	for {
		start, line, err := nextElement(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p, xmlFault(in, err)
		}
		if start.Name.Local != "Results" {
			return p, faultAt(line, "it begins with <%s>, and DiskSpd's results with <Results>: was it run with -Rxml?", start.Name.Local)
		}
		var d diskSpd
		if err := in.DecodeElement(&d, &start); err != nil {
			return p, xmlFault(in, err)
		}
		if v := d.System.Tool.Version; v != "" {
			p.tool = "DiskSpd " + v
		}
		p.host = d.System.Computer
		if err := p.spans(d, line, spanLines(text, line)); err != nil {
			return p, err
		}
	}
	if len(p.runs) == 0 {
		return p, faultAt(1, "there are no results in it")
	}
	return p, nil
}

func nextElement(in *xml.Decoder) (xml.StartElement, int, error) {
	for {
		token, err := in.Token()
		if err != nil {
			return xml.StartElement{}, 0, err
		}
		if start, ok := token.(xml.StartElement); ok {
			line, _ := in.InputPos()
			return start, line, nil
		}
	}
}

func xmlFault(in *xml.Decoder, err error) error {
	line, _ := in.InputPos()
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		line = syntax.Line
	}
	return faultAt(line, "it is not XML of DiskSpd's: %v", strings.TrimPrefix(err.Error(), fmt.Sprintf("XML syntax error on line %d: ", line)))
}

// spanLines are the lines in which results of time spans begin, from a line on.
func spanLines(text []byte, from int) []int {
	var out []int
	line := 0
	for l := range bytes.Lines(text) {
		if line++; line >= from && bytes.Contains(l, []byte("<TestTimeSeconds>")) {
			out = append(out, line)
		}
	}
	return out
}

// spans makes a run of each time span.
func (p *printed) spans(d diskSpd, line int, lines []int) error {
	if len(d.Spans) == 0 {
		return faultAt(line, "it has no TimeSpan with results: it is a profile, or was cut short")
	}
	for i, s := range d.Spans {
		at := line
		if i < len(lines) {
			at = lines[i]
		}
		if s.Seconds <= 0 {
			return faultAt(at, "time span %d lasted %v seconds", i+1, s.Seconds)
		}
		x := run{line: at, seconds: s.Seconds, load: load{name: fmt.Sprintf("timespan-%d", i+1)}}
		var bytes, writes float64
		for _, t := range s.Targets {
			bytes, writes, x.reads = bytes+t.ReadBytes+t.WriteBytes, writes+t.Writes, x.reads+t.Reads
		}
		x.iops, x.reads, x.mbps = (x.reads+writes)/s.Seconds, x.reads/s.Seconds, bytes/s.Seconds/1e6
		if i < len(d.Asked) {
			x.asked(d.Asked[i].Targets, d.Asked[i].Threads)
		}
		if s.Latency == nil {
			x.notes = append(x.notes, "latency was not measured: diskspd -L")
		} else {
			x.lat.Mean = 1000 * s.Latency.Total
			for _, b := range s.Latency.Buckets {
				for _, want := range []struct {
					part float64
					to   *float64
				}{{0, &x.lat.Min}, {50, &x.lat.P50}, {95, &x.lat.P95}, {99, &x.lat.P99}, {99.9, &x.lat.P999}, {100, &x.lat.Max}} {
					if b.Percentile == want.part {
						*want.to = 1000 * b.Total
					}
				}
			}
		}
		p.runs = append(p.runs, x)
	}
	return nil
}

// asked is the load of a time span. Targets that were not asked for alike have no name of ours.
func (x *run) asked(targets []diskSpdTarget, threads int) {
	var paths []string
	for i, t := range targets {
		paths = append(paths, t.Path)
		l := load{name: x.name, pattern: "SEQ", op: operation(100 - t.Writes), block: t.Block, q: max(t.Requests, 1), t: max(t.Threads, 1), rate: t.Throughput, through: t.Through || t.NoAllCache}
		if t.Random != nil || t.RandomRatio == 100 {
			l.pattern = "RND"
		} else if t.RandomRatio > 0 {
			l.pattern = ""
		}
		if !t.NoOSCache && !t.NoAllCache {
			x.notes = append(x.notes, "the file cache of Windows was on: it may have answered (diskspd -Sh)")
		}
		switch {
		case i == 0:
			x.load = l
		case l != (load{name: l.name, pattern: x.pattern, op: x.op, block: x.block, q: x.q, t: l.t, rate: x.rate, through: x.through}):
			x.pattern = "" // of several kinds at once
		default:
			x.t += l.t
		}
	}
	if threads > 0 {
		x.t = threads
	}
	x.on = strings.Join(paths, ", ")
}
