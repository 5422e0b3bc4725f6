package routetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Etcd is a real cluster of etcd on loopback.
type Etcd struct {
	Endpoints []string // of its members: http://127.0.78.1:24001
	members   []*process
}

// StartEtcd starts a cluster of so many members.
func StartEtcd(t testing.TB, members int) *Etcd {
	t.Helper()
	path := find(t, "etcd", "etcd-server")
	e := &Etcd{}
	var cluster []string
	peers := make([]string, members)
	for i := range members {
		e.Endpoints = append(e.Endpoints, "http://"+FreeAddress(t))
		peers[i] = "http://" + FreeAddress(t)
		cluster = append(cluster, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i := range members {
		e.members = append(e.members, start(t, path, "--name", fmt.Sprintf("m%d", i), "--data-dir", t.TempDir(),
			"--listen-client-urls", e.Endpoints[i], "--advertise-client-urls", e.Endpoints[i],
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(cluster, ","), "--log-level", "error",
			// A member that gets no time for a second is no reason to choose another leader.
			"--heartbeat-interval", "200", "--election-timeout", "2000",
			"--unsafe-no-fsync", // a test's disk is shared with many; nothing here cuts the power
		))
	}
	for i, m := range e.members {
		m.await(t, func() error { _, err := post(e.Endpoints[i], "/v3/kv/range", `{"key":"AA=="}`); return err })
	}
	return e
}

// Freeze stops members without closing anything, until thaw: the others see
// them cut off.
func (e *Etcd) Freeze(t testing.TB, members ...int) (thaw func()) {
	t.Helper()
	var all []func()
	for _, i := range members {
		all = append(all, e.members[i].freeze(t))
	}
	return func() {
		for _, thaw := range all {
			thaw()
		}
	}
}

// Post asks the first member and gives its answer.
func (e *Etcd) Post(t testing.TB, path string, ask any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := post(e.Endpoints[0], path, string(raw))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func post(endpoint, path, body string) ([]byte, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(endpoint+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, raw)
	}
	return raw, err
}
