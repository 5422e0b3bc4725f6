package traffic

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Running is a statement that is being run.
type Running struct {
	Thread   uint64
	QueryID  uint64 // 0 where the server has none
	User, DB string
	Host     string
	Query    string
	Lasts    time.Duration // until now
}

// Running are the statements that are being run now, without ours. MySQL tells how long in whole seconds.
func (r *Statements) Running(ctx context.Context) (out []Running, err error) {
	return r.runningLooks(ctx, 1)
}

// runningLooks looks several times in one statement, some 50 us apart: a statement that is met by several looks comes several times.
func (r *Statements) runningLooks(ctx context.Context, looks int) (out []Running, err error) {
	columns := "1000 * TIME AS ms, 0 AS query_id"
	if r.flavor.Vendor == "MariaDB" {
		columns = "TIME_MS AS ms, QUERY_ID AS query_id"
	}
	look := "SELECT ID AS " + ownMark + ", USER AS user, SUBSTRING_INDEX(HOST, ':', 1) AS host, DB AS db, INFO AS query, " + columns +
		" FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND INFO IS NOT NULL AND ID <> CONNECTION_ID()"
	err = r.each(ctx, strings.Join(slices.Repeat([]string{look}, looks), " UNION ALL "), func(c cells) error {
		micros, _ := decimal(c.raw("ms"), 3)
		out = append(out, Running{Thread: c.number(ownMark), QueryID: c.number("query_id"), User: c.text("user"), Host: c.text("host"), DB: c.text("db"), Query: c.text("query"),
			Lasts: time.Duration(max(micros, 0)) * time.Microsecond})
		return nil
	})
	return out, r.fail("read information_schema.PROCESSLIST", "PROCESS", err)
}
