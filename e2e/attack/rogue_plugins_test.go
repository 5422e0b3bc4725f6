package attack

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
	"stowage/mysql/traffic"
)

const secret = "the-password-of-all-servers"

// plugins are what a rogue server asks. Each is one login.
var plugins = []struct {
	name   string
	script func(*session) error
}{
	{"sha256_password, its own key", func(s *session) error {
		_, err := s.greet("sha256_password")
		return then(err, s.offerKey)
	}},
	{"a change to sha256_password, its own key", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, change(s, "sha256_password", nonce()...), s.offerKey)
	}},
	{"caching_sha2_password, all of it, its own key", func(s *session) error {
		_, err := s.greet("caching_sha2_password")
		return then(err, more(s, 4), s.offerKey)
	}},
	{"a change to caching_sha2_password, all of it, its own key", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, change(s, "caching_sha2_password", nonce()...), more(s, 4), s.offerKey)
	}},
	{"a key that nobody asked for", func(s *session) error {
		_, err := s.greet("caching_sha2_password")
		return then(err, s.offerKey)
	}},
	{"mysql_clear_password", func(s *session) error {
		_, err := s.greet("mysql_clear_password")
		return err
	}},
	{"a change to mysql_clear_password", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, change(s, "mysql_clear_password"))
	}},
	{"dialog", func(s *session) error {
		_, err := s.greet("dialog")
		return then(err, change(s, "dialog", []byte("\x04Password: ")...))
	}},
	{"client_ed25519", func(s *session) error {
		_, err := s.greet("client_ed25519")
		return then(err, change(s, "client_ed25519", make([]byte, 32)...))
	}},
	{"parsec", func(s *session) error {
		_, err := s.greet("parsec")
		return then(err, change(s, "parsec", make([]byte, 32)...), more(s, 'P', 0))
	}},
	{"mysql_old_password", func(s *session) error {
		_, err := s.greet("mysql_old_password")
		return then(err, change(s, "mysql_old_password", nonce()[:8]...))
	}},
	{"a change to the oldest protocol", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, func() ([]byte, error) { return nil, s.send(0xfe) }, s.receive)
	}},
	{"one change after the other", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, change(s, "client_ed25519", make([]byte, 32)...), change(s, "mysql_clear_password"), s.offerKey)
	}},
	{"a file during the login", func(s *session) error {
		_, err := s.greet("mysql_native_password")
		return then(err, func() ([]byte, error) { return nil, s.send([]byte("\xfb/etc/passwd")...) }, s.receive)
	}},
	{"a greeting that is cut", func(s *session) error { return s.send(10, 'x', 0, 1, 2) }},
}

func nonce() []byte { return append([]byte(nil), append(rogueNonce, 0)...) }

func then(err error, steps ...func() ([]byte, error)) error {
	for _, step := range steps {
		if err == nil {
			_, err = step()
		}
	}
	return err
}

func change(s *session, plugin string, data ...byte) func() ([]byte, error) {
	return func() ([]byte, error) { return s.change(plugin, data...) }
}

func more(s *session, data ...byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if err := s.send(append([]byte{1}, data...)...); err != nil {
			return nil, err
		}
		if data[0] == 4 { // a client asks for the key, and one that does not is served one all the same
			return s.receive()
		}
		return nil, nil
	}
}

// doors are all ways by which Stowage logs in to a server.
var doors = []struct {
	name     string
	friendly int32 // logins before the one that is meant
	enter    func(context.Context, *mysql.Server) error
}{
	{"statements", 0, func(ctx context.Context, s *mysql.Server) error { return s.Ping(ctx) }},
	{"rows", 0, func(ctx context.Context, s *mysql.Server) error {
		w, err := rows.OpenStream(ctx, s, time.Second)
		if err == nil {
			w.Close()
		}
		return err
	}},
	{"replay", 0, func(ctx context.Context, s *mysql.Server) error {
		c, err := traffic.OpenClient(ctx, s, traffic.ClientOptions{})
		if err == nil {
			c.Close()
		}
		return err
	}},
	{"binary log", 1, func(ctx context.Context, s *mysql.Server) error {
		r, err := s.Binlog(ctx, 4711, mysql.Position{}, "d")
		if err == nil {
			r.Close()
		}
		return err
	}},
}

func enter(t *testing.T, r *rogue, door int, as mysql.Account) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r.friendly = doors[door].friendly
	s := mysql.Open("rogue", r.address, as, slog.New(slog.DiscardHandler))
	defer s.Close()
	return doors[door].enter(ctx, s)
}

// TestRogueServerLearnsNoPassword: whatever a server asks, by whatever door we
// came, it gets a proof at most that we know the password.
func TestRogueServerLearnsNoPassword(t *testing.T) {
	for n, door := range doors {
		for _, plugin := range plugins {
			t.Run(door.name+"/"+plugin.name, func(t *testing.T) {
				r := startRogue(t, plugin.script)
				err := enter(t, r, n, mysql.Account{User: "stowage", Password: secret})
				if err == nil {
					t.Error("it was let in")
				}
				if how := r.knows(secret); how != "" {
					t.Errorf("the rogue server has the password %s; the client says: %v", how, err)
				}
				if strings.Contains(errText(err), secret) {
					t.Errorf("the error shows the password: %v", err)
				}
			})
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + farm.Hint(err)
}

// TestRogueServerIsNamed: whoever meets one is told what it asked, and what to do.
func TestRogueServerIsNamed(t *testing.T) {
	for n, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			r := startRogue(t, plugins[1].script)
			err := enter(t, r, n, mysql.Account{User: "stowage", Password: secret})
			if !errors.Is(err, mysql.ErrUntrusted) || !strings.Contains(errText(err), "sha256_password without TLS") || !strings.Contains(farm.Hint(err), "ssl-ca") {
				t.Errorf("said %v (%s)", err, farm.Hint(err))
			}
		})
	}
}

// TestPinnedKeyIsTheOnlyOne: with the key of the real server pinned, the rogue
// gets the password under that, and never under its own, which it offers all the same.
func TestPinnedKeyIsTheOnlyOne(t *testing.T) {
	real, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	der, err := x509.MarshalPKIXPublicKey(&real.PublicKey)
	must(t, err)
	as := mysql.Account{User: "stowage", Password: secret, PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}
	for n, door := range doors {
		for _, plugin := range plugins {
			t.Run(door.name+"/"+plugin.name, func(t *testing.T) {
				r := startRogue(t, plugin.script)
				if err := enter(t, r, n, as); err == nil {
					t.Error("it was let in")
				}
				if how := r.knows(secret); how != "" {
					t.Errorf("the rogue server has the password %s", how)
				}
				if strings.Contains(plugin.name, "all of it") || strings.Contains(plugin.name, "to sha256_password") {
					if r.key = real; r.knows(secret) == "" {
						t.Error("the pinned key was not used, so this proves nothing")
					}
				}
			})
		}
	}
}

// TestTheRogueServerWorks: a client that is not guarded gives it the password,
// so the tests above can fail.
func TestTheRogueServerWorks(t *testing.T) {
	for _, plugin := range plugins[:7] {
		if plugin.name == "a key that nobody asked for" {
			continue
		}
		t.Run(plugin.name, func(t *testing.T) {
			r := startRogue(t, plugin.script)
			cfg := driver.NewConfig()
			cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.AllowCleartextPasswords = "stowage", secret, "tcp", r.address, true
			cfg.Timeout, cfg.ReadTimeout, cfg.Logger = 5*time.Second, 2*time.Second, &driver.NopLogger{}
			connector, err := driver.NewConnector(cfg)
			must(t, err)
			db := sql.OpenDB(connector)
			defer db.Close()
			_ = db.PingContext(t.Context())
			if r.knows(secret) == "" {
				t.Error("it learns nothing from a client that tells everything")
			}
		})
	}
	for n, door := range doors[:3] {
		r := startRogue(t, (*session).obliging)
		err := enter(t, r, n, mysql.Account{User: "stowage", Password: secret})
		if errors.Is(err, mysql.ErrUntrusted) || n == 0 && err != nil {
			t.Errorf("%s: one that asks for nothing wrong was refused: %v", door.name, err)
		}
		if how := r.knows(secret); how != "" {
			t.Errorf("mysql_native_password gave the password %s", how)
		}
	}
}
