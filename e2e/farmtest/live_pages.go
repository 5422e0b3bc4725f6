package farmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"testing"
	"time"
)

// pages is a browser that has entered at `stowage serve` of a workspace.
type pages struct {
	t    *testing.T
	base string
	http *http.Client
}

// ServePages serves a workspace until the test ends: at an address, which one
// browser enters by a link.
func ServePages(t *testing.T, dir string) (base, link string) {
	t.Helper()
	cmd := exec.Command(LiveProgram(t), "serve", "--json", "--listen", "127.0.0.1:0", "-C", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said struct {
		Listen string `json:"listen"`
		Link   string `json:"link"`
	}
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return "http://" + said.Listen, said.Link
}

// OpenPages serves a workspace until the test ends, and enters.
func OpenPages(t *testing.T, dir string) *pages {
	t.Helper()
	base, link := ServePages(t, dir)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &pages{t: t, base: base, http: &http.Client{Jar: jar, Timeout: time.Minute}}
	if status, text := p.Get(link); status != http.StatusOK {
		t.Fatalf("entering: %d %s", status, text)
	}
	return p
}

// Get is a page, by its path or whole address.
func (p *pages) Get(path string) (int, string) {
	p.t.Helper()
	if path[0] == '/' {
		path = p.base + path
	}
	answer, err := p.http.Get(path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
