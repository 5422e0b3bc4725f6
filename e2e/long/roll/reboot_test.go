package roll

import (
	"os"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Machines with an agent each are rebooted under load, one after the other: the agent, what carries the command and the servers go down with them. Clients notice nothing,
// and each machine goes down once; of a pair with one writer, too.
func TestMachinesAreRebooted(t *testing.T) {
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
		t.Run(string(topology), func(t *testing.T) {
			f := farmtest.NewNetFarm(t, topology, 2)
			script, count := f.Reboots()
			for _, h := range farmtest.NetHosts {
				f.StartAgent(h)
			}
			f.Serve(2, 50)
			if err := os.MkdirAll(f.Dir+"/rolls", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.Dir+"/rolls/kernel.yaml", []byte("hosts: old*\nsteps: [{reboot: ["+script+"], time_limit: 2m}]\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			f.Must("roll", "kernel", "--name", "k1")
			f.Must("roll", "k1")
			for _, h := range []farm.HostName{"old1", "old2"} {
				if n := count(h); n != 1 {
					t.Errorf("%s went down %d times", h, n)
				}
			}
			if p := farmtest.RunWith(t, f.Env(""), "log", "-C", f.Dir); p.Code != farmtest.ExitFine || strings.Contains(p.Stdout, "is not compared") {
				t.Errorf("what tune finds was not read through an agent: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			f.CheckLedger()
			if topology == farm.PrimaryReplica {
				f.Onto, f.Wanted = "", "anywhere"
				f.CheckOneServes()
			}
		})
	}
}
