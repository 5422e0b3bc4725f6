package attack

import (
	"bytes"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/mysql"

	"stowage/e2e/farmtest"
)

// TestRogueServerWithoutItsCertificate: where a CA is given, a server that does
// not prove who it is gets neither user nor scramble.
func TestRogueServerWithoutItsCertificate(t *testing.T) {
	ours, foreign := farmtest.NewAuthority(t), farmtest.NewAuthority(t)
	for _, test := range []struct {
		name  string
		by    *farmtest.Authority // nil: no TLS
		names []string
		any   bool // ssl-verify-server-cert=0
		says  string
	}{
		{"downgrade", nil, nil, false, "does not offer TLS"},
		{"downgrade, chain only", nil, nil, true, "does not offer TLS"},
		{"foreign CA", foreign, []string{"127.0.0.1"}, false, "unknown authority"},
		{"foreign CA, chain only", foreign, []string{"127.0.0.1"}, true, "unknown authority"},
		{"another name", ours, []string{"db002.example", "127.0.0.2"}, false, "127.0.0.1"},
	} {
		for n, door := range doors {
			if door.friendly > 0 {
				continue // it meets the same at its first login: TestRogueServerAtTheBinaryLog
			}
			t.Run(test.name+"/"+door.name, func(t *testing.T) {
				r := startRogue(t, func(s *session) error { return s.obliging() })
				if test.by != nil {
					r.certs = serverTLS(t, test.by, test.names...)
				}
				err := enter(t, r, n, mysql.Account{User: "user-of-stowage", Password: secret, TLS: &mysql.TLS{CA: ours.PEM, AnyName: test.any}})
				if err == nil || !strings.Contains(err.Error(), test.says) || farm.Hint(err) == "" {
					t.Errorf("said %v (%s), want %q and what to do", err, farm.Hint(err), test.says)
				}
				for _, b := range r.heard() {
					if bytes.Contains(b, []byte("user-of-stowage")) || bytes.Contains(b, []byte("mysql_native_password")) {
						t.Errorf("it heard %q", b)
					}
				}
				if test.by == nil && len(r.heard()[0]) > 0 {
					t.Errorf("a server without TLS was answered: %q", r.heard()[0])
				}
			})
		}
	}
}

// TestRogueServerAtTheBinaryLog: the reader of the binary log, which is another
// program's client, is as strict.
func TestRogueServerAtTheBinaryLog(t *testing.T) {
	ours, foreign := farmtest.NewAuthority(t), farmtest.NewAuthority(t)
	good, bad := serverTLS(t, ours, "127.0.0.1"), serverTLS(t, foreign, "127.0.0.1")
	for _, second := range []*tls.Config{nil, bad} {
		r := startRogue(t, nil)
		r.certs = good
		r.script = func(s *session) error { r.certs = second; return s.obliging() }
		err := enter(t, r, len(doors)-1, mysql.Account{User: "u", Password: secret, TLS: &mysql.TLS{CA: ours.PEM}})
		var own *farm.Error
		if !errors.As(err, &own) || !strings.Contains(err.Error(), "does not offer TLS") && !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("said %v", err)
		}
	}
}

// TestServerThatProvesItself: with TLS the password may go as the plugin wants
// it, by every door, and chain only takes another name.
func TestServerThatProvesItself(t *testing.T) {
	ours := farmtest.NewAuthority(t)
	for n, door := range doors[:3] {
		for _, plugin := range plugins[:4] {
			t.Run(door.name+"/"+plugin.name, func(t *testing.T) {
				script := func(s *session) error {
					var err error
					if _, err = s.greet("mysql_native_password"); err != nil {
						return err
					}
					if strings.Contains(plugin.name, "sha2_") {
						err = then(err, change(s, "caching_sha2_password", nonce()...), more(s, 4))
					} else {
						err = then(err, change(s, "sha256_password", nonce()...))
					}
					return errors.Join(err, s.ok(), s.serve(nil))
				}
				r := startRogue(t, script)
				r.certs = serverTLS(t, ours, "db002.example")
				err := enter(t, r, n, mysql.Account{User: "u", Password: secret, TLS: &mysql.TLS{CA: ours.PEM, AnyName: true}})
				if n == 0 && err != nil {
					t.Error(err)
				}
				if r.knows(secret) != "in the clear" {
					t.Errorf("it was not given the password: %v", err)
				}
				if bytes.Contains(r.heard()[0], []byte(secret)) {
					t.Error("the password went over the wire")
				}
			})
		}
	}
}

func serverTLS(t *testing.T, by *farmtest.Authority, names ...string) *tls.Config {
	t.Helper()
	cert, key := by.Sign(t, names...)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	must(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}
