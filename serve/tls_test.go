package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// secured is a stage behind a certificate, and who trusts its authority.
type secured struct {
	*stage
	pair   atomic.Pointer[tls.Certificate]
	ca     *farmtest.Authority
	base   string
	client *http.Client
}

func (x *secured) renew(t *testing.T, names ...string) {
	t.Helper()
	cert, key := x.ca.Sign(t, names...)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	x.pair.Store(&pair)
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	x := &secured{stage: newStage(), ca: farmtest.NewAuthority(t)}
	x.renew(t, "127.0.0.1", "dash.example", "*.farm.example")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := x.Options
	o.Certificate, o.Listen = x.pair.Load, l.Addr().String()
	x.Server = New(o)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx, l) }()
	t.Cleanup(func() {
		if stop(); <-ended != nil {
			t.Error("it did not end well")
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(x.ca.PEM))
	x.base = "https://" + l.Addr().String()
	x.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(x.client.CloseIdleConnections)
	return x
}

func (x *secured) get(t *testing.T, path, cookie string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", x.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", cookie)
	a, err := x.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	return a
}

// TestOverTLS: HTTP/2, a cookie that goes over TLS only, a page that is kept up to date, a certificate that is renewed while it serves, and nothing in the clear.
func TestOverTLS(t *testing.T) {
	x := newSecured(t)
	link := x.Link(strings.TrimPrefix(x.base, "https://"))
	if !strings.HasPrefix(link, x.base+enterPath) {
		t.Fatalf("the link is %s", link)
	}
	a := x.get(t, strings.TrimPrefix(link, x.base), "")
	if a.ProtoMajor != 2 || a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 {
		t.Fatalf("entering: %s %d %v", a.Proto, a.StatusCode, a.Cookies())
	}
	c := a.Cookies()[0]
	if !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-stowage") {
		t.Errorf("cookie %+v", c)
	}
	cookie := c.Name + "=" + c.Value
	lines := bufio.NewScanner(x.get(t, livePath, cookie).Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: {") && strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	next("0 of 2 done")
	x.set(func(m *Move) { m.Done = 1 })
	next("1 of 2 done")

	before := a.TLS.PeerCertificates[0].SerialNumber
	x.renew(t, "127.0.0.1")
	x.client.CloseIdleConnections()
	dial := &tls.Dialer{Config: x.client.Transport.(*http.Transport).TLSClientConfig}
	conn, err := dial.DialContext(t.Context(), "tcp", strings.TrimPrefix(x.base, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if now := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber; now.Cmp(before) == 0 {
		t.Error("the certificate was renewed, and the one before is shown")
	}
	old := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}
	if c, err := old.DialContext(t.Context(), "tcp", strings.TrimPrefix(x.base, "https://")); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	plain, err := http.Get("http://" + strings.TrimPrefix(x.base, "https://") + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("in the clear: %d", plain.StatusCode)
	}
}

// TestNamesOfTheCertificate: a browser that comes by one of them is answered, by any other is not.
func TestNamesOfTheCertificate(t *testing.T) {
	x := newSecured(t)
	for host, want := range map[string]int{"dash.example:8306": 401, "DASH.example": 401, "a.farm.example:8306": 401, "127.0.0.1:8306": 401, "farm.example": 421, "a.b.farm.example": 421, "evil.example:8306": 421} {
		if a := x.ask("GET", "/", host, ""); a.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, a.StatusCode, want)
		}
	}
}
