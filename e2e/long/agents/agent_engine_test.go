package agents

import (
	"net"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Killed while preflight asks hosts through it, the engine is started again, and
// preflight goes on: when it was just starting, and when it had calls that no
// agent had answered yet. (The move was refused, exit code 3: its pairs could not
// be asked.)
func TestEngineKilledDuringPreflight(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 1, 50)
	b := f.Start("move", "first", "--dry-run")
	f.KillEngineOf(b)
	b.Ends(t, farmtest.ExitFine)

	for _, h := range farmtest.NetHosts {
		a := f.Agents[h]
		_ = a.Cmd.Process.Kill()
		<-a.Exited
	}
	b = f.Start("move", "first")
	f.Await(b, "the engine listens", func() bool {
		c, err := net.DialTimeout("tcp", f.EngineAddress(), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	time.Sleep(500 * time.Millisecond) // for the first calls; without them it is killed a little earlier
	f.KillEngineOf(b)
	for _, h := range farmtest.NetHosts {
		f.StartAgent(h)
	}
	b.Ends(t, farmtest.ExitFine)
	f.CheckWhole()
}
