package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// door lets in who has the link, once, who has a token of the list, and from then on who has the session that was given out.
type door struct {
	cookie      string // its name; a port has its own, because browsers do not tell cookies of ports apart
	name        string // that was listened on besides addresses and localhost; may be empty
	viewers     func() []Viewer
	certificate func() *tls.Certificate
	key         []byte // makes a token's session; of this start
	misses      misses

	mu      sync.Mutex
	token   string // of the link; empty: it was used
	session string // of the link
}

// linked is who looks with the session of the printed link, in the log. A name in the list of tokens has no space.
const linked = "the printed link"

func newDoor(o Options) *door {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		host, port = o.Listen, ""
	}
	d := &door{
		cookie: "stowage" + port, name: strings.ToLower(host), viewers: o.Viewers, certificate: o.Certificate,
		key: []byte(rand.Text() + rand.Text()), token: rand.Text() + rand.Text(), session: rand.Text() + rand.Text(),
	}
	if d.isSecure() {
		d.cookie = "__Host-" + d.cookie // browsers take it over TLS only, and no other host of the domain can set it
	}
	return d
}

func (d *door) isSecure() bool { return d.certificate != nil }

// scheme is what addresses of this server begin with.
func (d *door) scheme() string {
	if d.isSecure() {
		return "https://"
	}
	return "http://"
}

// link is where to enter, as long as nobody has.
func (d *door) link(address string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.scheme() + address + enterPath + "?" + url.Values{"token": {d.token}}.Encode()
}

// enter spends the token. It reports whether this was it.
func (d *door) enter(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == "" || !same(token, d.token) {
		return false
	}
	d.token = ""
	return true
}

// grant gives a session to a browser that has entered.
func (d *door) grant(w http.ResponseWriter, session string) {
	http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: session, Path: "/", HttpOnly: true, Secure: d.isSecure(), SameSite: http.SameSiteStrictMode})
}

// visitor says whose session a request has. A token that is no longer in the list has none.
func (d *door) visitor(r *http.Request) (name string, known bool) {
	c, err := r.Cookie(d.cookie)
	if err != nil {
		return "", false
	}
	name, known = d.find(c.Value, d.sessionOf)
	if same(c.Value, d.session) {
		return linked, true
	}
	return name, known
}

// find is the viewer of whom this is the session, or the proof. All are compared, whoever it is: how long that takes tells nothing.
func (d *door) find(given string, of func(token string) string) (name string, found bool) {
	if d.viewers == nil {
		return "", false
	}
	for _, v := range d.viewers() {
		if same(given, of(v.Token)) {
			name, found = v.Name, true
		}
	}
	return name, found
}

// sessionOf is the session of a token, for as long as the token is in the list and this start lasts. Nothing has to be kept for it, or removed.
func (d *door) sessionOf(token string) string { return d.seal("session", token) }

// proofOf is a token in a form of which all are equally long, to be compared.
func (d *door) proofOf(token string) string { return d.seal("token", token) }

func (d *door) seal(what, token string) string {
	h := hmac.New(sha256.New, d.key)
	h.Write([]byte(what + " " + token))
	return hex.EncodeToString(h.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// mayBeCalled says whether a Host header names this server in a way that nobody else can bring about. A page of somebody else can have its own name lead to
// our address after it was loaded, and would then read ours as its own; an address, or localhost, is not a name that anybody can have lead elsewhere, and for a
// name of the certificate no other page could be loaded.
func (d *door) mayBeCalled(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host {
		return false
	}
	name := strings.ToLower(u.Hostname())
	switch {
	case net.ParseIP(name) != nil || name == "localhost" || name != "" && name == d.name:
		return true
	case name == "" || d.certificate == nil:
		return false
	}
	c := d.certificate()
	return c.Leaf != nil && c.Leaf.VerifyHostname(name) == nil
}

// Loopback says whether what listens on an address can be reached from this machine only.
func Loopback(bound net.Addr) bool {
	t, ok := bound.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
