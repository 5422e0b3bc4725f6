package record

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// near is a Far without a line in between.
type near struct {
	*Station
	loses bool // the next answer gets lost on its way
}

func (n *near) Record(ctx context.Context, _ farm.InstanceName, order []byte, told func(string)) ([]byte, error) {
	out, err := n.Station.Record(ctx, order, told)
	if n.loses {
		n.loses = false
		return nil, errors.New("the line is cut")
	}
	return out, err
}

func (n *near) EndRecording(ctx context.Context, _ farm.InstanceName, order []byte) error {
	return n.End(ctx, order)
}

func (n *near) ReadRecording(_ context.Context, _ farm.InstanceName, id string, offset int64) ([]byte, error) {
	return n.Read(id, offset)
}

func (n *near) ForgetRecording(_ context.Context, _ farm.InstanceName, id string) error {
	return n.Forget(id)
}

// far is a bench whose server is recorded by a station.
type far struct {
	*bench
	near
	ledger Ledger
}

func startFar(t *testing.T, name string) *far {
	t.Helper()
	b := start(t, name, odd...)
	return &far{b, near{Station: &Station{Dir: filepath.Join(t.TempDir(), "station"), Log: slog.New(slog.DiscardHandler)}}, LedgerOf(b.r.Dir)}
}

func (f *far) login() mysql.Account {
	return mysqltest.Account(mariadbtest.Stowage)
}

func (f *far) open() *Entry {
	f.t.Helper()
	e, err := f.ledger.Open(Ordered{Instance: farm.InstanceName(f.i.Name), Host: "h", Address: f.i.Address, From: FromSlowLog, Save: "x", Begun: time.Now()})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(e.Close)
	return e
}

func (f *far) order(id string) []byte {
	f.t.Helper()
	raw, err := json.Marshal(Order{Version: orderVersion, ID: id, Instance: farm.InstanceName(f.i.Name), Address: f.i.Address, From: FromSlowLog, Options: f.r.Options, Login: f.login()})
	if err != nil {
		f.t.Fatal(err)
	}
	return raw
}

// nothingThere: the station has put everything back and keeps no digest.
func (f *far) nothingThere() {
	f.t.Helper()
	for _, pattern := range []string{"*.json", "*.login", "outcomes/*.digest", "outcomes/*.part"} {
		if left, _ := filepath.Glob(filepath.Join(f.Dir, pattern)); len(left) > 0 {
			f.t.Errorf("left at the station: %v", left)
		}
	}
	if left, err := f.ledger.Left(); err != nil || len(left) > 0 {
		f.t.Errorf("left in the ledger: %v, %v", left, err)
	}
	f.nothingLeft()
}

// What was recorded elsewhere comes here as it would from here, over several
// files; bounds and filters travel; nothing is left there or here.
func TestThroughAStation(t *testing.T) {
	f := startFar(t, "through")
	before := f.settings()
	f.r.Options.PieceBytes = 50 << 10
	var err error
	if f.r.Options.Digest.Filter, err = digest.ParseFilter("verb = select"); err != nil {
		t.Fatal(err)
	}
	e := f.open()
	x := f.during(func(ctx context.Context, tt Target) (Result, *digest.Digest, error) {
		return f.r.Through(ctx, f, e, tt, f.login())
	}, func() {
		for range 2 {
			f.ask(2, 200)
			time.Sleep(look)
		}
	})
	if x.err != nil {
		t.Fatal(x.err)
	}
	classes(t, x.d, map[string]int{"select v from t where id = ?": 800, "update t set v = ? where id = ?": 0})
	if x.res.Stopped != StopInterrupted || x.res.Pieces < 2 || x.res.Events != x.d.Events() || x.res.LeftOut == 0 || len(x.res.SettingsRestored) == 0 {
		t.Errorf("%+v", x.res)
	}
	if err := Settle(t.Context(), f, e, x.err); err != nil {
		t.Fatal(err)
	}
	e.Close()
	same(t, before, f.settings())
	f.nothingThere()
	// A delivery that was held up opens no second window.
	late, err := f.Station.Record(t.Context(), f.order(e.ID), nil)
	if err != nil || !strings.Contains(string(late), "already fetched") {
		t.Errorf("%s, %v", late, err)
	}
}

// An answer that gets lost leaves the order in the ledger; it is fetched later.
func TestLostAnswerIsFetched(t *testing.T) {
	f := startFar(t, "lost")
	f.r.Options.For = time.Second
	f.loses = true
	e := f.open()
	_, d, err := f.r.Through(t.Context(), f, e, f.target(), f.login())
	if !errors.Is(err, farm.ErrOutcomeUnknown) || farm.Hint(err) == "" || d != nil {
		t.Fatalf("%v (hint %q)", err, farm.Hint(err))
	}
	if err := Settle(t.Context(), f, e, err); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if left, _ := f.ledger.Left(); len(left) != 1 {
		t.Fatalf("left: %v", left)
	}
	if _, err := f.ledger.Open(e.Ordered); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a second order beside one that is left: %v", err)
	}
	again, err := f.ledger.Reopen(e.Instance)
	if err != nil || again.ID != e.ID || again.Save != e.Save || again.Host != e.Host {
		t.Fatalf("%+v, %v", again, err)
	}
	res, d, err := Fetch(t.Context(), f, again, f.login())
	if err != nil || d == nil || res.Stopped != StopTime {
		t.Fatalf("%+v %v %v", res, d, err)
	}
	if err := Settle(t.Context(), f, again, err); err != nil {
		t.Fatal(err)
	}
	again.Close()
	f.nothingThere()
}

// Asked for twice an order is carried out once; ended before it came, not at
// all; and a station that stops puts everything back and says that it did.
func TestOrdersAreCarriedOutOnce(t *testing.T) {
	f := startFar(t, "once")
	before := f.settings()
	if err := f.End(t.Context(), f.order("early")); err != nil {
		t.Fatal(err)
	}
	raw, err := f.Station.Record(t.Context(), f.order("early"), nil)
	if err != nil || !strings.Contains(string(raw), `"interrupted"`) {
		t.Errorf("ended before it came: %s, %v", raw, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began, outs := make(chan struct{}), make(chan string, 2)
	go func() {
		raw, err := f.Station.Record(ctx, f.order("one"), func(text string) {
			if strings.Contains(text, `"began":true`) && !strings.Contains(text, `"ended"`) {
				select {
				case <-began:
				default:
					close(began)
				}
			}
		})
		outs <- string(raw) + errText(err)
	}()
	<-began
	go func() {
		raw, err := f.Station.Record(t.Context(), f.order("one"), nil)
		outs <- string(raw) + errText(err)
	}()
	if raw, err := f.Station.Record(t.Context(), f.order("other"), nil); err != nil || !strings.Contains(string(raw), "another recording of it is under way") {
		t.Errorf("%s, %v", raw, err)
	}
	if raw, err := os.ReadFile(f.loginPath(farm.InstanceName(f.i.Name))); err != nil || !strings.Contains(string(raw), mariadbtest.Stowage.Password()) {
		t.Errorf("a killed agent could not get in: %v", err)
	}
	stop()
	a, b := <-outs, <-outs
	if a != b || !strings.Contains(a, `"cut"`) || !strings.Contains(a, "its agent was stopped") {
		t.Errorf("one says %s\nthe other %s", a, b)
	}
	same(t, before, f.settings())
	if err := f.Forget("one"); err != nil {
		t.Error(err)
	}
	f.nothingThere()
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOrdersThatAreRefused(t *testing.T) {
	s := &Station{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	good := Order{Version: orderVersion, ID: "ID", Instance: "p1a", Address: "192.0.2.1:3306", From: FromSlowLog, Options: Defaults()}
	for name, change := range map[string]func(*Order){
		"another version": func(o *Order) { o.Version++ },
		"a path as ID":    func(o *Order) { o.ID = "../x" },
		"a path as name":  func(o *Order) { o.Instance = "../x" },
		"no source":       func(o *Order) { o.From = "" },
		"packets kept":    func(o *Order) { o.Options.Keep = "/x" },
		"no window":       func(o *Order) { o.Options.For = 0 },
	} {
		o := good
		change(&o)
		raw, _ := json.Marshal(o) // strings and numbers
		if _, err := s.Record(t.Context(), raw, nil); !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Record(t.Context(), []byte(`{"version":1,"id":"ID","max_harm":0}`), nil); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a bound that is not known: %v", err)
	}
	var out Outcome
	raw, _ := json.Marshal(good)
	raw, err := s.Record(t.Context(), raw, nil)
	if err != nil || json.Unmarshal(raw, &out) != nil || !errors.Is(out.Fault.Err(), farm.ErrInput) || !strings.Contains(out.Fault.Text, "not an address of this machine") {
		t.Errorf("another machine's server: %s, %v", raw, err)
	}
	good.ID, good.OnlyKnown = "none", true
	raw, _ = json.Marshal(good)
	if raw, err = s.Record(t.Context(), raw, nil); err != nil || json.Unmarshal(raw, &out) != nil || !errors.Is(out.Fault.Err(), farm.ErrUndone) {
		t.Errorf("what was never begun: %s, %v", raw, err)
	}
	if _, err := s.Read("../x", 0); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("reading a path: %v", err)
	}
}
