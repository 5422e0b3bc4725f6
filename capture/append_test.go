package capture

import (
	"slices"
	"testing"
	"time"
)

// preparedTalk prepares a statement and executes it with the given types and values.
func preparedTalk(text string, params int, executes ...[]byte) *talk {
	k := newTalk(cl, sv).login(capsClassic).c(commandPacket(Prepare, []byte(text))).wait(ms).s(prepareOK(3, 0, params, false)).wait(ms)
	for _, x := range executes {
		k.c(x).wait(ms).s(okPacket(1, 1, 2, 0)).wait(ms)
	}
	return k
}

// appended are the executed statements with their values.
func appended(t *testing.T, k *talk, o Options) (texts []string) {
	t.Helper()
	tap := newTap(o, func(e *Event) {
		if e.Command == Execute {
			texts = append(texts, string(e.AppendQuery([]byte("> "))))
			if e.Prepared != 3 {
				t.Errorf("statement %d", e.Prepared)
			}
		}
	})
	for i := range k.pieces {
		p := &k.pieces[i]
		ip := p.ipOf()
		tap.packet(linkRaw, p.at.UnixNano(), ip, len(ip))
	}
	tap.finish()
	return texts
}

func TestAppendQuery(t *testing.T) {
	odd := "SELECT '?', \"?\", `?`, ? /* ? */, 'it''s ?', '\\'?' -- ?\n, ? # ?\n, a-?"
	three := executePacket(3, 0, 1, 3, 0, 0xfd, 0, typeDatetime, 0,
		7, 0, 0, 0, 4, 'i', 't', '\'', 's', 4, 0xe8, 7, 2, 29)
	null := executePacket(3, 2, 0, 9, 0, 0, 0, 0)
	date := executePacket(3, 0, 1, 3, 0, typeTime, 0, typeDate, 0,
		1, 0, 0, 0, 8, 1, 1, 0, 0, 0, 2, 3, 4, 4, 0xe8, 7, 2, 29)
	for name, x := range map[string]struct {
		k    *talk
		want []string
	}{
		"quotes and comments": {preparedTalk(odd, 3, three), []string{
			"> SELECT '?', \"?\", `?`, 7 /* ? */, 'it''s ?', '\\'?' -- ?\n, 'it\\'s' # ?\n, a-'2024-02-29 00:00:00'"}},
		"two dates": {preparedTalk("SELECT ?, ?, ?", 3, date), []string{"> SELECT 1, '-26:03:04', '2024-02-29'"}},
		"types told once": {preparedTalk("SELECT ?, ?, ?", 3, three, null), []string{
			"> SELECT 7, 'it\\'s', '2024-02-29 00:00:00'", "> SELECT 9, NULL, '0000-00-00 00:00:00'"}},
		"no values":            {preparedTalk("SELECT 1", 0, executePacket(3)), []string{"> SELECT 1"}},
		"fewer than there are": {preparedTalk("SELECT ?", 3, three), []string{"> SELECT ?"}},
		"damaged values":       {preparedTalk("SELECT ?, ?, ?", 3, three[:len(three)-6]), nil},
	} {
		if name == "damaged values" {
			x.k = preparedTalk("SELECT ?, ?, ?", 3, bodyPacket(0, three[headSize:len(three)-6]))
			x.want = []string{"> SELECT ?, ?, ?"}
		}
		if got := appended(t, x.k, Options{}); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if got := appended(t, preparedTalk(odd, 3, three), Options{SkipArgs: true}); !slices.Equal(got, []string{"> " + odd}) {
		t.Errorf("%q", got)
	}
}

// Values cost no memory of their own.
func TestValuesAllocateNothing(t *testing.T) {
	st := &statement{params: 3}
	body := executePacket(3, 0, 1, 3, 0, typeTime, 0, typeDate, 0, 1, 0, 0, 0, 8, 1, 1, 0, 0, 0, 2, 3, 4, 4, 0xe8, 7, 2, 29)[headSize+1:]
	var args []Value
	var text []byte
	if n := testing.AllocsPerRun(100, func() {
		if args, text = st.decode(args[:0], body, text[:0]); len(args) != 3 {
			t.Fatalf("%+v", args)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The times of an event are those of packets.
func TestTimesOfEvents(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic)
	k.mss = 500
	k.c(queryPacket("SELECT a FROM t")).wait(5 * ms).s(resultPackets(20, 100, false, 2))
	list, _ := readAll(t, pcapOf(k.pieces...), Options{})
	e := list[1]
	since := func(at time.Time) time.Duration { return at.Sub(epoch) }
	if since(e.Began) != 0 || since(e.At) != 3*ms || since(e.AnswerAt) != 8*ms || e.DoneAt.Sub(e.AnswerAt) != e.Total-e.Latency || e.Total <= e.Latency {
		t.Errorf("%+v", e)
	}
}

// A statement of which a piece was lost says so; one that was cut off by the capture is not one of those.
func TestHoledRequests(t *testing.T) {
	k := newTalk(cl, sv).login(capsClassic)
	k.mss = 600
	n := len(k.pieces)
	k.c(queryPacket("SELECT '" + string(make([]byte, 2000)) + "'")).wait(ms).s(okPacket(1, 0, 2, 0)).wait(ms)
	m := len(k.pieces)
	k.c(queryPacket("SELECT 'another'")).wait(ms).s(okPacket(1, 0, 2, 0))
	lost := slices.Delete(slices.Clone(k.pieces), n+1, n+2)
	list, _ := readAll(t, pcapOf(lost...), Options{})
	if q := of(list, Query); len(q) != 2 || !q[0].Holed || !q[0].Truncated || q[1].Holed || q[1].Truncated {
		t.Errorf("%+v", q)
	}
	end := slices.Delete(slices.Clone(k.pieces), m-2, m-1)
	list, _ = readAll(t, pcapOf(end...), Options{})
	if q := of(list, Query); len(q) != 2 || !q[0].Holed || q[0].Answered || q[1].Holed {
		t.Errorf("%+v", q)
	}
	cut := slices.Clone(k.pieces)
	for i := n; i < m; i++ {
		cut[i].snap = 40
	}
	list, _ = readAll(t, pcapOf(cut...), Options{})
	if q := of(list, Query); len(q) != 2 || q[0].Holed || !q[0].Truncated || q[1].Truncated {
		t.Errorf("%+v", q)
	}
}
