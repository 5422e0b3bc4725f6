package workspace

import (
	"errors"
	"io/fs"
	"math"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// reportFile is what people add to the report, beside what Stowage has kept.
const reportFile = "report.yaml"

var (
	reportKeys   = []string{"ledger", "accepted"}
	ledgerKeys   = []string{"by", "again", "acknowledged", "lost", "duplicated", "failed_queries", "stale_reads", "retried", "longest_pause"}
	acceptedKeys = []string{"check", "subject", "why", "by", "date"}
)

// Said is what report.yaml holds.
type Said struct {
	Ledger   *farm.Ledger
	Accepted []farm.Accepted
}

// Said reads report.yaml; without it nothing was said. Its faults come in one
// error, which wraps farm.ErrInput.
func (w *Workspace) Said() (Said, error) {
	src, err := read(w.Path(reportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Said{}, nil
	}
	if err != nil {
		return Said{}, &farm.Error{Op: "read", Subject: reportFile, Err: err}
	}
	r := saidReader{reader: reader{faults: faults{file: reportFile}}}
	if onlyComments(src) {
		return r.said, nil
	}
	if root := r.parseYAML(src); root != nil {
		r.document(root)
	}
	return r.said, r.err()
}

type saidReader struct {
	reader
	said Said
}

func (r *saidReader) document(root *yaml.Node) {
	r.fields(root, func() string { return reportFile }, reportKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "ledger":
			r.ledger(v)
		case "accepted":
			for _, n := range r.items(v, key) {
				r.accepted(n)
			}
		default:
			return false
		}
		return true
	})
}

func (r *saidReader) ledger(n *yaml.Node) {
	l := &farm.Ledger{}
	r.said.Ledger = l
	r.fields(n, func() string { return "the ledger" }, ledgerKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of the ledger" }
		number := func() int64 { return r.whole(v, what, 0, math.MaxInt64) }
		maybe := func() *int64 { x := number(); return &x }
		switch key {
		case "by":
			l.By = r.text(v, what)
		case "again":
			l.Again = r.text(v, what)
		case "acknowledged":
			l.Acknowledged = number()
		case "lost":
			l.Lost = number()
		case "duplicated":
			l.Duplicated = number()
		case "failed_queries":
			l.Failed = maybe()
		case "stale_reads":
			l.Stale = maybe()
		case "retried":
			l.Retried = maybe()
		case "longest_pause":
			d := r.duration(v, what())
			l.LongestPause = &d
		default:
			return false
		}
		return true
	})
	// A figure that nobody gave must not be shown as 0.
	for _, key := range []string{"by", "acknowledged", "lost", "duplicated"} {
		if n.Kind == yaml.MappingNode && value(n, key) == nil && !r.meant[missing{n, key}] {
			r.add(n.Line, "%s of the ledger is missing", key)
		}
	}
}

func (r *saidReader) accepted(n *yaml.Node) {
	var a farm.Accepted
	into := map[string]*string{"check": &a.Check, "subject": &a.Subject, "why": &a.Why, "by": &a.By, "date": &a.Date}
	r.fields(n, func() string { return "an accepted finding" }, acceptedKeys, func(key string, v *yaml.Node) bool {
		field, ok := into[key]
		if ok {
			*field = r.text(v, func() string { return key + " of an accepted finding" })
		}
		return ok
	})
	for _, key := range []string{"check", "why", "by"} {
		if n.Kind == yaml.MappingNode && value(n, key) == nil && !r.meant[missing{n, key}] {
			r.add(n.Line, "%s of an accepted finding is missing", key)
		}
	}
	r.said.Accepted = append(r.said.Accepted, a)
}
