package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/safefile"
)

// ErrRevoked: a certificate is of the farm's authority and is not accepted any
// more, because its key is in the hands of others or may be.
var ErrRevoked = errors.New("the certificate is revoked")

// Revocation is one certificate that is not accepted any more.
type Revocation struct {
	Serial string        `json:"serial"` // hexadecimal
	Host   farm.HostName `json:"host"`
	Date   string        `json:"date"`
	Reason string        `json:"reason,omitempty"`
}

func serialOf(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// revocations are a list that only grows: of a file that another process may
// write (the controller's), or of one that this process keeps (an agent's). The
// zero value has no file and no entry. A file holds one serial number a line,
// below a comment that says whose it was.
type revocations struct {
	path string

	mu      sync.Mutex
	read    os.FileInfo // the file that was read last
	all     []Revocation
	known   map[string]Revocation
	unsaved bool
	grew    chan struct{} // closed when an entry has been added
}

func openRevocations(path string) (*revocations, error) {
	r := &revocations{path: path}
	return r, r.refresh()
}

// refresh reads the file when it is another one than last time. What is known
// stays known, whatever became of the file.
func (r *revocations) refresh() error {
	if r.path == "" {
		return nil
	}
	about, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fail := func(err error) error {
		return &farm.Error{Op: "read revoked certificates", Subject: r.path, Err: fmt.Errorf("%w: %w", farm.ErrRefused, err),
			Hint: "bring the file back from a copy: no certificate is accepted while it cannot be read"}
	}
	if err != nil {
		return fail(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read != nil && os.SameFile(r.read, about) && r.read.ModTime().Equal(about.ModTime()) && r.read.Size() == about.Size() {
		return nil
	}
	raw, err := safefile.ReadInput(r.path, 64<<20)
	if err != nil {
		return fail(err)
	}
	list, err := parseSerials(raw)
	if err != nil {
		return fail(err)
	}
	r.read = about
	r.take(list)
	return nil
}

// take adds what is new, and says whether anything was.
func (r *revocations) take(list []Revocation) bool {
	if r.known == nil {
		r.known = map[string]Revocation{}
	}
	before := len(r.all)
	for _, x := range list {
		if _, ok := r.known[x.Serial]; !ok && isSerial(x.Serial) {
			r.known[x.Serial] = x
			r.all = append(r.all, x)
		}
	}
	if len(r.all) == before {
		return false
	}
	if r.grew != nil {
		close(r.grew)
		r.grew = nil
	}
	return true
}

// add takes in what a controller has said, and keeps it on the disk. What
// cannot be kept is in force for as long as the process lives, and is written
// with the next call.
func (r *revocations) add(list []Revocation) (added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added = r.take(list)
	if r.unsaved = r.unsaved || added; !r.unsaved {
		return false, nil
	}
	if err := writeFile(r.path, formatSerials(r.all)); err != nil {
		return added, err
	}
	r.unsaved = false
	return added, nil
}

// list is what a controller tells an agent.
func (r *revocations) list() []Revocation {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Revocation(nil), r.all...)
}

// check refuses a certificate that is revoked, and every one when the list
// cannot be read.
func (r *revocations) check(c *x509.Certificate) error {
	if r == nil {
		return nil
	}
	if err := r.refresh(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x, revoked := r.known[serialOf(c)]
	if !revoked {
		return nil
	}
	err := fmt.Errorf("%w: %w, since %s", farm.ErrRefused, ErrRevoked, x.Date)
	if x.Reason != "" {
		err = fmt.Errorf("%w: %s", err, x.Reason)
	}
	return &farm.Error{Op: "accept certificate", Subject: c.Subject.CommonName, Err: err,
		Hint: "when the host can be trusted again: stowage agent certs --renew " + c.Subject.CommonName + ", copy the directory to it, restart its agent"}
}

// peer is check for a TLS configuration.
func (r *revocations) peer(about tls.ConnectionState) error {
	if len(about.PeerCertificates) == 0 {
		return nil // what the configuration demands of it has been checked
	}
	return r.check(about.PeerCertificates[0])
}

// guard gives a context that ends when the certificate is revoked.
func (r *revocations) guard(ctx context.Context, c *x509.Certificate) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			r.mu.Lock()
			if r.grew == nil {
				r.grew = make(chan struct{})
			}
			grew := r.grew
			_, revoked := r.known[serialOf(c)]
			r.mu.Unlock()
			if revoked {
				cancel(r.check(c))
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-grew:
			}
		}
	}()
	return ctx, cancel
}

func isSerial(text string) bool {
	n, ok := new(big.Int).SetString(text, 16)
	return ok && n.Sign() > 0 && n.Text(16) == text
}

// parseSerials reads the form of revoked and issued. A line that is neither is
// an error: a serial number that was spoiled must not pass unnoticed.
func parseSerials(raw []byte) ([]Revocation, error) {
	var out []Revocation
	var about Revocation
	for n, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		switch {
		case line == "":
		case isComment:
			f := strings.SplitN(comment, ",", 3)
			for len(f) < 3 {
				f = append(f, "")
			}
			about = Revocation{Host: farm.HostName(strings.TrimSpace(f[0])), Date: strings.TrimSpace(f[1]), Reason: strings.TrimSpace(f[2])}
		case isSerial(line):
			about.Serial = line
			out = append(out, about)
		default:
			return nil, fmt.Errorf("line %d is neither a comment nor a serial number: %.40q", n+1, line)
		}
	}
	return out, nil
}

func formatSerials(list []Revocation) []byte {
	var b bytes.Buffer
	for _, x := range list {
		fmt.Fprintf(&b, "# %s, %s, %s\n%s\n", x.Host, x.Date, oneLine(x.Reason), x.Serial)
	}
	return b.Bytes()
}

// oneLine keeps a person's words from becoming a line of their own.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
