package mysql

import (
	"context"
	"strconv"
	"time"
)

// Pressure is how busy a server is, by two signs that need no privilege and
// cost nothing: statements in flight, and how long a small question takes.
type Pressure struct {
	Running int           // threads at work, ours not counted
	Asked   uint64        // statements since it was started, those of replication and of this Server left out
	Answer  time.Duration // of the question itself
	Lag     time.Duration // behind its source; 0 when it follows nobody, or does not know
}

// Pressure reads it. MariaDB and MySQL count a thread as running from when its
// statement has been read until its answer is sent, commits that wait for the
// disk included: where a copy takes the disk's time, they pile up here.
func (s *Server) Pressure(ctx context.Context) (Pressure, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	began := time.Now()
	is, err := s.records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running', 'Questions')")
	if err != nil {
		return Pressure{}, err
	}
	p := Pressure{Answer: time.Since(began)}
	for _, r := range is {
		n, err := strconv.ParseUint(r["Value"], 10, 64)
		if err != nil {
			return p, s.fail("read "+r["Variable_name"], err)
		}
		if r["Variable_name"] == "Questions" {
			p.Asked = n - min(n, s.asked.Load())
		} else {
			p.Running = max(0, int(n)-1)
		}
	}
	r, err := s.Replication(ctx)
	if err != nil {
		return p, err
	}
	if r.Configured && r.BehindOK {
		p.Lag = r.Behind
	}
	return p, nil
}
