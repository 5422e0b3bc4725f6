package attack

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/mysql"
)

// TestRogueServerReadsNoFile: a server may answer any statement by asking for a
// file of the client (LOAD DATA LOCAL). It gets nothing, and nothing that is
// registered for another server, by whatever door.
func TestRogueServerReadsNoFile(t *testing.T) {
	const content = "only-in-this-file"
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte(content), 0o600))
	for _, name := range []string{file, "/etc/passwd", "Reader::stowage-1", "Reader::", "../Reader::x"} {
		for n, door := range doors {
			t.Run(door.name+"/"+filepath.Base(name), func(t *testing.T) {
				r := startRogue(t, func(s *session) error {
					if _, err := s.greet("mysql_native_password"); err != nil {
						return err
					}
					if err := s.ok(); err != nil {
						return err
					}
					return s.serve(func() error {
						if err := s.send(append([]byte{0xfb}, name...)...); err != nil {
							return err
						}
						for { // the file, and an empty packet as its end
							piece, err := s.receive()
							if err != nil || len(piece) == 0 {
								return s.ok()
							}
						}
					})
				})
				_ = enter(t, r, n, mysql.Account{User: "stowage", Password: secret})
				ask(t, r)
				for _, b := range r.heard() {
					if bytes.Contains(b, []byte(content)) || bytes.Contains(b, []byte("root:")) {
						t.Fatalf("it got %q", b)
					}
				}
			})
		}
	}
}

// ask sends a statement as most of Stowage does.
func ask(t *testing.T, r *rogue) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	connector, err := mysql.Connector(r.address, mysql.Account{User: "stowage", Password: secret}, nil)
	must(t, err)
	conn, err := connector.Connect(ctx)
	if err == nil {
		_ = conn.Close()
	}
}

// TestTheRogueServerCanReadFiles: from a client that allows it, so the test above can fail.
func TestTheRogueServerCanReadFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("only-in-this-file"), 0o600))
	r := startRogue(t, func(s *session) error {
		if _, err := s.greet("mysql_native_password"); err != nil {
			return err
		}
		if err := s.ok(); err != nil {
			return err
		}
		return s.serve(func() error {
			if err := s.send(append([]byte{0xfb}, file...)...); err != nil {
				return err
			}
			for {
				if piece, err := s.receive(); err != nil || len(piece) == 0 {
					return s.ok()
				}
			}
		})
	})
	connector, err := mysql.Connector(r.address, mysql.Account{User: "stowage", Password: secret}, func(c *driver.Config) {
		c.AllowAllFiles, c.Params = true, map[string]string{"time_zone": "'+00:00'"}
	})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if conn, err := connector.Connect(ctx); err == nil {
		_ = conn.Close()
	}
	for _, b := range r.heard() {
		if bytes.Contains(b, []byte("only-in-this-file")) {
			return
		}
	}
	t.Error("it got nothing from a client that allows everything")
}
