package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is a page in a Chromium of its own, which a test drives as a person
// does: it goes somewhere, presses keys, prefers dark. It speaks the protocol
// of Chromium's developer tools over two pipes, so that no port is opened.
// A Page is for one goroutine.
type Page struct {
	t       *testing.T
	to      *os.File
	session string
	number  int
	answers chan message

	mu      sync.Mutex
	console []string
	asked   []string
	loaded  chan struct{}
}

// message is what the browser sends: an answer to a call, or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// patience is how long a browser may take for one thing, on a busy machine.
const patience = 2 * time.Minute

// Drive starts Chromium with an empty page. It skips the test where there is none.
func Drive(t *testing.T) *Page {
	t.Helper()
	program := find(t)
	fromUs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append(quiet(t), "--remote-debugging-pipe", "about:blank")...)
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // descriptors 3 and 4, as the flag wants them
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = fromUs.Close(), toUs.Close() // the browser's own ends
	p := &Page{t: t, to: to, answers: make(chan message, 16), loaded: make(chan struct{}, 16)}
	go p.listen(from)
	t.Cleanup(func() {
		_ = to.Close() // the browser ends with its pipe
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = from.Close()
	})
	var made struct{ TargetID, SessionID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	p.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	p.session = made.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Network.enable", "Log.enable"} {
		p.call(domain, nil, nil)
	}
	p.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // as if its window were in front
	p.Size(1280, 1600)
	return p
}

// listen sorts what the browser sends.
func (p *Page) listen(from io.Reader) {
	defer close(p.answers)
	all := bufio.NewReader(from)
	for {
		raw, err := all.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m) != nil {
			continue
		}
		if m.ID > 0 {
			p.answers <- m
			continue
		}
		p.note(m)
	}
}

// note keeps of an event what tests ask for.
func (p *Page) note(m message) {
	var e struct {
		Type  string
		Args  []struct{ Value any }
		Entry struct{ Level, Text, URL string }
		// ExceptionDetails are of a script that failed.
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Request struct{ URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.consoleAPICalled":
		p.console = append(p.console, fmt.Sprint(e.Type, ": ", e.Args))
	case "Runtime.exceptionThrown":
		p.console = append(p.console, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		if !strings.Contains(e.Entry.Text, networkChanged) { // the page asks again
			p.console = append(p.console, e.Entry.Level+": "+e.Entry.Text+" "+e.Entry.URL)
		}
	case "Network.requestWillBeSent":
		p.asked = append(p.asked, e.Request.URL)
	}
}

// call asks the browser for something and waits for the answer.
func (p *Page) call(method string, params, into any) {
	p.t.Helper()
	if err := p.try(method, params, into); err != nil {
		p.t.Fatalf("chromium, %s: %v", method, err)
	}
}

func (p *Page) try(method string, params, into any) error {
	p.number++
	ask := map[string]any{"id": p.number, "method": method}
	if params != nil {
		ask["params"] = params
	}
	if p.session != "" {
		ask["sessionId"] = p.session
	}
	raw, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	if _, err := p.to.Write(append(raw, 0)); err != nil {
		return err
	}
	late := time.After(patience)
	for {
		select {
		case m, open := <-p.answers:
			switch {
			case !open:
				return errors.New("it has ended")
			case m.ID != p.number:
				continue
			case m.Error != nil:
				return errors.New(m.Error.Message)
			case into == nil:
				return nil
			}
			return json.Unmarshal(m.Result, into)
		case <-late:
			return fmt.Errorf("no answer within %v", patience)
		}
	}
}

// Visit goes to an address, and returns when all of the page is loaded. What
// the console said before is forgotten.
func (p *Page) Visit(address string) {
	p.t.Helper()
	p.mu.Lock()
	p.console, p.asked = nil, nil
	p.mu.Unlock()
	for len(p.loaded) > 0 {
		<-p.loaded
	}
	var went struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": address}, &went)
	if went.ErrorText != "" && went.ErrorText != networkChanged {
		p.t.Fatalf("chromium, %s: %s", address, went.ErrorText)
	}
	p.Loaded()
}

// networkChanged is why Chromium gives up what it asks for when an interface of this machine comes or goes: other tests make network
// namespaces.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// Loaded waits until a page that was gone to, by a key say, is loaded. One that a change of network has cut short is loaded again.
func (p *Page) Loaded() {
	p.t.Helper()
	for {
		select {
		case <-p.loaded:
		case <-time.After(patience):
			p.t.Fatalf("chromium: the page was not loaded within %v", patience)
		}
		var at struct{ Result struct{ Value bool } }
		ask := map[string]any{"expression": "location.protocol === 'chrome-error:' && document.body.innerText.includes('ERR_NETWORK_CHANGED')", "returnByValue": true}
		switch err := p.try("Runtime.evaluate", ask, &at); {
		case err != nil && strings.Contains(err.Error(), "navigated"): // the browser has asked for the page again by itself
		case err != nil:
			p.t.Fatalf("chromium: is the page loaded? %v", err)
		case at.Result.Value:
			p.call("Page.reload", nil, nil)
		default:
			return
		}
	}
}

// Eval runs an expression in the page and reads what it gives, or what its
// promise gives in the end. into may be nil.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		p.t.Fatalf("in the page: %s", out.ExceptionDetails.Exception.Description)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(out.Result.Value, into); err != nil {
		p.t.Fatalf("in the page: %s: %v", out.Result.Value, err)
	}
}

// keys are those that Press knows: the code of the key, and what it writes.
var keys = map[string]struct {
	code int
	text string
}{"Tab": {9, ""}, "Enter": {13, "\r"}, "Space": {32, " "}, "ArrowRight": {39, ""}}

// Press presses a key and lets it go.
func (p *Page) Press(key string) {
	p.t.Helper()
	k, has := keys[key]
	if !has {
		p.t.Fatalf("no key %q is known", key)
	}
	name := key
	if key == "Space" {
		name = " "
	}
	down := map[string]any{"type": "rawKeyDown", "key": name, "code": key, "windowsVirtualKeyCode": k.code}
	if k.text != "" {
		down["type"], down["text"] = "keyDown", k.text
	}
	p.call("Input.dispatchKeyEvent", down, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": key, "windowsVirtualKeyCode": k.code}, nil)
}

// Type writes text where the focus is.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Size makes the window so many pixels wide and high.
func (p *Page) Size(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Prefer has the page be on "screen" or in "print", "light" or "dark".
func (p *Page) Prefer(media, scheme string) {
	p.t.Helper()
	p.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// TrustAnybody has certificates be taken whoever signed them.
func (p *Page) TrustAnybody() {
	p.t.Helper()
	p.call("Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
}

// Console is what the console has said since Visit, faults of scripts and of
// the policy among it.
func (p *Page) Console() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.console...)
}

// Asked are the addresses that the page has asked for since Visit.
func (p *Page) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.asked...)
}

// Picture writes a picture of the page into a directory that
// STOWAGE_PICTURES names, and does nothing without one.
func (p *Page) Picture(name string) {
	p.t.Helper()
	dir := os.Getenv("STOWAGE_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data []byte }
	p.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(filepath.Join(dir, strings.Trim(strings.ReplaceAll(name, "/", "-"), "-")+".png"), shot.Data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
