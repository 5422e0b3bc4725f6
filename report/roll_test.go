package report

import (
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
)

// inventRoll is a roll that is under way in a farm of n hosts in racks of ten, of which every eleventh has no label: some are done, one is at each other stand.
func inventRoll(n int) RollFacts {
	f := RollFacts{Plan: "kernel-001", Run: "roll-kernel-001-1", State: "running", Runs: 1, Work: []string{"run: /usr/local/sbin/patch --all", "restart its instances"}, Started: began, Takes: time.Minute, Now: at(600)}
	code := 0
	for i := range n {
		h := RollHost{Name: farm.HostName(fmt.Sprintf("db%04d", i+1)), Rack: fmt.Sprintf("r%d", i/10+1), Stand: RollWaiting, Planned: at(float64(i) * 60)}
		if i%11 == 10 {
			h.Rack = ""
		}
		for _, s := range farm.SideNames {
			h.Sides = append(h.Sides, RollSide{Pair: farm.PairName(fmt.Sprintf("dbshard%04d", i+1)), Side: s, Twin: farm.HostName(fmt.Sprintf("db%04d", (i+1)%n+1))})
			break
		}
		back := func() {
			h.Stand, h.Out, h.Back = RollDone, at(float64(i)*20), at(float64(i)*20+18+float64(i%7))
			h.Did = []RollDid{{What: f.Work[0], Code: &code, Runs: 1}, {What: f.Work[1]}}
			f.Pauses = append(f.Pauses, RollPause{h.Out, h.Name, h.Sides[0].Pair, farm.A, "out", 12 + float64(i%5)}, RollPause{h.Back, h.Name, h.Sides[0].Pair, farm.A, "in", 9})
		}
		switch {
		case i == 3:
			h.Stand, h.Step, h.Text, h.Out = RollStuck, "work", "step 1, run: /usr/local/sbin/patch --all: exit code 4; it printed:\nno space left on device", at(60)
			four := 4
			h.Did = []RollDid{{What: f.Work[0], Code: &four, Runs: 1, Failed: "exit code 4"}}
		case i == 5:
			h.Stand, h.Step, h.Text = RollUndone, "out", "the twin does not answer"
		case i == 7 || n == 1:
			h.Stand, h.Step, h.Text, h.Since, h.Out = RollAtWork, "work", "stop", at(580), at(580)
			h.Doing = "2 of 2: restart its instances"
			h.Sides[0].Role = "primary"
		case i == 8:
			h.Stand, h.Step, h.Text, h.Since, h.Out = RollReturning, "warm", "buffer pool 80 %", at(590), at(570)
		case i == 9:
			h.Stand, h.Step, h.Since = RollLeaving, "out", at(599)
		case i == 10:
			h.Step, h.Text, h.Holds, h.Since = "window", "no window is long enough; the next begins at Mon 23 Nov 22:00 UTC", true, at(300)
		case i == 11:
			h.Stand, h.Sides = RollNone, nil
		case i < max(3, n/2):
			back()
		}
		if i == 1 {
			h.Fresh, h.Gone = []string{"vm.swappiness: the kernel will swap"}, []string{"sda: a bad scheduler"}
		}
		f.Hosts = append(f.Hosts, h)
	}
	return f
}

func boardOf(t *testing.T, f RollFacts) (RollBoard, string) {
	t.Helper()
	b, err := NewRollBoard(f)
	if err != nil {
		t.Fatal(err)
	}
	all := string(b.Head)
	for _, r := range b.Racks {
		all += string(r)
	}
	return b, all + string(b.Now)
}

// TestGridHasEveryHostOnce, in the order of the racks, with a sign and a word beside the colour.
func TestGridHasEveryHostOnce(t *testing.T) {
	for _, n := range []int{1, 30, 150, 2000} {
		f := inventRoll(n)
		b, _ := boardOf(t, f)
		var racks string
		for _, r := range b.Racks {
			racks += string(r)
		}
		if got := strings.Count(racks, "<li "); got != n {
			t.Errorf("%d hosts: %d cells", n, got)
		}
		for _, h := range f.Hosts {
			if strings.Count(racks, `title="`+string(h.Name)+`: `+string(h.Stand)) != 1 {
				t.Errorf("%d hosts: %s is not there once as %s", n, h.Name, h.Stand)
			}
		}
		var order []string
		for _, m := range regexp.MustCompile(`<h3>([^<]*) <small>`).FindAllStringSubmatch(racks, -1) {
			order = append(order, m[1])
		}
		if n == 150 {
			if got := strings.Join(order, ", "); !strings.HasPrefix(got, "rack r1, rack r2, rack r3") || !strings.Contains(got, "rack r9, rack r10,") || !strings.HasSuffix(got, "rack r15, no rack") {
				t.Errorf("racks: %s", got)
			}
		}
		if len(racks) > 320*n+2000 {
			t.Errorf("%d hosts: the grid has %d bytes", n, len(racks))
		}
		t.Logf("%d hosts: %d racks, %d bytes", n, len(b.Racks), len(racks))
	}
	signs := map[string]RollStand{}
	for _, s := range rollStands {
		if other, taken := signs[s.Sign]; taken {
			t.Errorf("%s and %s have one sign: they would be distinguished by colour alone", s.Stand, other)
		}
		signs[s.Sign] = s.Stand
	}
}

// TestRollSaysWhatIsAndWhatWas of a roll under way: what is out, which pairs are served by one side, what waits, what failed and how it goes on.
func TestRollSaysWhatIsAndWhatWas(t *testing.T) {
	f := inventRoll(40)
	f.Program, f.Failed = "stowage -C /srv/farm", []RollFailed{{By: "the ledger", Failed: 0}}
	_, now := boardOf(t, f)
	piece, err := RollPiece(f)
	if err != nil {
		t.Fatal(err)
	}
	for text, wants := range map[string][]string{
		now: {
			"13 of 39 hosts done, 1 stuck", "the run is running", "stowage -C /srv/farm roll in db0004", "no space left on device", "db0006", "serves as before",
			"dbshard0008</th><td>side A</td><td>the replica on db0009 takes the writes", "no window is long enough", "Clients were held back 26 times", "clients of side A",
			"at work: 2 of 2: restart its instances", "returning: warm", "Failed queries in that time, by the ledger: 0.", "1 not in this roll", "out since " + moment(at(60)),
		},
		string(piece.Body): {
			`id="host-db0001"`, "1 min 0 s from " + moment(began), "18 s", "0.30\u00d7", "run: /usr/local/sbin/patch --all \u2192 exit code 0", "restart its instances \u2192 done", "exit code 4",
			"tune finds, and did not before: vm.swappiness", "tune no longer finds: sda", "9 min 0 s, still out", "had one side serving, for",
		},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) && !strings.Contains(text, template.HTMLEscapeString(want)) {
				t.Errorf("it does not say %q", want)
			}
		}
	}
	if strings.Contains(string(piece.Body), `id="host-db0012"`) {
		t.Error("the table has a host that the plan does not have")
	}
	if s := f.Spoken(); !strings.Contains(s, "13 of 39 hosts done; db0004 stays out") {
		t.Errorf("spoken: %s", s)
	}
}

// TestGridIsTheSameWhileNothingHappens: otherwise every open page would be sent it every second.
func TestGridIsTheSameWhileNothingHappens(t *testing.T) {
	f := inventRoll(40)
	_, before := boardOf(t, f)
	f.Now = f.Now.Add(time.Hour)
	if _, after := boardOf(t, f); before != after {
		t.Error("it changes by the clock alone")
	}
}

// TestRollEnded says how long it took, and has no lists of what is out.
func TestRollEnded(t *testing.T) {
	f := inventRoll(1)
	f.Hosts[0].Stand, f.Hosts[0].Back, f.State, f.Ended, f.Runs = RollDone, at(600), "done", at(610), 2
	_, text := boardOf(t, f)
	for _, want := range []string{"1 of 1 host done</b> in 10 min 10 s; the run is done", "in 2 runs", "was out for 20 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"Out now", "Pairs served by one side", "Waits"} {
		if strings.Contains(text, not) {
			t.Errorf("it says %q", not)
		}
	}
}

// TestGridCanBeRead holds the colours of each stand, light and dark, against WCAG 2.1: 4.5 to 1 for text.
func TestGridCanBeRead(t *testing.T) {
	css := string(Style())
	themes := map[string]string{"light": css[:strings.Index(css, "@media")], "dark": css[strings.Index(css, "@media"):strings.Index(css, "* {")]}
	for theme, text := range themes {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
			colours["var(--"+m[1]+")"] = m[2]
		}
		for _, s := range rollStands {
			class := strings.Fields(string(s.Stand))[0]
			rule := regexp.MustCompile(`\.rollhost\.` + class + ` \{([^}]*)\}`).FindStringSubmatch(css)
			ink, paper := "var(--ink)", "var(--paper)"
			if rule != nil {
				for _, d := range strings.Split(rule[1], ";") {
					switch key, value, _ := strings.Cut(strings.TrimSpace(d), ": "); key {
					case "color":
						ink = value
					case "background":
						paper = value
					}
				}
			}
			if c := contrast(t, colours[ink], colours[paper]); c < 4.5 {
				t.Errorf("%s, %s: %s on %s has a contrast of %.1f", theme, s.Stand, ink, paper, c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(hex string) float64 {
		if len(hex) != 7 {
			t.Fatalf("%q is not a colour", hex)
		}
		sum := 0.0
		for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v, err := strconv.ParseUint(hex[1+2*n:3+2*n], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(v) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestLookAtRolls writes reports with rolls to $STOWAGE_REPORT_DIR for a person to look at.
func TestLookAtRolls(t *testing.T) {
	dir := os.Getenv("STOWAGE_REPORT_DIR")
	if dir == "" {
		t.Skip("set STOWAGE_REPORT_DIR to a directory to get roll-1.html, roll-150.html and roll-2000.html there")
	}
	for _, n := range []int{1, 150, 2000} {
		f := inventRoll(n)
		var b strings.Builder
		if err := Write(&b, Facts{Farm: "demo", Made: began, Roll: &f}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("roll-%d.html", n)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRollInABrowser opens reports with a roll: the console is silent.
func TestRollInABrowser(t *testing.T) {
	turns.One(t, 8)
	for _, n := range []int{1, 150} {
		f := inventRoll(n)
		var b strings.Builder
		if err := Write(&b, Facts{Farm: "demo", Made: began, Roll: &f}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "roll.html")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		dom, console := browse(t, path)
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
		if got := strings.Count(dom, `<li class="rollhost`); got != n || !strings.Contains(dom, `href="#roll"`) {
			t.Errorf("%d cells of %d hosts", got, n)
		}
	}
}
