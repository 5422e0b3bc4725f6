package store

import "time"

// Gauge is how much of something a host used in a window, or in the windows of an hour or a day.
type Gauge struct {
	Name, Measure string
	At            time.Time
	Mean, Most    float64 // of the windows; the same where there is one
	Windows       int
}

// gauges adds to hours and days alike.
func (w *seriesWriter) gauges(gs []Gauge) error {
	for _, g := range gs {
		name, err := w.name(g.Name)
		if err != nil {
			return err
		}
		measure, err := w.name(g.Measure)
		if err != nil {
			return err
		}
		for _, into := range grains {
			if _, err := w.tx.Exec(`INSERT INTO gauge_`+into.name+` (name, measure, at, sum, n, most) VALUES (?, ?, ?, ?, 1, ?)
				ON CONFLICT DO UPDATE SET sum = sum + excluded.sum, n = n + 1, most = max(most, excluded.most)`,
				name, measure, into.of(g.At), g.Mean, g.Mean); err != nil {
				return err
			}
		}
	}
	return nil
}

// Gauges are the hours, or the days, that ended after since, by time, name and measure. At is the beginning of each.
func (s *Store) Gauges(since time.Time, byDay bool) ([]Gauge, error) {
	g := grains[0]
	if byDay {
		g = grains[1]
	}
	rows, err := s.db.Query(`SELECT n.text, m.text, g.at, g.sum, g.n, g.most FROM gauge_`+g.name+` g JOIN names n ON n.id = g.name JOIN names m ON m.id = g.measure
		WHERE g.at >= ? ORDER BY g.at, n.text, m.text`, g.of(since))
	if s.lacks("gauge_"+g.name, err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail("read gauges", err)
	}
	defer rows.Close()
	var out []Gauge
	for rows.Next() {
		var x Gauge
		var at int64
		var sum float64
		if err := rows.Scan(&x.Name, &x.Measure, &at, &sum, &x.Windows, &x.Most); err != nil {
			return nil, s.fail("read gauges", err)
		}
		x.At, x.Mean = g.at(at), sum/float64(x.Windows)
		out = append(out, x)
	}
	return out, s.fail("read gauges", rows.Err())
}
