package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/mysql"
)

// tlsFarm is a farm whose servers demand TLS of Stowage and of replicas, and whose links have it. accounts.cnf says so for Stowage
// alone: what the links use is known from the links.
func tlsFarm(t *testing.T, shards int) (f *farmtest.NetFarm, ca string) {
	t.Helper()
	f = farmtest.NewNetFarm(t, farm.ActiveActive, shards)
	var addresses []string
	for _, h := range farmtest.NetHosts {
		f.StartAgent(h)
		addresses = append(addresses, f.Hosts[h].Address)
	}
	authority := farmtest.NewAuthority(t)
	cert, key := authority.Sign(t, addresses...)
	dir := filepath.Join(f.Dir, "tls")
	f.Did(os.Mkdir(dir, 0o755))
	for name, text := range map[string]string{"ca.pem": authority.PEM, "server.pem": cert, "server.key": key} {
		f.Did(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) // also for the servers' account
	}
	ca = filepath.Join(dir, "ca.pem")
	f.Options = fmt.Sprintf("ssl_ca = %s\nssl_cert = %s/server.pem\nssl_key = %s/server.key\n", ca, dir, dir)
	accounts := func(links string) {
		text := "[stowage]\nuser = stowage\npassword = stowage-canary\nssl-ca = " + ca + "\n[replication]\nuser = replication\npassword = replication-canary\n" + links +
			"[client]\nuser = app\npassword = app-canary\n"
		f.Did(os.WriteFile(f.Path("accounts.cnf"), []byte(text), 0o600))
	}
	accounts("ssl-ca = " + ca + "\nssl-verify-server-cert = 1\n")
	f.Serve(shards, 50)
	accounts("")
	for _, s := range servers(f) {
		f.Did(s.Build(t.Context(), []string{"SET SESSION sql_log_bin=0", "ALTER USER stowage@'%' REQUIRE SSL", "ALTER USER replication@'%' REQUIRE SSL"}))
	}
	return f, ca
}

// servers are those of the farm, where farm.yaml has them now.
func servers(f *farmtest.NetFarm) (out []*mysql.Server) {
	f.T.Helper()
	ws, fm, _, err := farmtest.FarmAccess(f.Dir)
	f.Did(err)
	admin, err := mysql.ReadAccount(ws.Path(fm.Accounts), "stowage")
	f.Did(err)
	for _, side := range farm.SideNames {
		s := mysql.Open(fm.Pairs[0].Instance(side), fm.Address(fm.Pairs[0].Sides[side]), admin, farmtest.QuietLog())
		f.T.Cleanup(func() { s.Close() })
		out = append(out, s)
	}
	return out
}

// A farm whose servers demand TLS moves live, and its links have TLS before, at every moment of it, and afterwards: a link without
// would not be let in.
func TestMoveOfAFarmWithTLSKeepsIt(t *testing.T) {
	f, ca := tlsFarm(t, 1)
	if p := f.During("", func() {}); p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	f.Did(err)
	for n, s := range servers(f) {
		link, err := s.LinkTLS(t.Context())
		if err != nil || link == nil || link.CA != ca || !link.Verify {
			t.Errorf("the link of %s is %+v, %v; want TLS with %s, verified", s.Name(), link, err, ca)
		}
		plain := mysql.Open(s.Name(), s.Address(), mysql.Account{User: "stowage", Password: "stowage-canary"}, farmtest.QuietLog())
		if err := plain.Ping(t.Context()); err == nil {
			t.Errorf("%s lets Stowage's account in without TLS", s.Name())
		}
		plain.Close()
		if side := fm.Pairs[0].Sides[farm.SideNames[n]]; side.Host != "new1" && side.Host != "new2" {
			t.Errorf("%s is on %s", s.Name(), side.Host)
		}
	}
	f.CheckWhole()
}
