package swing

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/turns"
	"stowage/mysql"
)

// every is how often a soak looks.
const every = 100 * time.Millisecond

// newFeeling is one that reads no server.
func newFeeling(t *testing.T, source mysql.ServedSource, percent float64) *feeling {
	open := func(name farm.InstanceName) *mysql.Server {
		s := mysql.Open(name, "127.0.77.1:1", mysql.Account{}, slog.New(slog.DiscardHandler))
		t.Cleanup(func() { s.Close() })
		return s
	}
	settings := Defaults()
	settings.Soak = 500 * time.Millisecond
	return &feeling{swing: &Swing{Returns: open("a"), Twin: open("b"), Settings: settings}, asked: true, source: source, percent: percent}
}

// soak feeds a feeling with what two servers count until it is done. counters gives the readings after so long.
func (f *feeling) soak(counters func(time.Duration) span) (took time.Duration, err error) {
	for began := time.Unix(0, 0); ; took += every {
		if err := f.add(counters(took), began.Add(took)); err != nil {
			return took, err
		}
		if f.isDone(took) {
			return took, nil
		}
	}
}

// server makes up what one server counts: clients come in bursts, a statement takes a time of a long tail, one in 2000 waits for a lock for up
// to seconds, and now and then the whole server is five times as slow for up to a second.
type server struct {
	r      *rand.Rand
	rate   float64 // statements a second
	slower float64 // factor on each statement
	adds   float64 // milliseconds to each statement
	fails  float64 // share of inserts
	counts mysql.Served

	burst, hiccup float64 // seconds left
}

func (s *server) step() {
	dt := every.Seconds()
	rate, slow := s.rate, s.slower
	if s.burst > 0 {
		rate *= 8
	} else if s.r.Float64() < dt/3 {
		s.burst = s.r.ExpFloat64()
	}
	if s.hiccup > 0 {
		slow *= 5
	} else if s.r.Float64() < dt/20 {
		s.hiccup = s.r.Float64()
	}
	s.burst, s.hiccup = s.burst-dt, s.hiccup-dt
	n := mysql.Served{Source: mysql.StatementEvents, Kinds: map[string]mysql.ServedKind{}}
	for range poisson(s.r, rate*dt) {
		kind, ms := selects, 0.4
		if s.r.Float64() < 0.2 {
			kind, ms = inserts, 2.5
		}
		ms = ms*math.Exp(1.2*s.r.NormFloat64())*slow + s.adds
		if s.r.IntN(2000) == 0 {
			ms += 3000 * s.r.Float64() * s.r.Float64()
		}
		k := n.Kinds[kind]
		k.Statements++
		k.Time += time.Duration(ms * 1e6)
		if kind == inserts && s.r.Float64() < 0.005+s.fails {
			k.Errors++
		}
		n.Kinds[kind] = k
	}
	s.counts = s.counts.Plus(n)
}

func poisson(r *rand.Rand, mean float64) (n int) {
	for sum := r.ExpFloat64(); sum < mean; sum += r.ExpFloat64() {
		n++
	}
	return n
}

// ramp is the watching of all shares of a side; the error is of the share that is worse.
func ramp(t *testing.T, seed uint64, rate float64, ill func(*server)) (worse float64, texts []string, err error) {
	r := rand.New(rand.NewPCG(seed, 20))
	for _, percent := range []float64{1, 10, 100} {
		here, twin := &server{r: r, rate: rate * percent / 100, slower: 1}, &server{r: r, rate: rate * (2 - percent/100), slower: 1}
		ill(here)
		f := newFeeling(t, mysql.StatementEvents, percent)
		_, err := f.soak(func(time.Duration) span { here.step(); twin.step(); return span{here: here.counts, twin: twin.counts} })
		texts = append(texts, f.String())
		if err != nil {
			return percent, texts, err
		}
	}
	return 0, texts, nil
}

// A false alarm takes a healthy side out of a roll, a miss gives all clients a sick one. Both are counted over many ramps, with few and with
// many statements.
func TestHealthySidesStayAndSickOnesGo(t *testing.T) {
	turns.One(t, 6)
	for rate, ramps := range map[float64]int{30: 400, 300: 400, 3000: 100} {
		alarms := 0
		for seed := range uint64(ramps) {
			if _, _, err := ramp(t, seed, rate, func(*server) {}); err != nil {
				alarms++
				t.Log(err)
			}
		}
		t.Logf("%v statements a second: %d of %d healthy sides sent away", rate, alarms, ramps)
		if alarms > ramps/100 {
			t.Errorf("%v statements a second: %d of %d healthy sides sent away", rate, alarms, ramps)
		}
	}
	const ramps = 60
	for name, ill := range map[string]func(*server){
		"cold: ten milliseconds more a statement, and three times as long": func(s *server) { s.slower, s.adds = 3, 10 },
		"stolen CPU: twenty times as long":                                 func(s *server) { s.slower = 20 },
		"read-only: all inserts fail":                                      func(s *server) { s.fails = 1 },
		"a full disk: every second insert fails":                           func(s *server) { s.fails = 0.5 },
	} {
		at := map[float64]int{}
		for seed := range uint64(ramps) {
			worse, texts, err := ramp(t, seed, 3000, ill)
			if err != nil && !errors.Is(err, ErrWorse) {
				t.Fatal(err)
			}
			if worse == 0 && at[0] == 0 {
				t.Logf("%s, and stayed: %s", name, strings.Join(texts, "; "))
			}
			at[worse]++
		}
		t.Logf("%s: sent away at 1 %%: %d, at 10 %%: %d, at 100 %%: %d, stayed: %d", name, at[1], at[10], at[100], at[0])
		if at[100]+at[0] > 0 {
			t.Errorf("%s: %d of %d sides got all of their clients", name, at[100]+at[0], ramps)
		}
	}
}

// Somebody resets the counters in the middle of a soak: what was counted before is forgotten, and the soak goes on.
func TestResetCountersBeginAnew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	here, twin := &server{r: r, rate: 1000, slower: 1}, &server{r: r, rate: 1000, slower: 1}
	f := newFeeling(t, mysql.StatementEvents, 100)
	f.swing.Settings.Soak = 4 * time.Second
	before := uint64(0)
	took, err := f.soak(func(at time.Duration) span {
		if at == 2*time.Second {
			before = f.all().here.Kinds[selects].Statements
			here.counts = mysql.Served{}
		}
		here.step()
		twin.step()
		return span{here: here.counts, twin: twin.counts}
	})
	if err != nil || took < 4*time.Second || !f.reset || !strings.Contains(f.String(), "reset") {
		t.Errorf("%v after %v: %s", err, took, f)
	}
	if counted, is := f.all().here.Kinds[selects].Statements, here.counts.Kinds[selects].Statements; before < 200 || counted == 0 || counted > is {
		t.Errorf("%d counted before, %d afterwards of %d", before, counted, is)
	}
}

// A session that ends while its server is read is missing from one reading.
func TestReadingThatMissesASessionIsPassedOver(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	here, twin := &server{r: r, rate: 1000, slower: 1}, &server{r: r, rate: 1000, slower: 1}
	f := newFeeling(t, mysql.StatementEvents, 100)
	n := 0
	_, err := f.soak(func(time.Duration) span {
		here.step()
		twin.step()
		if n++; n%4 == 0 {
			return span{here: ran(selects, 1, 0, 1), twin: twin.counts}
		}
		return span{here: here.counts, twin: twin.counts}
	})
	if err != nil || f.reset || len(f.spans) < inARow {
		t.Errorf("%v, reset %v, %d spans", err, f.reset, len(f.spans))
	}
}

// A share that nobody uses does not hold a roll up, and says what it rests on.
func TestShareWithoutClientsPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	l := Defaults().Limits
	for rate, most := range map[float64]time.Duration{0: l.Longest / 5, 400: l.Longest} {
		here, twin := &server{r: r, rate: rate / 100, slower: 1}, &server{r: r, rate: rate, slower: 1}
		f := newFeeling(t, mysql.StatementEvents, 1)
		took, err := f.soak(func(time.Duration) span { here.step(); twin.step(); return span{here: here.counts, twin: twin.counts} })
		if err != nil || took > most || !strings.Contains(f.String(), "too few statements") {
			t.Errorf("%v statements a second on the twin: %v after %v: %s", rate, err, took, f)
		}
	}
}
