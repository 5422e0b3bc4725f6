package farmtest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nobody is who attacks: a user of the machine with no rights there.
const Nobody = 65534

// What the test binary is told by its environment when it plays nobody.
const (
	attackAddresses = "ATTACK_ADDRESSES"
	attackFiles     = "ATTACK_FILES"
)

const greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// playNobody tries addresses and files, and says what it heard and read there.
func playNobody(addresses, files []string) int {
	got := 0
	for _, path := range files {
		if raw, err := os.ReadFile(path); err == nil {
			fmt.Printf("read %s: %d bytes\n", path, len(raw))
			got = 1
		}
	}
	for _, address := range addresses {
		for name, dial := range map[string]func() (net.Conn, error){
			"plain": func() (net.Conn, error) { return net.DialTimeout("tcp", address, 10*time.Second) },
			"TLS without a certificate": func() (net.Conn, error) {
				return tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			},
		} {
			c, err := dial()
			if err != nil {
				continue
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(c, greeting)
			heard, err := io.ReadAll(c)
			_ = c.Close()
			if alert := len(heard) == 7 && heard[0] == 21; len(heard) > 0 && !alert || errors.Is(err, os.ErrDeadlineExceeded) {
				fmt.Printf("%s, %s: %q, %v\n", address, name, heard, err)
				got = 1
			}
		}
	}
	return got
}

// AsNobody tries, as uid 65534, sockets that must say nothing and files that must not be read. dir is one that nobody may enter. in is
// where it is done, (*netlab.Machine).Do; nil: here.
func AsNobody(t *testing.T, dir string, sockets, files []string, in func(func() error) error) {
	t.Helper()
	self := filepath.Join(dir, "nobody")
	if _, err := os.Stat(self); err != nil {
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(own)
		if err == nil {
			err = os.WriteFile(self, raw, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if in == nil {
		in = func(f func() error) error { return f() }
	}
	cmd := exec.Command(self)
	cmd.Dir = "/"
	cmd.Env = []string{attackAddresses + "=" + strings.Join(sockets, " "), attackFiles + "=" + strings.Join(files, " ")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	var out []byte
	if err := in(func() (err error) { out, err = cmd.CombinedOutput(); return err }); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// OpenToNobody is a directory of the test that every user may enter.
func OpenToNobody(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
