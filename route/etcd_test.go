package route_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/route"
	"stowage/route/routetest"
)

func newEtcd(t *testing.T, prefix string, endpoints ...string) *route.Shared {
	t.Helper()
	r, err := route.NewEtcd(route.EtcdOptions{Endpoints: endpoints, Prefix: prefix, Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func create(t *testing.T, r interface {
	route.Router
	creator
}, pairs map[farm.PairName]*route.Pair) route.Router {
	t.Helper()
	if err := r.Create(t.Context(), pairs); err != nil {
		t.Fatal(err)
	}
	return r
}

func key(prefix, name string) string { return base64.StdEncoding.EncodeToString([]byte(prefix + name)) }

func TestEtcdConforms(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	cluster := routetest.StartEtcd(t, 3)
	var tables atomic.Int64
	prefix := ""
	routetest.Subject{
		Changes: 200,
		Open: func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router {
			prefix = fmt.Sprintf("/stowage/test-%d/", tables.Add(1))
			return create(t, newEtcd(t, prefix, cluster.Endpoints...), pairs)
		},
		Again: func(t *testing.T) route.Router {
			return newEtcd(t, prefix, cluster.Endpoints[2], cluster.Endpoints[0])
		},
		// With two of three away the third has no leader: it must refuse rather
		// than answer what it remembers.
		Cut: func(t *testing.T) func() { return cluster.Freeze(t, 0, 1) },
		Spoil: func(t *testing.T) {
			cluster.Post(t, "/v3/kv/put", map[string]string{"key": key(prefix, "pairs/dbshard001"), "value": base64.StdEncoding.EncodeToString([]byte(`{"generation":1,"writer":"","slots":7`))})
		},
	}.Run(t)
}

// One member of three is away: reads and changes continue with the others.
func TestEtcdGoesOnWithoutOneMember(t *testing.T) {
	t.Parallel()
	cluster := routetest.StartEtcd(t, 3)
	r := newEtcd(t, "/s/", cluster.Endpoints...)
	create(t, r, onePair())
	thaw := cluster.Freeze(t, 1)
	defer thaw()
	// It may have been the leader; a new one is chosen within seconds, and an
	// unknown outcome is found out meanwhile. What was not written is tried
	// again, as a step does.
	for n := range 6 {
		add := func(p *route.Pair) error { p.Shards = append(p.Shards, farm.ShardName(fmt.Sprint(n))); return nil }
		err := r.Change(t.Context(), pairName, add)
		for tries := 1; tries < 5 && err != nil && !errors.Is(err, farm.ErrOutcomeUnknown); tries++ {
			t.Log("again:", err)
			err = r.Change(t.Context(), pairName, add)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	table, err := r.Read(t.Context())
	if err != nil || len(table.Pairs[pairName].Shards) != 7 || table.Generation != 7 {
		t.Errorf("%+v %v", table, err)
	}
}

// A lease that is not renewed would take the routing of a pair away.
func TestEtcdRefusesALease(t *testing.T) {
	t.Parallel()
	cluster := routetest.StartEtcd(t, 1)
	r := newEtcd(t, "/s/", cluster.Endpoints...)
	create(t, r, onePair())
	lease := cluster.Post(t, "/v3/lease/grant", map[string]string{"TTL": "600"})
	kvs := cluster.Post(t, "/v3/kv/range", map[string]string{"key": key("/s/", "pairs/dbshard001")})["kvs"].([]any)
	value := kvs[0].(map[string]any)["value"]
	cluster.Post(t, "/v3/kv/put", map[string]any{"key": key("/s/", "pairs/dbshard001"), "value": value, "lease": lease["ID"]})
	_, err := r.Read(t.Context())
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "/s/pairs/dbshard001") || !strings.Contains(err.Error(), "lease") {
		t.Errorf("error %v, want one that names the key and the lease", err)
	}
	cluster.Post(t, "/v3/kv/put", map[string]any{"key": key("/s/", "pairs/dbshard001"), "value": value})
	if _, err := r.Read(t.Context()); err != nil {
		t.Error(err)
	}
	// A pair that is lost all the same is missed.
	cluster.Post(t, "/v3/kv/deleterange", map[string]string{"key": key("/s/", "pairs/dbshard001")})
	if _, err := r.Read(t.Context()); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "speaks of 1 pairs, and 0 are there") {
		t.Errorf("with a pair lost: %v", err)
	}
}

func TestEtcdWithPassword(t *testing.T) {
	t.Parallel()
	cluster := routetest.StartEtcd(t, 1)
	for _, x := range []struct{ path, body string }{
		{"/v3/auth/user/add", `{"name":"root","password":"r"}`}, {"/v3/auth/role/add", `{"name":"root"}`},
		{"/v3/auth/user/grant", `{"user":"root","role":"root"}`},
		{"/v3/auth/user/add", `{"name":"stowage","password":"secret-word"}`}, {"/v3/auth/role/add", `{"name":"routing"}`},
		{"/v3/auth/role/grant", fmt.Sprintf(`{"name":"routing","perm":{"permType":"READWRITE","key":%q,"range_end":%q}}`, key("/s/", ""), key("/s0", ""))},
		{"/v3/auth/user/grant", `{"user":"stowage","role":"routing"}`}, {"/v3/auth/enable", `{}`},
	} {
		cluster.Post(t, x.path, rawJSON(x.body))
	}
	open := func(user, password string) *route.Shared {
		r, err := route.NewEtcd(route.EtcdOptions{Endpoints: cluster.Endpoints, Prefix: "/s/", User: user, Password: password})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	create(t, open("stowage", "secret-word"), onePair())
	if err := open("stowage", "secret-word").Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil }); err != nil {
		t.Error(err)
	}
	for _, x := range [][2]string{{"", ""}, {"stowage", "wrong-word"}} {
		_, err := open(x[0], x[1]).Read(t.Context())
		if err == nil || strings.Contains(err.Error(), "-word") {
			t.Errorf("as %q: %v, want a refusal that tells no password", x[0], err)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// A request or an answer is lost on the way: the router finds out which.
func TestEtcdLosesRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	cluster := routetest.StartEtcd(t, 1)
	wire := routetest.NewWire(t, strings.TrimPrefix(cluster.Endpoints[0], "http://"))
	r := newEtcd(t, "/s/", "http://"+wire.Address)
	create(t, r, onePair())
	loseRequestsAndAnswers(t, r, wire, "request_put")
}

// loseRequestsAndAnswers: whatever is lost, Change says what is true.
func loseRequestsAndAnswers(t *testing.T, r route.Router, wire *routetest.Wire, commit string) {
	t.Helper()
	for n, x := range []struct {
		name string
		loss routetest.Loss
		want []bool
	}{
		{"the request", routetest.Request, []bool{false}}, {"the answer", routetest.Answer, []bool{true}},
		// A database holds the row for a COMMIT that is on its way, and whoever
		// asks waits for it; etcd does not, and it comes too late.
		{"the request, which arrives later", routetest.Late, []bool{false, true}},
		{"the answer again", routetest.Answer, []bool{true}},
	} {
		shard := farm.ShardName(fmt.Sprintf("added_%d", n))
		wire.BreakAt(commit, x.loss)
		err := r.Change(t.Context(), pairName, func(p *route.Pair) error { p.Shards = append(p.Shards, shard); return nil })
		if wire.Broken() != 1 {
			t.Fatalf("lost %s: the wire broke %d times", x.name, wire.Broken())
		}
		wire.Settle()
		table, readErr := r.Read(t.Context())
		if readErr != nil {
			t.Fatal(readErr)
		}
		there := strings.Contains(fmt.Sprint(table.Pairs[pairName].Shards), string(shard))
		if !slices.Contains(x.want, there) || (err == nil) != there || errors.Is(err, farm.ErrOutcomeUnknown) {
			t.Errorf("lost %s: error %v, and the change is there: %v", x.name, err, there)
		}
	}
	// The store goes away for good in the middle of a change: nobody knows.
	if testing.Short() {
		return
	}
	wire.BreakAt(commit, routetest.Answer)
	done := make(chan error, 1)
	go func() {
		done <- r.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.B); return nil })
	}()
	for wire.Broken() == 0 {
		time.Sleep(time.Millisecond)
	}
	wire.Cut()
	if err := <-done; !errors.Is(err, farm.ErrOutcomeUnknown) || farm.Hint(err) == "" {
		t.Errorf("the store went away: %v, want an unknown outcome and what to do", err)
	}
	wire.Heal()
	if _, err := r.Read(t.Context()); err != nil {
		t.Error(err)
	}
}
