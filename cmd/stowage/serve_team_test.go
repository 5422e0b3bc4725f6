package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// writeNew writes a file, of this mode also if it is there.
func writeNew(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	err := os.WriteFile(path, []byte(text), mode)
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTokensFile: each fault is told with its line, no token is.
func TestTokensFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "viewers")
	const one, two = "0123456789abcdef01234567", "89abcdef0123456789abcdef"
	for text, want := range map[string]string{
		"ann " + one + "\nbob":                            ":2: unusable input: it has 1 word, and a line is NAME TOKEN",
		"ann smith " + one:                                ":1: unusable input: it has 3 words",
		"# who may look\n\nann 0123456789abcdef0123456":   ":3: unusable input: the token of ann has 23 characters, and it needs 24",
		"ann " + one + "\n# twice\nbob " + one:            ":3: unusable input: bob has the token of line 1",
		"ann " + one + "\nann " + two:                     ":2: unusable input: ann has a token in line 1 already",
		"ann 0123456789abcdef0123456789\u00e4 # a remark": ":1: unusable input: it has 5 words",
		"ann 0123456789abcdef0123456789\u00e4":            ":1: unusable input: character 27 of ann's token is none of ASCII",
	} {
		writeNew(t, file, text, 0o600)
		_, err := readTokens(file)
		if err == nil || !strings.Contains(err.Error(), file+want) || strings.Contains(err.Error(), "0123456789abcdef") || !strings.Contains(farm.Hint(err), "openssl rand") {
			t.Errorf("%q: %v", text, err)
		}
	}
	writeNew(t, file, "ann "+one, 0o644)
	if _, err := readTokens(file); err == nil || !strings.Contains(err.Error(), "its mode is 0644: everybody on this machine may read it") || !strings.Contains(farm.Hint(err), "chmod 600") {
		t.Errorf("a file for everybody: %v", err)
	}
	if _, err := readTokens(file + "x"); err == nil || !strings.Contains(err.Error(), "no such file") || strings.Count(err.Error(), file) != 1 {
		t.Errorf("no file: %v", err)
	}
	writeNew(t, file, "# who may look\n\n  ann\t"+one+"  \r\nbob "+two+"\n", 0o640)
	if all, err := readTokens(file); err != nil || len(all) != 2 || all[0].Name != "ann" || all[0].Token != one || all[1].Token != two {
		t.Errorf("%v, %v", all, err)
	}
}

// TestTokensAreFollowed: a line that is added or removed counts at once; while the file is wrong nobody gets in by it, and that is told once.
func TestTokensAreFollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "viewers")
	var said bytes.Buffer
	a := &app{log: slog.New(slog.NewTextHandler(&said, nil))}
	writeNew(t, file, "ann 0123456789abcdef01234567", 0o600)
	viewers, err := a.viewers(serveAsk{tokens: file})
	if err != nil {
		t.Fatal(err)
	}
	names := func() string {
		var out []string
		for _, v := range viewers() {
			out = append(out, v.Name)
		}
		return strings.Join(out, " ")
	}
	for _, x := range []struct{ text, want string }{
		{"ann 0123456789abcdef01234567", "ann"},
		{"ann 0123456789abcdef01234567\nbob 89abcdef0123456789abcdef", "ann bob"},
		{"bob 89abcdef0123456789abcdef\nan", ""},
		{"bob 89abcdef0123456789abcdef", "bob"},
		{"", ""},
	} {
		writeNew(t, file, x.text, 0o600)
		for range 3 {
			if got := names(); got != x.want {
				t.Errorf("%q: %q", x.text, got)
			}
		}
	}
	if text := said.String(); strings.Count(text, "nobody gets in by a token") != 1 || !strings.Contains(text, file+":2") {
		t.Errorf("told:\n%s", text)
	}
}

// certificateFiles writes a certificate for names, and its key.
func certificateFiles(t *testing.T, dir string, ca *farmtest.Authority, names ...string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, "fullchain.pem"), filepath.Join(dir, "privkey.pem")
	c, k := ca.Sign(t, names...)
	writeNew(t, cert, c+ca.PEM, 0o644)
	writeNew(t, key, k, 0o600)
	return cert, key
}

// TestCertificateFiles: each fault names its file. A fault that appears while serving leaves the earlier certificate in use.
func TestCertificateFiles(t *testing.T) {
	dir, ca := t.TempDir(), farmtest.NewAuthority(t)
	cert, key := certificateFiles(t, dir, ca, "dash.example")
	other, otherKey := ca.Sign(t, "other.example")
	for what, x := range map[string]struct {
		file, text string
		mode       os.FileMode
		want       string
	}{
		"no certificate":      {cert, "hello", 0o644, "read certificate " + cert + ": unusable input: it has no certificate in PEM"},
		"a broken one":        {cert, strings.Replace(other, "MII", "MIJ", 1), 0o644, "read certificate " + cert + ": unusable input: x509: "},
		"another's key":       {key, otherKey, 0o600, "read key " + key + ": unusable input: it is not a key of " + cert + ": private key does not match public key"},
		"no key":              {key, other, 0o600, "read key " + key + ": unusable input: it is not a key of " + cert + ": found a certificate rather than a key"},
		"a key for everybody": {key, otherKey, 0o644, "read key " + key + ": unusable input: its mode is 0644"},
		"one with passphrase": {key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", 0o600, "read key " + key + ": unusable input: it is sealed with a passphrase"},
	} {
		certificateFiles(t, dir, ca, "dash.example")
		writeNew(t, x.file, x.text, x.mode)
		if _, err := readCertificate(cert, key); err == nil || !strings.HasPrefix(err.Error(), x.want) || farm.Hint(err) == "" || exitCode(err) != exitUsage {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := readCertificate(cert+"x", key); err == nil || !strings.HasPrefix(err.Error(), "read certificate "+cert+"x: unusable input: no such file") {
		t.Errorf("no file: %v", err)
	}

	certificateFiles(t, dir, ca, "dash.example")
	var said bytes.Buffer
	a := &app{log: slog.New(slog.NewTextHandler(&said, nil))}
	now, err := a.certificate(serveAsk{certificateFile: cert, keyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	first := now().Leaf.SerialNumber
	writeNew(t, cert, other+ca.PEM, 0o644) // half of it is renewed
	for range 3 {
		if now().Leaf.SerialNumber.Cmp(first) != 0 {
			t.Error("half of a renewal is shown")
		}
	}
	if strings.Count(said.String(), "the certificate before is used") != 1 {
		t.Errorf("told:\n%s", said.String())
	}
	writeNew(t, key, otherKey, 0o600)
	if got := now().Leaf.DNSNames; len(got) != 1 || got[0] != "other.example" {
		t.Errorf("it was renewed, and %v is shown", got)
	}
}

// TestLinkAddress: a browser finds what was bound by what is printed.
func TestLinkAddress(t *testing.T) {
	ca := farmtest.NewAuthority(t)
	named := func(names ...string) *x509.Certificate {
		cert, key := ca.Sign(t, names...)
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	for _, x := range []struct {
		listen, bound string
		certificate   *x509.Certificate
		want          string
	}{
		{"127.0.0.1:0", "127.0.0.1:41234", nil, "127.0.0.1:41234"},
		{"localhost:0", "127.0.0.1:41234", nil, "localhost:41234"},
		{"[::1]:8306", "[::1]:8306", nil, "[::1]:8306"},
		{"10.0.0.7:8306", "10.0.0.7:8306", named("dash.example"), "10.0.0.7:8306"},
		{"dash.example:0", "10.0.0.7:8306", named("other.example"), "dash.example:8306"},
		{"0.0.0.0:0", "[::]:8306", named("*.example", "dash.example"), "dash.example:8306"},
		{":8306", "[::]:8306", named("2001:db8::7"), "[2001:db8::7]:8306"},
		{"[::]:8306", "[::]:8306", named("*.example"), "127.0.0.1:8306"},
	} {
		bound, err := net.ResolveTCPAddr("tcp", x.bound)
		if err != nil {
			t.Fatal(err)
		}
		if got := linkAddress(x.listen, bound, x.certificate); got != x.want {
			t.Errorf("%s, bound %s: %s, want %s", x.listen, x.bound, got, x.want)
		}
	}
}

// TestServeForATeam runs the program with a certificate and a file of tokens: a browser signs in, a script sends its token, and both are out when
// the line is gone; the log says who has looked.
func TestServeForATeam(t *testing.T) {
	dir, ca := t.TempDir(), farmtest.NewAuthority(t)
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	cert, key := certificateFiles(t, t.TempDir(), ca, "127.0.0.1")
	tokens := filepath.Join(t.TempDir(), "viewers")
	const token = "ann-0123456789abcdef01234567"
	writeNew(t, tokens, "bob bob-0123456789abcdef01234567\nann "+token+"\n", 0o600)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--json", "-v", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tokens", tokens, "-C", dir)
	cmd.Env = append(os.Environ(), playsProgram+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said served
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	base := "https://" + said.Listen
	if said.SignIn != base+"/enter" || !strings.HasPrefix(said.Link, base+"/enter?token=") {
		t.Fatalf("printed %+v", said)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca.PEM))
	s := &servedScene{t: t, base: base, link: said.Link, http: browserOf(t)}
	s.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	answer, err := s.http.PostForm(said.SignIn, map[string][]string{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Request.URL.Path != "/" {
		t.Errorf("signing in: %d at %s", answer.StatusCode, answer.Request.URL)
	}
	script := func() int {
		r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/api/moves", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := (&http.Client{Transport: s.http.Transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	page := func() int { status, _ := s.get("/moves"); return status }
	if page() != http.StatusOK || script() != http.StatusOK {
		t.Errorf("ann is in the file: page %d, script %d", page(), script())
	}
	writeNew(t, tokens, "bob bob-0123456789abcdef01234567\n", 0o600)
	if page() != http.StatusUnauthorized || script() != http.StatusUnauthorized {
		t.Errorf("ann is out of the file: page %d, script %d", page(), script())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	for _, want := range []string{`msg="signed in" viewer=ann`, "viewer=ann page=/moves", "viewer=ann page=/api/moves"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), token) {
		t.Error("the log has a token")
	}
}
