package digest

// who ran a statement: a user from a host in a database. Many events share one, which nobody changes.
type who struct {
	user, host, db *knownName // nil where it is not told
	key            whoKey
}

// whoKey is the hashes of the names.
type whoKey struct{ user, host, db uint64 }

// people counts who ran the events of a class. Few combinations are counted as they are, more by user, host and database
// apart, which is what reports tell. Which of the two it is never shows in a result.
type people struct {
	who  *who // while there is but one
	n    uint64
	more *morePeople
}

type morePeople struct {
	few   []whoCount
	apart *peopleApart // instead of few
}

type whoCount struct {
	who *who
	n   uint64
}

// fewPeople is how many combinations are counted as they are: each then has at most as many users, hosts and databases,
// fewer than a tally keeps.
const fewPeople = 8

type peopleApart struct{ users, hosts, dbs tally }

// add counts n events.
func (p *people) add(w *who, n uint64) {
	switch {
	case p.more != nil:
		p.more.add(w, n)
	case p.who == w || p.who != nil && p.who.key == w.key:
		p.n += n
	case p.who == nil:
		p.who, p.n = w, n
	default:
		p.more = &morePeople{few: []whoCount{{p.who, p.n}, {w, n}}}
		p.who, p.n = nil, 0
	}
}

func (m *morePeople) add(w *who, n uint64) {
	if m.apart != nil {
		m.apart.add(w, n)
		return
	}
	for i := range m.few {
		if m.few[i].who == w || m.few[i].who.key == w.key {
			m.few[i].n += n
			return
		}
	}
	if len(m.few) < fewPeople {
		m.few = insertTight(m.few, len(m.few), whoCount{w, n})
		return
	}
	m.apart = &peopleApart{}
	for _, c := range m.few {
		m.apart.add(c.who, c.n)
	}
	m.few = nil
	m.apart.add(w, n)
}

func (a *peopleApart) add(w *who, n uint64) {
	for _, t := range []struct {
		tally *tally
		name  *knownName
	}{{&a.users, w.user}, {&a.hosts, w.host}, {&a.dbs, w.db}} {
		if t.name != nil {
			t.tally.insert(t.name, n)
		}
	}
}

// counts is what is counted as it is.
func (p *people) counts() []whoCount {
	switch {
	case p.more != nil:
		return p.more.few
	case p.who != nil:
		return []whoCount{{p.who, p.n}}
	}
	return nil
}

// view is the people apart, to look at.
func (p *people) view() *peopleApart {
	if p.more != nil && p.more.apart != nil {
		return p.more.apart
	}
	a := &peopleApart{}
	for _, c := range p.counts() {
		a.add(c.who, c.n)
	}
	return a
}

func (p *people) merge(from *people) {
	for _, c := range from.counts() {
		p.add(c.who, c.n)
	}
	if from.more == nil || from.more.apart == nil {
		return
	}
	if p.more == nil || p.more.apart == nil {
		*p = people{more: &morePeople{apart: p.view()}}
	}
	mine, theirs := p.more.apart, from.more.apart
	mine.users.merge(&theirs.users)
	mine.hosts.merge(&theirs.hosts)
	mine.dbs.merge(&theirs.dbs)
}

// crowd keeps one copy of everybody who ran statements.
type crowd struct {
	all  map[whoKey]*who
	last *who
	book nameBook
}

// find is who ran an event.
func (c *crowd) find(e *event) *who {
	key := whoKey{e.user.hash, e.host.hash, e.db.hash}
	if c.last != nil && c.last.key == key {
		return c.last
	}
	w := c.all[key]
	if w == nil {
		w = &who{c.named(&e.user), c.named(&e.host), c.named(&e.db), key}
		if c.all == nil || len(c.all) >= maxNames {
			c.all = map[whoKey]*who{}
		}
		c.all[key] = w
	}
	c.last = w
	return w
}

func (c *crowd) named(n *name) *knownName {
	if len(n.text) == 0 {
		return nil
	}
	return c.book.find(n.hash, n.text)
}

// String is the name, empty where there is none.
func (k *knownName) String() string {
	if k == nil {
		return ""
	}
	return k.text
}

// people are those that were counted apart. Where there was but one of each, they were one.
func (c *crowd) people(by *peopleApart) people {
	var e event
	var n uint64
	for _, t := range []struct {
		tally *tally
		name  *name
	}{{&by.users, &e.user}, {&by.hosts, &e.host}, {&by.dbs, &e.db}} {
		only := t.tally.only
		if t.tally.all != nil || only.name != nil && n != 0 && only.n != n {
			return people{more: &morePeople{apart: by}}
		}
		if only.name != nil {
			*t.name, n = name{[]byte(only.name.text), only.name.hash}, only.n
		}
	}
	if n == 0 {
		return people{}
	}
	return people{who: c.find(&e), n: n}
}
