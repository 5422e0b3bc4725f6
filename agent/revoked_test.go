package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stowage/farm"
)

func authority(t *testing.T) *Authority {
	t.Helper()
	ca, err := OpenAuthority(filepath.Join(t.TempDir(), "certs"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func identityOf(t *testing.T, i Issued, err error) *Identity {
	t.Helper()
	if err == nil {
		var id *Identity
		if id, err = ReadIdentity(i.Dir, time.Now()); err == nil {
			return id
		}
	}
	t.Fatal(err)
	return nil
}

// A host's older certificate, whose directory was replaced long ago, is revoked
// with its newest; a new one is made when asked only, and is not revoked.
func TestRevokeEndsEveryCertificateOfAHost(t *testing.T) {
	ca, now := authority(t), time.Now()
	first := hostIdentity(t, ca, "db1", false)
	second := hostIdentity(t, ca, "db1", true)
	other := hostIdentity(t, ca, "db2", false)
	i, err := ca.Controller(now, false)
	controller := identityOf(t, i, err) // it runs when the host is revoked
	of, added, err := ca.Revoke("db1", "disk sold\n# db2, x, y\n"+serialOf(other.cert), now)
	if err != nil || added != 2 || len(of) != 2 {
		t.Fatalf("%+v, %d added, %v", of, added, err)
	}
	if of, added, err := ca.Revoke("db1", "again", now); err != nil || added != 0 || len(of) != 2 {
		t.Errorf("revoked twice: %+v, %d added, %v", of, added, err)
	}
	for name, x := range map[string]struct {
		id      *Identity
		revoked bool
	}{"the first": {first, true}, "the second": {second, true}, "another host's": {other, false}} {
		if _, err := controller.verify(x.id.cert.Raw, RoleHost, "", now); errors.Is(err, ErrRevoked) != x.revoked {
			t.Errorf("%s is verified: %v", name, err)
		}
		if _, err := controller.seal("ask", x.id.cert, []byte("words")); errors.Is(err, ErrRevoked) != x.revoked {
			t.Errorf("sealed for %s: %v", name, err)
		}
	}
	if i, err := ca.Host("db1", now, false); err != nil || i.New || !i.Revoked {
		t.Errorf("asked for without --renew: %+v, %v", i, err)
	}
	third := hostIdentity(t, ca, "db1", true)
	if _, err := controller.verify(third.cert.Raw, RoleHost, HostDNS("db1"), now); err != nil {
		t.Errorf("the one made afterwards: %v", err)
	}
	about, err := os.Stat(ca.RevokedPath())
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", about, err)
	}
	if raw, err := os.ReadFile(ca.RevokedPath()); err != nil || strings.Count(string(raw), "\n") != 4 || !strings.Contains(string(raw), "# db1, "+day(now)+", disk sold #") {
		t.Errorf("%v\n%s", err, raw)
	}
}

func hostIdentity(t *testing.T, ca *Authority, name farm.HostName, renew bool) *Identity {
	t.Helper()
	i, err := ca.Host(name, time.Now(), renew)
	return identityOf(t, i, err)
}

// A certificate from before serial numbers were remembered.
func TestRevokeOfCertificatesFromBefore(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		ca, now := authority(t), time.Now()
		old := hostIdentity(t, ca, "db1", false)
		if err := os.Remove(filepath.Join(ca.dir, issuedFile)); err != nil {
			t.Fatal(err)
		}
		if renewed {
			hostIdentity(t, ca, "db1", true)
		}
		of, _, err := ca.Revoke("db1", "", now)
		if err != nil || of[0].Serial != serialOf(old.cert) {
			t.Errorf("renewed meanwhile: %v: %+v, %v; want %s", renewed, of, err, serialOf(old.cert))
		}
	}
}

// A typing error, or a path, revokes nothing.
func TestRevokeOfUnknownHosts(t *testing.T) {
	ca, now := authority(t), time.Now()
	if _, err := ca.Controller(now, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []farm.HostName{"db1", "controller", "../controller"} {
		if _, _, err := ca.Revoke(name, "", now); !errors.Is(err, farm.ErrInput) || farm.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(ca.RevokedPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list was written: %v", err)
	}
}

// A list that cannot be read accepts nobody, rather than everybody; one that is
// gone under a running program forgets nothing.
func TestSpoiledListOfRevokedCertificates(t *testing.T) {
	ca, now := authority(t), time.Now()
	db1, db2 := hostIdentity(t, ca, "db1", false), hostIdentity(t, ca, "db2", false)
	i, err := ca.Controller(now, false)
	controller := identityOf(t, i, err)
	if _, _, err := ca.Revoke("db1", "", now); err != nil {
		t.Fatal(err)
	}
	accepts := func(id *Identity) error {
		_, err := controller.verify(id.cert.Raw, RoleHost, "", now)
		return err
	}
	if accepts(db1) == nil || accepts(db2) != nil {
		t.Fatalf("%v, %v", accepts(db1), accepts(db2))
	}
	if err := os.Remove(ca.RevokedPath()); err != nil {
		t.Fatal(err)
	}
	if err := accepts(db1); !errors.Is(err, ErrRevoked) {
		t.Errorf("the list is gone: %v", err)
	}
	if err := os.WriteFile(ca.RevokedPath(), []byte("# db1\n-"+serialOf(db1.cert)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := accepts(db2); !errors.Is(err, farm.ErrRefused) || farm.Hint(err) == "" {
		t.Errorf("a spoiled list: %v", err)
	}
	if _, err := ReadIdentity(i.Dir, now); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a program that begins with a spoiled list: %v", err)
	}
}

// An agent that has run for two years says that its certificate ends, and not
// only when it is started.
func TestAgentSpeaksOfItsCertificatesEnd(t *testing.T) {
	id := hostIdentity(t, authority(t), "db1", false)
	synctest.Test(t, func(t *testing.T) {
		cert := *id.cert
		cert.NotAfter = time.Now().Add(40 * 24 * time.Hour)
		var said strings.Builder
		a := &Agent{o: Options{Identity: &Identity{cert: &cert}, Log: slog.New(slog.NewTextHandler(&said, nil))}}
		ctx, stop := context.WithCancel(t.Context())
		go a.remind(ctx)
		for _, x := range []struct{ after, times int }{{9, 0}, {3, 2}, {10, 12}} {
			time.Sleep(time.Duration(x.after)*24*time.Hour + time.Minute)
			synctest.Wait()
			if n := strings.Count(said.String(), "expires soon"); n != x.times {
				t.Errorf("%d days later: said %d times, want %d\n%s", x.after, n, x.times, &said)
			}
		}
		stop()
	})
}

// testAgent is an agent without a machine behind it, and where it serves copies.
func testAgent(t *testing.T, id *Identity, name farm.HostName, dir string) (*Agent, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{o: Options{Host: name, Identity: id, Log: slog.New(slog.DiscardHandler)}, listen: l, offers: newOffers()}
	if a.audit, err = openAudit(filepath.Join(dir, auditFile), a.o.Log); err == nil {
		id.revoked, err = openRevocations(filepath.Join(dir, revokedFile))
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := a.serveCopies(func(err error) { t.Error(err) })
	t.Cleanup(func() { stop(); a.audit.close() })
	return a, l.Addr().String()
}

// Somebody holds the key of a revoked host: he fetches no copy from an agent
// that has heard of it, sends it none, and what he has under way ends; also
// after that agent was started again, by which time nobody tells it.
func TestRevokedHostExchangesNoCopies(t *testing.T) {
	ca, dir := authority(t), t.TempDir()
	thief, mine := hostIdentity(t, ca, "db2", false), hostIdentity(t, ca, "db1", false)
	a, address := testAgent(t, mine, "db1", dir)
	fetch := func() error {
		client := (&Agent{o: Options{Identity: thief}}).copyClient("db1")
		defer client.CloseIdleConnections()
		resp, err := client.Get("https://" + address + copyPath)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	lure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "poison") }))
	lure.TLS, lure.EnableHTTP2 = thief.Server(), true
	lure.TLS.NextProtos = []string{"h2"}
	lure.StartTLS()
	defer lure.Close()
	q := request{From: "db2", Address: lure.Listener.Addr().String()}
	take := func() error {
		client := a.copyClient(q.From)
		defer client.CloseIdleConnections()
		body, _, _, err := a.reach(t.Context(), client, q, &running{})
		if err == nil {
			body.Close()
		}
		return err
	}
	if err := fetch(); err != nil {
		t.Fatalf("before, he reaches it: %v", err)
	}
	if err := take(); err != nil {
		t.Fatalf("before, it reads from him: %v", err)
	}
	under, stop := mine.revoked.guard(t.Context(), thief.cert)
	defer stop(nil)
	list, _, err := ca.Revoke("db2", "key lost", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a.hear("x", request{Revoked: list})
	select {
	case <-under.Done():
		if !errors.Is(context.Cause(under), ErrRevoked) {
			t.Errorf("what is under way ends by %v", context.Cause(under))
		}
	case <-time.After(time.Minute):
		t.Error("what is under way goes on")
	}
	refused := func(when string) {
		t.Helper()
		// An alert is lost where his request arrives at a connection that is closed already.
		for try := 1; ; try++ {
			var alert tls.AlertError
			err := fetch()
			if err == nil || try == 50 {
				t.Errorf("%s he fetches: %v", when, err)
			}
			if err == nil || try == 50 || errors.As(err, &alert) || strings.Contains(err.Error(), "bad certificate") {
				break
			}
		}
		if err := take(); !errors.Is(err, ErrRevoked) {
			t.Errorf("%s he sends: %v", when, err)
		}
	}
	refused("told,")
	a.hear("y", request{}) // a program that knows of none takes nothing back
	refused("told less,")
	mine = hostIdentity(t, ca, "db1", false)
	a, address = testAgent(t, mine, "db1", dir)
	refused("started again,")
	if about, err := os.Stat(filepath.Join(dir, revokedFile)); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", about, err)
	}
}

// An agent whose disk is full keeps to the list, and writes it when it can.
func TestListOfRevokedCertificatesOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, err := openRevocations(filepath.Join(dir, revokedFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no file can be made there
		t.Fatal(err)
	}
	list := []Revocation{{Serial: "abc", Host: "db1"}}
	if added, err := r.add(list); err == nil || !added || len(r.list()) != 1 {
		t.Errorf("added %v, %v, %d known", added, err, len(r.list()))
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if added, err := r.add(list); err != nil || added {
		t.Errorf("with the next call: added %v, %v", added, err)
	}
	again, err := openRevocations(r.path)
	if err != nil || len(again.list()) != 1 {
		t.Errorf("read again: %v, %v", again.list(), err)
	}
}
