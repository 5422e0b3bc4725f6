package store

import "time"

// Levels are the days of all levels, by name, resource and time. The newest value of a day stands at its beginning.
func (s *Store) Levels() ([]Level, error) {
	rows, err := s.db.Query(`SELECT n.text, r.text, l.at, l.value FROM level_days l JOIN names n ON n.id = l.name JOIN names r ON r.id = l.resource ORDER BY n.text, r.text, l.at`)
	if s.isOld(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail("read levels", err)
	}
	defer rows.Close()
	var out []Level
	for rows.Next() {
		var l Level
		var at int64
		if err := rows.Scan(&l.Name, &l.Resource, &at, &l.Value); err != nil {
			return nil, s.fail("read levels", err)
		}
		l.At = grains[1].at(at)
		out = append(out, l)
	}
	return out, s.fail("read levels", rows.Err())
}

// Loads are the hours, or the days, from since on, by server, shard, class and time, with what is known of how long each server was looked at.
func (s *Store) Loads(since time.Time, byDay bool) ([]Load, []Seen, error) {
	g := grains[0]
	if byDay {
		g = grains[1]
	}
	rows, err := s.db.Query(`SELECT n.text, d.text, c.checksum, c.fingerprint, l.at, l.calls, l.micros, l.examined FROM load_`+g.name+` l
		JOIN names n ON n.id = l.server JOIN names d ON d.id = l.shard JOIN classes c ON c.id = l.class WHERE l.at >= ? ORDER BY l.server, l.shard, l.class, l.at`, g.of(since))
	if s.isOld(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, s.fail("read loads", err)
	}
	defer rows.Close()
	var out []Load
	for rows.Next() {
		var l Load
		var at int64
		if err := rows.Scan(&l.Server, &l.Shard, &l.Checksum, &l.Fingerprint, &at, &l.Calls, &l.Micros, &l.Rows); err != nil {
			return nil, nil, s.fail("read loads", err)
		}
		l.At = g.at(at)
		out = append(out, l)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, s.fail("read loads", err)
	}
	seen, err := s.seen(g, since)
	return out, seen, err
}

// EachHour visits the hours of loads from one time to before another, in no order. Names and fingerprints are read once: rows share their text.
func (s *Store) EachHour(from, until time.Time, visit func(Load)) error {
	names, classes := map[int64]string{}, map[int64][2]string{}
	err := s.each("SELECT id, text, '' FROM names", func(id int64, text, _ string) { names[id] = text })
	if err == nil {
		err = s.each("SELECT id, checksum, fingerprint FROM classes", func(id int64, checksum, fingerprint string) { classes[id] = [2]string{checksum, fingerprint} })
	}
	if s.isOld(err) {
		return nil
	}
	if err != nil {
		return s.fail("read loads", err)
	}
	g := grains[0]
	rows, err := s.db.Query("SELECT server, shard, class, at, calls, micros, examined FROM load_"+g.name+" WHERE at >= ? AND at < ?", g.of(from), g.of(until))
	if err != nil {
		return s.fail("read loads", err)
	}
	defer rows.Close()
	for rows.Next() {
		var l Load
		var server, shard, class, at int64
		if err := rows.Scan(&server, &shard, &class, &at, &l.Calls, &l.Micros, &l.Rows); err != nil {
			return s.fail("read loads", err)
		}
		l.Server, l.Shard, l.Checksum, l.Fingerprint, l.At = names[server], names[shard], classes[class][0], classes[class][1], g.at(at)
		visit(l)
	}
	return s.fail("read loads", rows.Err())
}

// each visits rows of an id and two texts.
func (s *Store) each(query string, visit func(id int64, a, b string)) error {
	rows, err := s.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var a, b string
		if err := rows.Scan(&id, &a, &b); err != nil {
			return err
		}
		visit(id, a, b)
	}
	return rows.Err()
}

// SeenHours are the hours in which servers were looked at, from since on.
func (s *Store) SeenHours(since time.Time) ([]Seen, error) { return s.seen(grains[0], since) }

func (s *Store) seen(g grain, since time.Time) ([]Seen, error) {
	rows, err := s.db.Query(`SELECT n.text, s.at, s.millis, s.unseen, s.failed FROM seen_`+g.name+` s JOIN names n ON n.id = s.server WHERE s.at >= ? ORDER BY n.text, s.at`, g.of(since))
	if s.isOld(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail("read windows", err)
	}
	defer rows.Close()
	var out []Seen
	for rows.Next() {
		var x Seen
		var at int64
		if err := rows.Scan(&x.Server, &at, &x.Millis, &x.Unseen, &x.Failed); err != nil {
			return nil, s.fail("read windows", err)
		}
		x.At = g.at(at)
		out = append(out, x)
	}
	return out, s.fail("read windows", rows.Err())
}
