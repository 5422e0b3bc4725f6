package store

import (
	"context"
	"encoding/json"
	"errors"
)

// Lane is one lane of a job of the engine that has begun.
type Lane struct {
	Name   string
	Result string // JSON; "": it has not ended, as far as is known
}

// Lanes are the lanes of a job that have begun.
func (s *Store) Lanes(job string) ([]Lane, error) {
	rows, err := s.db.Query(`SELECT lane, result FROM lanes WHERE job = ?`, job)
	if err != nil {
		return nil, s.fail("list lanes", err)
	}
	defer rows.Close()
	var out []Lane
	for rows.Next() {
		var l Lane
		if err := rows.Scan(&l.Name, &l.Result); err != nil {
			return nil, s.fail("list lanes", err)
		}
		out = append(out, l)
	}
	return out, s.fail("list lanes", rows.Err())
}

// BeginLane notes that a lane begins. It returns when that, and all that was written before, outlasts a loss of power: nobody looks
// for a lane that is not here.
func (s *Store) BeginLane(job, lane string) (err error) {
	ctx := context.Background()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail("begin lane "+lane, err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous=full"); err != nil {
		return s.fail("begin lane "+lane, err)
	}
	_, err = c.ExecContext(ctx, `INSERT INTO lanes (job, lane) VALUES (?, ?) ON CONFLICT DO NOTHING`, job, lane)
	_, back := c.ExecContext(ctx, "PRAGMA synchronous=normal")
	return s.fail("begin lane "+lane, errors.Join(err, back))
}

// EndLane keeps the result of a lane that has begun.
func (s *Store) EndLane(job, lane string, result any) error {
	body, err := json.Marshal(result)
	if err == nil {
		_, err = s.db.Exec(`UPDATE lanes SET result = ? WHERE job = ? AND lane = ?`, string(body), job, lane)
	}
	return s.fail("end lane "+lane, err)
}
