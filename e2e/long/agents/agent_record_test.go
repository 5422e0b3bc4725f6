package agents

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A machine's line is cut while it is recorded, and healed within the window, or long after its end. The agent needs nobody
// to end it: the settings are as before by its own clock, and the digest travels when there is a line again.
func TestLineCutWhileRecording(t *testing.T) {
	long(t)
	const window = 6 * time.Second
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 50)
	sockets, err := filepath.Glob(filepath.Join(f.Dir, "hosts/old*/*/data/mysqld.sock"))
	if err != nil || len(sockets) != 2 {
		t.Fatalf("the sockets of old1 and old2: %v, %v", sockets, err)
	}
	old, other := f.BehindTheLine("net001/A", sockets[0]), f.BehindTheLine("net001/B", sockets[1])
	before := old.Settings()
	for name, away := range map[string]time.Duration{"healed in the window": 2 * time.Second, "healed after it": window + 8*time.Second} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan farmtest.Program, 1)
			go func() {
				ended <- farmtest.RunProgram(t, "", "digest", "record", "-C", f.Dir, "--for", window.String(), "--save", "cut-"+name[7:9]+name[len(name)-2:],
					"--max-running", "0", "--max-lag", "0", "--reserve", "1MB", "--json")
			}()
			for _, side := range []*farmtest.BehindLine{old, other} {
				if !side.Turns("1", time.Minute) {
					t.Fatalf("the window never opens\n%s", (<-ended).Stderr)
				}
				side.Value("SELECT 'in the window'") // of a session of its own: those that were there already are not recorded
			}
			f.Cut("old1")
			cut := time.Now()
			if away > window {
				if now := old.SettingsSoon(before, away); now != before { // nobody can have told it
					t.Errorf("behind a cut line the settings were\n%s\nand are\n%s", before, now)
				}
			}
			time.Sleep(time.Until(cut.Add(away)))
			f.Heal("old1")
			var p farmtest.Program
			select {
			case p = <-ended:
			case <-time.After(3 * time.Minute):
				t.Fatal("the recording does not end")
			}
			var s farmtest.RecordAnswer
			if err := json.Unmarshal([]byte(p.Stdout), &s); err != nil || p.Code != farmtest.ExitFine || len(s.Instances) != 2 {
				t.Fatalf("exit %d, %v\n%s\n%s", p.Code, err, p.Stdout, p.Stderr)
			}
			for _, i := range s.Instances {
				if i.Events == 0 || i.Error != "" {
					t.Errorf("%+v", i)
				}
			}
			if now := old.Settings(); now != before {
				t.Errorf("afterwards the settings were\n%s\nand are\n%s", before, now)
			}
		})
	}
	f.CheckLedger()
}
