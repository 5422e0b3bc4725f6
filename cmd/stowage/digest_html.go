package main

import (
	"bytes"
	"fmt"

	"stowage/digest"
	"stowage/farm"
	"stowage/report"
)

// writeDigestHTML writes the page of a digest: the classes that are printed in detail.
func (a *app) writeDigestHTML(d *digest.Digest, f digestFlags) error {
	l := d.Listing()
	if f.order != "" {
		if err := l.OrderBy(f.order); err != nil {
			return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
		}
	}
	if f.limit == "" {
		l.Top(f.top)
	}
	l.Plans(f.plans)
	if f.anonymize {
		l.Anonymize()
	}
	if err := f.cut(l, false); err != nil {
		return &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "stowage digest --help"}
	}
	r := l.Report()
	t := d.Trend(digest.TrendOptions{Classes: max(2*len(r.Classes), 100)}) // in another order some lie farther back
	return a.writeHTML(f.html, report.NewDigestDocument(r, t))
}

// writeHTML writes a page for its owner only: it shows statements of clients.
func (a *app) writeHTML(path string, d *report.DigestDocument) error {
	var b bytes.Buffer
	if err := d.WriteHTML(&b); err != nil {
		return err
	}
	if err := writeSecret(path, b.Bytes()); err != nil {
		return err
	}
	a.say("wrote %s", path)
	return nil
}
