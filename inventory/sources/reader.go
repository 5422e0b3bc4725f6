package sources

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/internal/lazy"
	"stowage/internal/safefile"
	"stowage/inventory/claims"
)

// mostBytes is more than any file here has that is read as a whole.
const mostBytes = 256 << 20

// mostFaults of one source are kept; the rest are one mistake made often.
const mostFaults = 20

// reader collects what one source says.
type reader struct {
	spec   claims.Spec
	dir    string // of the workspace
	claims []claims.Claim
	faults []claims.Fault
	more   int
	at     time.Time // of the newest file
	why    string    // why it is read only in part, though nothing in it is wrong
}

// say makes a claim. Templates are claims that nobody can read.
func (r *reader) say(s claims.Subject, attribute, value string, place claims.Place) {
	c := claims.Claim{Subject: s, Attribute: attribute, Value: value, Place: place}
	if isSecret(attribute) {
		return
	}
	if isTemplate(value) {
		c.Unknown, c.Value = true, "template"
	}
	c.Subject.Name, _ = withoutUser(s.Name)
	if plain, ok := withoutUser(c.Value); ok {
		c.Value = plain
	} else {
		c.Unknown, c.Value = true, "a socket"
	}
	r.claims = append(r.claims, c)
}

// hide claims that there is a value which cannot be read here, and why.
func (r *reader) hide(s claims.Subject, attribute, why string, place claims.Place) {
	s.Name, _ = withoutUser(s.Name)
	r.claims = append(r.claims, claims.Claim{Subject: s, Attribute: attribute, Value: why, Unknown: true, Place: place})
}

func (r *reader) fault(place claims.Place, format string, args ...any) {
	if len(r.faults) >= mostFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, claims.Fault{Source: r.spec.Name, Place: place.String(), Text: fmt.Sprintf(format, args...)})
}

var (
	secrets   = lazy.Regexp(`(?i)pass|secret|token|(^|[._-])key$|credential`)
	templates = []string{"{{", "{%", "<%", "${", "%env(", "$ANSIBLE_VAULT"}
)

// withoutUser is a text without the user and the password that an address in it
// may hold. It is false for one of which nothing is left.
func withoutUser(text string) (string, bool) {
	if !strings.Contains(text, "@") && !strings.Contains(text, "mysql:") {
		return text, true
	}
	if d, ok := parseDSN(text); ok {
		return cmp.Or(strings.Join(d.addresses, ","), d.database), len(d.addresses) > 0
	}
	return bare(text), true
}

// isSecret: names are few and are asked of every value.
func isSecret(name string) bool {
	if known, ok := judged.Load(name); ok {
		return known.(bool)
	}
	is := secrets().MatchString(name)
	judged.Store(strings.Clone(name), is)
	return is
}

var judged sync.Map // name of an attribute -> bool

func isTemplate(value string) bool {
	return slices.ContainsFunc(templates, func(t string) bool { return strings.Contains(value, t) })
}

// files are those that a path or a pattern names, sorted.
func (r *reader) files() ([]string, error) {
	path := r.spec.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	if !strings.ContainsAny(path, "*?[") {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		return []string{path}, nil
	}
	found, err := filepath.Glob(path)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no file is named %s", r.spec.Path)
	}
	slices.Sort(found)
	return found, nil
}

// text is a file's content, without a byte order mark.
func (r *reader) text(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.ModTime().After(r.at) {
		r.at = info.ModTime()
	}
	src, err := safefile.ReadInput(path, mostBytes)
	if i := bytes.IndexByte(src, 0); err == nil && i >= 0 {
		err = fmt.Errorf("line %d: this is not text in UTF-8: there is a zero byte", 1+bytes.Count(src[:i], []byte("\n")))
	}
	return bytes.TrimPrefix(src, []byte("\ufeff")), err
}

// shown is a path as reports have it: relative to the workspace where it is in there.
func (r *reader) shown(path string) string {
	if rel, err := filepath.Rel(r.dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func (r *reader) subject(other claims.Kind) claims.Kind {
	if r.spec.Subject != "" {
		return r.spec.Subject
	}
	return other
}

// eachFile reads every file of a source. One that cannot be read is a fault of
// the source; if none can, the source is down.
func (r *reader) eachFile(read func(file string, src []byte)) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	for _, path := range files {
		src, err := r.text(path)
		if err != nil {
			if len(files) == 1 {
				return err
			}
			r.fault(claims.Place{Where: r.shown(path)}, "%s", err)
			continue
		}
		read(r.shown(path), src)
	}
	return nil
}

// splitName takes HOST:PORT apart: two columns, paths or variables that are one address.
func splitName(name string) (host, port string, ok bool) {
	host, port, ok = strings.Cut(name, ":")
	return host, port, ok && host != "" && port != ""
}

// together is an address made of its two parts. A host that brings a port along, or is a data source name, stays as it is.
func together(host, port string) string {
	if _, isDSN := parseDSN(host); host == "" || port == "" || isDSN {
		return host
	}
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
