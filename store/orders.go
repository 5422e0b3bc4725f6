package store

import "time"

// Order is one thing a person asked of a run that may be under way, or that the
// run notes beside it: pause, approve, asked. Orders are only ever added; what
// holds follows from all of them, in order. They are how another process, on
// the same machine, steers a run, and they outlive both.
type Order struct {
	ID   int64
	Run  string
	At   time.Time
	Who  string // OS user
	PID  int    // of the process that wrote it
	Verb string
	Part string // of the run, pair/side; empty: all of it
	What string // the verb's argument
	Why  string // as given by the person
}

// PutOrder adds an order.
func (s *Store) PutOrder(o Order) error {
	return s.fail("keep order "+o.Verb, putOrder(s.db, o))
}

func putOrder(to writer, o Order) error {
	_, err := to.Exec(`INSERT INTO orders (run, at, who, pid, verb, part, what, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		o.Run, stamp(o.At), o.Who, o.PID, o.Verb, o.Part, o.What, o.Why)
	return err
}

// Orders are the orders of a run after the one with id after (0: from the
// first).
func (s *Store) Orders(run string, after int64) ([]Order, error) {
	rows, err := s.db.Query(`SELECT id, run, at, who, pid, verb, part, what, why FROM orders WHERE run = ? AND id > ? ORDER BY id`, run, after)
	if err != nil {
		return nil, s.fail("read orders", err)
	}
	defer rows.Close()
	var out []Order
	for rows.Next() {
		var o Order
		var at string
		if err := rows.Scan(&o.ID, &o.Run, &at, &o.Who, &o.PID, &o.Verb, &o.Part, &o.What, &o.Why); err != nil {
			return nil, s.fail("read orders", err)
		}
		o.At = parse(at)
		out = append(out, o)
	}
	return out, s.fail("read orders", rows.Err())
}
