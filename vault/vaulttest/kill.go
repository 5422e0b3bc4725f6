package vaulttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"stowage/internal/keeper"
	"stowage/vault"
)

const childEnv = "STOWAGE_TEST_VAULT"

// Main is the TestMain of packages that call Run.
func Main(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// Child ends this process as one that a test has started to be killed, if it is one. For packages that have another TestMain.
func Child() {
	if text := os.Getenv(childEnv); text != "" {
		fmt.Println("FAILED", child(text))
		os.Exit(1)
	}
}

// child puts a part without end, and tells when some of it has been taken.
func child(text string) error {
	var p vault.Place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	v, err := vault.Open(p)
	if err != nil {
		return err
	}
	_, err = v.Put(context.Background(), "a/killed", "base.xb", func(w io.Writer) error {
		for n := uint64(0); ; n++ {
			if _, err := w.Write(Stream(n, 200_000)); err != nil {
				return err
			}
			if n == 2 {
				fmt.Println("READY")
			}
			time.Sleep(time.Millisecond)
		}
	})
	return err
}

// killed ends a process that puts a part with SIGKILL, and looks whether anything could be taken for a part.
func killed(t *testing.T, s Subject) {
	p := s.Place(t)
	place, err := json.Marshal(p)
	must(t, err)
	v := open(t, p)
	Keep(t, v, "a/before", map[string][]byte{"base.xb": {1}}) // so that nothing has to be made first
	random := rand.New(rand.NewPCG(s.Seed, 2))
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(place))
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, keeper.Start(cmd))
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "READY" {
			if strings.HasPrefix(lines.Text(), "FAILED") {
				t.Error(lines.Text())
			}
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		WantSets(t, v, "", "a/before")
		if err := v.Seal(t.Context(), cut("a/killed", Stream(0, 200_000)), nil); err == nil {
			t.Error("sealed without its part")
		}
	}
	Keep(t, v, "a/killed", map[string][]byte{"base.xb": []byte("whole")}) // the next attempt
	if got := string(Get(t, v, "a/killed", "base.xb")); got != "whole" {
		t.Errorf("got %q", got)
	}
	must(t, v.Check(t.Context(), "a/killed"))
	must(t, v.Remove(t.Context(), "a/killed")) // also past locks of the dead
	WantSets(t, v, "", "a/before")
}
