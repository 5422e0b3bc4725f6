package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// door lets in who has the link, once, and from then on who has the session that it gave out.
type door struct {
	cookie string // its name; a port has its own, for browsers do not tell cookies of ports apart
	name   string // that was listened on besides addresses and localhost; may be empty

	mu      sync.Mutex
	token   string // empty: it was used
	session string
}

func newDoor(listen string) *door {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		host, port = listen, ""
	}
	return &door{cookie: "stowage" + port, name: strings.ToLower(host), token: rand.Text() + rand.Text(), session: rand.Text() + rand.Text()}
}

// link is where to enter, as long as nobody has.
func (d *door) link(address string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return "http://" + address + enterPath + "?" + url.Values{"token": {d.token}}.Encode()
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

// grant gives the session to a browser that has entered.
func (d *door) grant(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: d.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// knows reports whether a request has the session.
func (d *door) knows(r *http.Request) bool {
	c, err := r.Cookie(d.cookie)
	return err == nil && same(c.Value, d.session)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// mayBeCalled says whether a Host header names this server in a way that nobody else can bring about. A page of somebody else can have its own name lead to
// our address after it was loaded, and would then read ours as its own; an address, or localhost, is not a name that anybody can have lead elsewhere.
func (d *door) mayBeCalled(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host {
		return false
	}
	name := strings.ToLower(u.Hostname())
	return net.ParseIP(name) != nil || name == "localhost" || name != "" && name == d.name
}

// Loopback says whether an address to listen on can be reached from this machine only.
func Loopback(listen string) (bool, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("%q is not a HOST:PORT", listen)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}
