package report

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/placement"
)

// planFarm is a farm with everything the document speaks of: profiles,
// customers, labels, growth, reserved room, hosts to buy.
func planFarm() (*farm.Farm, placement.Goals) {
	f := &farm.Farm{
		Name: "reviewed", NextServerID: 100,
		HostTypes: []farm.HostType{
			{Name: "old", Capacity: farm.Resources{farm.Disk: 1e12, farm.Memory: 64e9, farm.CPU: 8}, Watts: 200, Price: 3000},
			{Name: "dense", Capacity: farm.Resources{farm.Disk: 6e12, farm.Memory: 256e9, farm.CPU: 32}, Watts: 300, Price: 9000, MaxInstances: 6},
		},
		Profiles: []farm.Profile{{Name: "day"}, {Name: "night"}},
	}
	for h := range 24 {
		f.Profiles[0].Hours[h], f.Profiles[1].Hours[h] = 0.2, 1
		if h >= 8 && h < 20 {
			f.Profiles[0].Hours[h], f.Profiles[1].Hours[h] = 1, 0.1
		}
	}
	for i := range 12 {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("shop%02d", i+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for k, side := range farm.SideNames {
			h := farm.Host{Name: farm.HostName(fmt.Sprintf("old%02d", 2*i+k+1)), Type: "old", Address: fmt.Sprintf("10.0.%d.%d", k, i+1), Labels: map[string]string{"rack": fmt.Sprintf("r%d", (2*i+k)%4)}}
			f.Hosts = append(f.Hosts, h)
			dir := fmt.Sprintf("/srv/%s%s", p.Name, strings.ToLower(string(side)))
			p.Sides[side] = farm.Side{Host: h.Name, Port: 3306, Datadir: dir + "/data", Config: dir + "/my.cnf"}
		}
		for s := range 3 + i%2 {
			p.Shards = append(p.Shards, farm.Shard{
				Name: farm.ShardName(fmt.Sprintf("s%02d_%d", i+1, s)), Customer: farm.CustomerName(fmt.Sprintf("c%d", (i+s)%5)), Profile: []farm.ProfileName{"day", "night", ""}[(i+s)%3],
				Needs: farm.Resources{farm.Disk: float64(100+10*i) * 1e9, farm.Memory: 8e9, farm.CPU: 0.9}, Growth: float64(50+20*i) * 1e6,
			})
		}
		f.Pairs = append(f.Pairs, p)
	}
	f.Hosts = append(f.Hosts,
		farm.Host{Name: "new1", Type: "dense", Address: "10.0.9.1", Dir: "/srv", Labels: map[string]string{"rack": "r0"}, Reserved: farm.Resources{farm.Disk: 200e9, farm.CPU: 2}},
		farm.Host{Name: "new2", Type: "dense", Address: "10.0.9.2", Dir: "/srv", Labels: map[string]string{"rack": "r1"}, Reserved: farm.Resources{farm.Disk: 200e9, farm.CPU: 2}})
	g := placement.Defaults()
	g.Onto, g.RunwayDays, g.Growth = []farm.HostTypeName{"dense"}, 200, 1.1
	g.Overhead = farm.Resources{farm.Memory: 1.5e9}
	g.SpreadLabels = []string{"rack"}
	g.Buy = []placement.Purchase{{Type: "dense", Most: 8, Labels: map[string][]string{"rack": {"r2", "r3"}}}}
	return f, g
}

func planFacts(t *testing.T, unit placement.Unit) PlanFacts {
	t.Helper()
	f, g := planFarm()
	g.Unit = unit
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	p.Name, p.Farm, p.Made = "reviewed", f.Name, "2026-11-21T21:04:58Z"
	return PlanFacts{Plan: p, Now: f, Freeing: placement.Freeing(f, p)}
}

func written(t *testing.T, f PlanFacts) (page, text string) {
	t.Helper()
	d := NewPlanDocument(f)
	var h, m strings.Builder
	if err := d.WriteHTML(&h); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteMarkdown(&m); err != nil {
		t.Fatal(err)
	}
	return h.String(), m.String()
}

var (
	tags   = regexp.MustCompile(`(?s)<[^>]*>`)
	rows   = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	cell   = regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`)
	facts  = regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd>(.*?)</dd>`)
	spaces = regexp.MustCompile(`\s+`)
)

// plainly is text without markup, bars and unusual spaces.
func plainly(text string) string {
	text = tags.ReplaceAllString(text, "")
	text = html.UnescapeString(strings.ReplaceAll(text, "\\|", "|"))
	text = strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u2588", "", "\u2591", "", "`", "'").Replace(text)
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// figuresOf are all rows of all tables, each as one line.
func figuresOf(page, text string) (fromHTML, fromMarkdown []string) {
	for _, r := range rows.FindAllStringSubmatch(page, -1) {
		var line []string
		for _, c := range cell.FindAllStringSubmatch(r[1], -1) {
			line = append(line, plainly(c[1]))
		}
		fromHTML = append(fromHTML, strings.ToLower(strings.Join(line, " ; ")))
	}
	for _, m := range facts.FindAllStringSubmatch(page, -1) {
		fromHTML = append(fromHTML, strings.ToLower(plainly(m[1])+" ; "+plainly(m[2])))
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
			cells = append(cells, plainly(c))
		}
		fromMarkdown = append(fromMarkdown, strings.ToLower(strings.Join(cells, " ; ")))
	}
	return fromHTML, slices.DeleteFunc(fromMarkdown, func(l string) bool { return l == "goal ; value" })
}

// TestPlanPaperSaysTheSameTwice: every row of every table, and every
// sentence, is the same in HTML and in Markdown.
func TestPlanPaperSaysTheSameTwice(t *testing.T) {
	for _, unit := range []placement.Unit{placement.UnitInstance, placement.UnitShard} {
		f := planFacts(t, unit)
		page, text := written(t, f)
		a, b := figuresOf(page, text)
		if len(a) < 60 {
			t.Fatalf("%s: only %d rows found in the page", unit, len(a))
		}
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s: row %d differs:\nHTML     %s\nMarkdown %s", unit, i, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: %d rows in HTML and %d in Markdown", unit, len(a), len(b))
		}
		plain := plainly(text)
		for _, m := range regexp.MustCompile(`(?s)<section id="[^"]*">.*?</section>`).FindAllString(page, -1) {
			for _, p := range regexp.MustCompile(`(?s)<p>(.*?)</p>`).FindAllStringSubmatch(m, -1) {
				if !strings.Contains(plain, plainly(p[1])) {
					t.Errorf("%s: Markdown does not say %q", unit, plainly(p[1]))
				}
			}
		}
	}
}

// TestPlanSectionsAreAllThere: what a reviewer asks for.
func TestPlanSectionsAreAllThere(t *testing.T) {
	page, text := written(t, planFacts(t, placement.UnitInstance))
	for _, id := range []string{"summary", "hardware", "packing", "scaling", "memory", "runway", "power", "surface", "risks", "moves", "proof", "goals"} {
		if !strings.Contains(page, `<section id="`+id+`">`) || !strings.Contains(page, `href="#`+id+`"`) {
			t.Errorf("no section %s, or nothing leads to it", id)
		}
	}
	if n := strings.Count(text, "\n## "); n != 12 {
		t.Errorf("%d sections in Markdown, want 12", n)
	}
	for _, want := range []string{"independent checker", "found nothing wrong", "2026-11-21T21:04:58Z", "Not measured: linear"} {
		if !strings.Contains(page, want) || !strings.Contains(text, want) {
			t.Errorf("does not say %q", want)
		}
	}
}

// TestReckonedAsThePlanReckons holds how loads before are added up against what
// the plan itself says of the hosts after.
func TestReckonedAsThePlanReckons(t *testing.T) {
	for _, unit := range []placement.Unit{placement.UnitInstance, placement.UnitShard} {
		f := planFacts(t, unit)
		c := newCensus(f)
		if len(c.before) != f.Plan.HostsBefore || len(c.after) != f.Plan.HostsUsed || held(c.before) != 24 {
			t.Fatalf("%s: %d and %d hosts, %d instances", unit, len(c.before), len(c.after), held(c.before))
		}
		for i, h := range c.after {
			own := c.carrier(h.host, h.isNew, h.instances)
			for n, want := range f.Plan.Hosts[i].Use {
				if math.Abs(own.use[n]-want) > 1e-6 {
					t.Errorf("%s: %s of %s is %v, the plan says %v", unit, n, h.host.Name, own.use[n], want)
				}
			}
			if own.binding != f.Plan.Hosts[i].Binding {
				t.Errorf("%s: on %s %s binds, the plan says %s", unit, h.host.Name, own.binding, f.Plan.Hosts[i].Binding)
			}
			if shardsOn(h) != f.Plan.Hosts[i].Shards {
				t.Errorf("%s: %d shards on %s, the plan says %d", unit, shardsOn(h), h.host.Name, f.Plan.Hosts[i].Shards)
			}
		}
	}
}

// TestRunwayDayByDay lets disks grow a day at a time.
func TestRunwayDayByDay(t *testing.T) {
	c := newCensus(planFacts(t, placement.UnitInstance))
	for _, h := range append(slices.Clone(c.before), c.after...) {
		used, day := 0.0, 0
		for _, x := range h.instances {
			for _, s := range x.shards {
				used += s.Needs[farm.Disk] * 1.1
			}
		}
		for used += h.host.Reserved[farm.Disk]; used < 0.8*h.kind.Capacity[farm.Disk] && day < 100_000; day++ {
			for _, x := range h.instances {
				for _, s := range x.shards {
					used += s.Growth * 1.1
				}
			}
		}
		// The first day at whose end the limit is reached is the runway rounded up.
		if got := int(math.Ceil(h.runway - 1e-6)); got != day {
			t.Errorf("%s breaks its headroom on day %d, reckoned %v", h.host.Name, day, h.runway)
		}
		if h.isNew && h.runway < 200 {
			t.Errorf("%s of the plan holds for %v days, the goals ask for 200", h.host.Name, h.runway)
		}
	}
	first, ok := soonest(c.after)
	for _, h := range c.after {
		if !ok || h.runway < first.runway {
			t.Errorf("%s breaks its headroom before %s", h.host.Name, first.host.Name)
		}
	}
}

func TestDiskCourse(t *testing.T) {
	for _, x := range []struct {
		d    diskCourse
		want float64
	}{
		{diskCourse{used: 50, grows: 1, limit: 80, whole: 100}, 30},
		{diskCourse{used: 80, grows: 1, limit: 80, whole: 100}, 0},
		{diskCourse{used: 95, grows: 0, limit: 80, whole: 100}, 0},
		{diskCourse{used: 50, grows: 0, limit: 80, whole: 100}, math.Inf(1)},
		{diskCourse{used: 50, grows: 1}, math.Inf(1)}, // no limit is known
	} {
		if got := x.d.days(x.d.limit); got != x.want {
			t.Errorf("%+v: %v days, want %v", x.d, got, x.want)
		}
	}
}

// TestSurfaceByHand counts what is behind each rack once more.
func TestSurfaceByHand(t *testing.T) {
	f := planFacts(t, placement.UnitInstance)
	c := newCensus(f)
	rack := map[farm.HostName]string{}
	for _, h := range c.after {
		rack[h.host.Name] = h.host.Labels["rack"]
	}
	for _, l := range c.surfaceOf(c.after, byLabel("rack")) {
		sides, shards, who := map[farm.PairName]int{}, 0, map[farm.CustomerName]bool{}
		for _, a := range f.Plan.Assignments {
			if rack[a.Host] == l.what {
				sides[a.Pair]++
			}
		}
		for name := range sides {
			pair, _ := f.Now.Pair(name)
			shards += len(pair.Shards)
			for _, s := range pair.Shards {
				who[s.Customer] = true
			}
		}
		if l.pairs != len(sides) || l.shards != shards || l.customers != len(who) || l.both != 0 {
			t.Errorf("rack %s: %+v, want %d pairs, %d shards, %d customers and no pair whole", l.what, l, len(sides), shards, len(who))
		}
	}
}

// TestRisksAreFound makes each risk and takes it away.
func TestRisksAreFound(t *testing.T) {
	has := func(f PlanFacts, check string) bool {
		return slices.ContainsFunc(newCensus(f).risks(nil), func(r farm.Finding) bool {
			return strings.HasPrefix(r.Check, check) && r.Text != "" && r.Remedy != "" && r.Subject != ""
		})
	}
	for _, x := range []struct {
		check string
		make  func(*PlanFacts)
	}{
		{"plan-drift", func(f *PlanFacts) { f.Now.Hosts[0].Address = "10.9.9.9" }},
		{"plan-unknown-shards", func(f *PlanFacts) { f.Now.Pairs[0].Shards = f.Now.Pairs[0].Shards[1:] }},
		{"plan-gap", func(f *PlanFacts) { f.Plan.LowerBound-- }},
		{"plan-topology", func(f *PlanFacts) { f.Plan.Basis.Pairs[3].Topology = farm.PrimaryReplica }},
		{"plan-unit", func(f *PlanFacts) { f.Plan.Goals.Unit = placement.UnitShard }},
		{"plan-shared-rack", func(f *PlanFacts) {
			for i := range f.Plan.Basis.Hosts {
				f.Plan.Basis.Hosts[i].Labels = map[string]string{"rack": "r2"}
			}
		}},
		{"plan-labels", func(f *PlanFacts) { f.Plan.Goals.Buy[0].Labels = nil }},
		{"plan-runway", func(f *PlanFacts) { f.Plan.Goals.RunwayDays = 0 }},
		{"plan-late", func(f *PlanFacts) { f.Plan.MoveSeconds = 3000 * 86400 }},
		{"plan-growth", func(f *PlanFacts) { f.Now.Pairs[5].Shards[0].Growth = 0 }},
		{"plan-needs", func(f *PlanFacts) { delete(f.Now.Pairs[5].Shards[0].Needs, farm.Memory) }},
		{"plan-long-move", func(f *PlanFacts) { f.Plan.Moves[2].Seconds = 2 * 86400 }},
		{"plan-rates", func(f *PlanFacts) { f.Plan.Goals.Rates.Stream = 0 }},
		{"farm-short", func(f *PlanFacts) { f.Now.Pairs[1].Shards[0].Needs[farm.Memory] = 100e9 }},
	} {
		f := planFacts(t, placement.UnitInstance)
		f.Plan.Goals.Rates.Stream = 120e6
		f.Plan.LowerBound = f.Plan.HostsUsed
		if has(f, x.check) {
			t.Errorf("%s is found in a farm that does not have it", x.check)
		}
		x.make(&f)
		if !has(f, x.check) {
			t.Errorf("%s is not found", x.check)
		}
	}
}

// TestWrongPlanIsSeen: what the checker refuses must not look fine.
func TestWrongPlanIsSeen(t *testing.T) {
	f := planFacts(t, placement.UnitInstance)
	f.Plan.Assignments = slices.Clone(f.Plan.Assignments)
	f.Plan.Assignments[0].Host = f.Plan.Assignments[1].Host
	page, text := written(t, f)
	for _, got := range []string{page, text} {
		if !strings.Contains(got, "Do not carry it out") || strings.Contains(got, "found nothing wrong") || strings.Contains(got, "Proved optimal") || !strings.Contains(got, "blocker") {
			t.Error("a plan with both sides on one host looks fine")
		}
	}
	if !strings.Contains(page, `class="lead bad"`) {
		t.Error("the page does not show it at the top")
	}
}

// TestPlanCarriedOutReadsTheSame: the paper of a plan is the same before and
// after stowage move has changed farm.yaml.
func TestPlanCarriedOutReadsTheSame(t *testing.T) {
	f, g := planFarm()
	g.Buy = nil
	f.HostTypes[1].Capacity[farm.Disk], f.HostTypes[1].Capacity[farm.CPU], f.HostTypes[1].Capacity[farm.Memory], f.HostTypes[1].MaxInstances = 60e12, 320, 2560e9, 60
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "whole"
	_, before := written(t, PlanFacts{Plan: p, Now: f})
	_, after := written(t, PlanFacts{Plan: p, Now: p.Apply(f)})
	if before != after {
		t.Errorf("differs:\n%s", firstDifference(before, after))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}

// TestPlanPageLoadsNothing: no reference leaves the file, and the policy
// allows what is in it and nothing else.
func TestPlanPageLoadsNothing(t *testing.T) {
	page, _ := written(t, planFacts(t, placement.UnitInstance))
	if again, _ := written(t, planFacts(t, placement.UnitInstance)); again != page {
		t.Error("two pages of the same facts differ")
	}
	markup := styles.ReplaceAllString(scripts.ReplaceAllString(page, ""), "")
	for _, m := range references.FindAllStringSubmatch(markup, -1) {
		if !strings.HasPrefix(strings.Trim(m[1], `"'`), "#") {
			t.Errorf("refers to something outside the file: %s", m[0])
		}
	}
	for _, m := range inCSS.FindAllStringSubmatch(styles.FindString(page), -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the style refers to %s", m[0])
		}
	}
	if m := inline.FindString(markup); m != "" {
		t.Errorf("the policy forbids this attribute: %s", m)
	}
	style, script := styles.FindStringSubmatch(page)[1], ""
	for _, s := range scripts.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(s[1], "json") {
			script += s[2]
		}
	}
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(script), hash(style))
	if !strings.Contains(html.UnescapeString(page), policy) {
		t.Error("the policy does not fit the script and the style of the page")
	}
	for _, m := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(m, "aria-hidden") && !strings.Contains(m, "aria-label") {
			t.Errorf("a picture without a name: %s", m)
		}
	}
}

// TestNamesInPlanPapersAreText puts markup into what comes from files.
func TestNamesInPlanPapersAreText(t *testing.T) {
	const evil = `<script>alert(1)</script>|"'><img src=x onerror=alert(1)>` + "`\n# no"
	f := planFacts(t, placement.UnitInstance)
	f.Plan.Name, f.Plan.Farm, f.Plan.Made, f.Plan.BoundMethod = evil, evil, evil, evil
	f.Plan.Hosts[0].Name, f.Plan.Hosts[0].Type, f.Plan.Moves[0].Name, f.Plan.Moves[0].Target = evil, evil, evil, evil
	f.Plan.Assignments[0].Instance, f.Plan.Assignments[0].Pair = evil, evil
	f.Plan.Goals.SpreadLabels = []string{evil}
	f.Freeing = []placement.Relaxation{{Change: evil, Hosts: 1}}
	page, text := written(t, f)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want the code", n)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "ZgotmplZ") {
		t.Error("an element came in with a name")
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "\n# no") {
		t.Error("markup came into the Markdown with a name")
	}
}

// TestPaperOfALargeFarm: 12,000 instances make a page that can be opened.
func TestPaperOfALargeFarm(t *testing.T) {
	turns.One(t, 8)
	f := largePlan(6000)
	page, text := written(t, f)
	if len(page) > 5e6 || len(text) > 2e6 {
		t.Errorf("%d bytes of HTML and %d of Markdown", len(page), len(text))
	}
	for _, want := range []string{"Of the 12,000 hosts before, 120 are drawn", "Of the 2,000 hosts after, 120 are drawn", "alike hosts counted", "too many to be drawn one by one"} {
		if !strings.Contains(page, want) {
			t.Errorf("does not say %q", want)
		}
	}
	if n := strings.Count(page, `class="slab `); n > 2*sample*8 {
		t.Errorf("%d slabs are drawn", n)
	}
	small, _ := written(t, largePlan(1500))
	of := func(page string) int { return strings.Count(page, "<") - strings.Count(page, "</") }
	if len(page) > len(small)*3/2 || of(page) > of(small)*3/2 || of(page) > 20000 || strings.Count(page, ":has(.p") > 2*mostHighlights {
		t.Errorf("a farm four times as large has %d bytes and %d elements on its page, and %d bytes and %d elements before; %d rules of highlights", len(page), of(page), len(small), of(small), strings.Count(page, ":has(.p"))
	}
}

// largePlan is a plan of so many pairs, six instances a host. Nobody solved
// it: it is for its size.
func largePlan(pairs int) PlanFacts {
	f := &farm.Farm{Name: "large", NextServerID: 1, HostTypes: []farm.HostType{
		{Name: "old", Capacity: farm.Resources{farm.Disk: 1e12, farm.Memory: 64e9}}, {Name: "dense", Capacity: farm.Resources{farm.Disk: 8e12, farm.Memory: 512e9}, MaxInstances: 6},
	}}
	p := placement.Plan{FormatVersion: 1, Name: "large", Farm: "large", Goals: placement.Defaults(), HostsBefore: 2 * pairs, HostsUsed: pairs / 3, LowerBound: pairs / 3, BoundMethod: "volume of memory"}
	p.Goals.Onto = []farm.HostTypeName{"dense"}
	uses := map[int]*placement.HostUse{}
	for i := range pairs {
		pair := farm.Pair{Name: farm.PairName(fmt.Sprintf("pair%05d", i)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for s := range 16 {
			pair.Shards = append(pair.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%05d_%02d", i, s)), Needs: farm.Resources{farm.Disk: 4e10, farm.Memory: 3e9}, Growth: 1e7})
		}
		for k, side := range farm.SideNames {
			old := farm.Host{Name: farm.HostName(fmt.Sprintf("old%05d", 2*i+k)), Type: "old"}
			f.Hosts = append(f.Hosts, old)
			pair.Sides[side] = farm.Side{Host: old.Name, Port: 3306}
			h := i/6*2 + k
			if uses[h] == nil {
				uses[h] = &placement.HostUse{Name: farm.HostName(fmt.Sprintf("new%05d", h)), Type: "dense", Use: map[farm.ResourceName]float64{farm.Memory: 0.56, farm.Disk: 0.48}, Binding: "memory"}
			}
			uses[h].Instances = append(uses[h].Instances, pair.Instance(side))
			p.Assignments = append(p.Assignments, placement.Assignment{Pair: pair.Name, Side: side, Instance: pair.Instance(side), Host: uses[h].Name})
			p.Moves = append(p.Moves, placement.Move{Wave: i/100 + 1, Stage: 1, Name: string(pair.Instance(side)), Source: old.Name, Target: uses[h].Name, Bytes: 6.4e11, Begin: float64(i) * 60, Seconds: 6400, Pair: pair.Name, Side: side})
		}
		f.Pairs = append(f.Pairs, pair)
	}
	for h := range len(uses) {
		f.Hosts = append(f.Hosts, farm.Host{Name: uses[h].Name, Type: "dense", Dir: "/srv"})
		p.Hosts = append(p.Hosts, *uses[h])
	}
	p.MoveSeconds = float64(pairs)*60 + 6400
	for _, t := range f.HostTypes {
		p.Basis.HostTypes = append(p.Basis.HostTypes, placement.BasisHostType{Name: t.Name, Capacity: t.Capacity, MaxInstances: t.MaxInstances})
	}
	for _, h := range f.Hosts {
		p.Basis.Hosts = append(p.Basis.Hosts, placement.BasisHost(h))
	}
	for _, pair := range f.Pairs {
		bp := placement.BasisPair{Name: pair.Name, Topology: pair.Topology, Sides: map[farm.SideName]placement.BasisSide{}}
		for n, s := range pair.Sides {
			bp.Sides[n] = placement.BasisSide(s)
		}
		for _, s := range pair.Shards {
			bp.Shards = append(bp.Shards, s.Name)
		}
		p.Basis.Pairs = append(p.Basis.Pairs, bp)
	}
	return PlanFacts{Plan: p, Now: f}
}

// TestVerdictGoesByWhatComesFirst: more hosts than the bound are no gap where
// the goals ask for watts, and the other way round.
func TestVerdictGoesByWhatComesFirst(t *testing.T) {
	p := placement.Plan{HostsUsed: 6, LowerBound: 5, Cost: 100, CostBound: 100, Watts: 1200, WattsBound: 1000}
	for _, x := range []struct {
		first, verdict, lead string
	}{
		{"hosts", "Not proved optimal.", "fewer than 5 hosts"}, {"cost", "Proved optimal.", "costs less than 100"},
		{"watts", "Not proved optimal.", "20\u00a0% above"}, {"moves", "Not proved optimal.", "no bound"},
	} {
		p.Goals.Minimise = []string{x.first, "hosts"}
		if verdict, lead := proofWords(p, false); verdict != x.verdict || !strings.Contains(lead, x.lead) {
			t.Errorf("%s first: %s %s", x.first, verdict, lead)
		}
	}
	p.Goals.Minimise, p.LowerBound = nil, 6
	if verdict, _ := proofWords(p, false); verdict != "Proved optimal." {
		t.Errorf("as many hosts as the bound: %s", verdict)
	}
	if verdict, _ := proofWords(p, true); verdict != "Wrong." {
		t.Errorf("what the checker refuses is %s", verdict)
	}
}

// TestEmptyPlanHasAPaper: a farm without pairs, and one where nothing moves.
func TestEmptyPlanHasAPaper(t *testing.T) {
	page, text := written(t, PlanFacts{Plan: placement.Plan{FormatVersion: 1, Name: "nothing", Farm: "none", Goals: placement.Defaults()}})
	if !strings.Contains(text, "Nothing has to move.") || !strings.Contains(page, "Nothing has to be bought.") || strings.Contains(page+text, "NaN") || strings.Contains(page+text, "Inf") {
		t.Errorf("says something of nothing:\n%s", text)
	}
}

func TestLanesHoldOneMoveAtATime(t *testing.T) {
	f := planFacts(t, placement.UnitInstance)
	lane, lanes := assignLanes(f.Plan.Moves)
	if lanes < 1 || lanes > len(f.Plan.Moves) {
		t.Fatalf("%d lanes for %d moves", lanes, len(f.Plan.Moves))
	}
	for i, a := range f.Plan.Moves {
		for j, b := range f.Plan.Moves[:i] {
			if lane[i] == lane[j] && a.Begin < b.Begin+b.Seconds-1e-3 && b.Begin < a.Begin+a.Seconds-1e-3 {
				t.Errorf("%s and %s overlap in lane %d", a.Name, b.Name, lane[i])
			}
		}
	}
}

func TestPlanWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{longSpan(0), "0 s"}, {longSpan(59), "59 s"}, {longSpan(7200), "2 h"}, {longSpan(3900), "1 h 5 min"}, {longSpan(4.5 * 86400), "4.5 days"},
		{nth(2), "2nd"}, {nth(11), "11th"}, {nth(22), "22nd"}, {nth(101), "101st"}, {nth(100), "100th"}, {nth(3), "3rd"},
		{changed(10, 42), "4.20 times as much"}, {changed(10, 5), "50\u00a0% less"},
		{blocks(0), "\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591"}, {blocks(2), strings.Repeat("\u2588", 10)}, {blocks(0.5), strings.Repeat("\u2588", 5) + strings.Repeat("\u2591", 5)},
		{dayText(math.Inf(1)), "more than 100 years"}, {dayText(1.9), "1 day"},
		{quantity(300000, farm.IOPS), "300,000"}, {quantity(14e12, farm.Disk), "14 TB"}, {quantity(2000, "licences"), "2,000"},
		{prose("a|b <c> < 1"), "a\\|b &lt;c> < 1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestPlanPageInABrowser: the console is silent, and both packings are drawn.
func TestPlanPageInABrowser(t *testing.T) {
	turns.One(t, 8)
	page, _ := written(t, planFacts(t, placement.UnitInstance))
	path := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, console := browse(t, path)
	if console != "" {
		t.Errorf("the console says:\n%s", console)
	}
	if strings.Count(dom, `class="slab `) != 48 || !strings.Contains(dom, `class="bar `) {
		t.Error("the pictures are not there")
	}
}
