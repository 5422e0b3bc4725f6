package latest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

// LeaseTable is the table of each shard in which an applier says up to when its work may be read.
//
// An application reads carried columns where its tenant is active and a row says so:
//
//	SELECT 1 FROM stowage_latest WHERE spec = ? AND server_id = @@server_id AND good_until > UTC_TIMESTAMP(6)
//
// Each server has its own row, by its own clock: the sides of a pair write different rows.
const LeaseTable = "stowage_latest"

// CreateLeases makes it in the current database; one that is there stays.
const CreateLeases = "CREATE TABLE IF NOT EXISTS " + LeaseTable + " (\n" +
	"  spec VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n" +
	"  server_id INT UNSIGNED NOT NULL,\n" +
	"  place VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'pair, and how often the shard has moved',\n" +
	"  read_to DATETIME(6) NOT NULL COMMENT 'UTC: what was committed here before is in the carried columns',\n" +
	"  good_until DATETIME(6) NOT NULL COMMENT 'UTC: the carried columns may be read before',\n" +
	"  position MEDIUMTEXT CHARACTER SET ascii NOT NULL COMMENT 'up to where changes are applied on all servers of the pair',\n" +
	"  PRIMARY KEY (spec, server_id)\n" +
	") ENGINE=InnoDB"

// DropLeases drops it.
const DropLeases = "DROP TABLE IF EXISTS " + LeaseTable

// Lease is one row of it.
type Lease struct {
	Place    string
	Position mysql.Position
	Lag      time.Duration // since read_to, by the clock of the server that was asked
	IsGood   bool          // good_until is not over
	IsOwn    bool          // it is that of the server that was asked
}

// Leases are those of a spec, as one server has them, the newest first. ok is false where the shard has no such table.
func (s Shape) Leases(ctx context.Context, server *mysql.Server, shard farm.ShardName) (out []Lease, ok bool, err error) {
	rows, err := mysql.Through(server).Records(ctx, "SELECT server_id = @@GLOBAL.server_id AS own, place, position, TIMESTAMPDIFF(MICROSECOND, read_to, UTC_TIMESTAMP(6)) AS behind, good_until > UTC_TIMESTAMP(6) AS good FROM "+
		at(shard, LeaseTable)+" WHERE spec = "+mysql.Quote(s.Name)+" ORDER BY read_to DESC")
	if mysql.CodeOf(err) == 1146 { // no such table
		return nil, false, nil
	}
	for _, r := range rows {
		p, err := mysql.ParsePosition(r["position"])
		if err != nil {
			return nil, true, mysql.Through(server).Fail("read "+LeaseTable, err)
		}
		lag, err := strconv.ParseInt(r["behind"], 10, 64)
		if err != nil {
			return nil, true, mysql.Through(server).Fail("read "+LeaseTable, err)
		}
		out = append(out, Lease{r["place"], p, time.Duration(lag) * time.Microsecond, r["good"] == "1", r["own"] == "1"})
	}
	return out, true, err
}

// Own is the lease of the server that was asked.
func Own(all []Lease) (Lease, bool) {
	n := slices.IndexFunc(all, func(l Lease) bool { return l.IsOwn })
	if n < 0 {
		return Lease{}, false
	}
	return all[n], true
}

// Furthest is the position that is applied by the leases of a place: each of them is true, and the one with the most is taken. ok is false where there is none.
func Furthest(all []Lease, place string) (p mysql.Position, ok bool) {
	for _, l := range all {
		if l.Place == place && (!ok || l.Position.Reached(p)) {
			p, ok = l.Position, true
		}
	}
	return p, ok
}

// Moment is a moment by a server's clock, and a position that holds everything that was visible there before it.
type Moment struct {
	At   string // UTC, as the server shows it
	Goal mysql.Position
}

// Moment is now. The clock is read first: what is committed in between is in the position and needs not be.
func (s *Session) Moment(ctx context.Context) (m Moment, err error) {
	if err := s.conn.QueryRowContext(ctx, "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)").Scan(&m.At); err != nil {
		return m, s.server.Fail("read the clock", err)
	}
	m.Goal, err = s.server.BinlogPosition(ctx)
	return m, err
}

// Grant says on this server that its carried columns have all that was committed here before a moment, and may be read until maxLag after it. position is up to where changes are applied on all servers.
func (s *Session) Grant(ctx context.Context, shard farm.ShardName, place string, m Moment, maxLag time.Duration, position mysql.Position) error {
	until := "n.read_to + INTERVAL " + strconv.FormatInt(maxLag.Microseconds(), 10) + " MICROSECOND"
	return s.within(ctx, false, func() error {
		_, err := s.exec(ctx, "INSERT INTO "+at(shard, LeaseTable)+" (spec, server_id, place, read_to, good_until, position) SELECT ?, @@GLOBAL.server_id, ?, n.read_to, "+until+", ? FROM (SELECT CAST(? AS DATETIME(6)) AS read_to) n"+
			" ON DUPLICATE KEY UPDATE place = VALUES(place), read_to = VALUES(read_to), good_until = VALUES(good_until), position = VALUES(position)", s.Name, place, position.String(), m.At)
		return err
	})
}

// Keep notes how far changes are applied on all servers, and vouches for nothing: an applier that is far behind and dies goes on from there. Without a lease of this place on this server it does nothing.
func (s *Session) Keep(ctx context.Context, shard farm.ShardName, place string, position mysql.Position) error {
	return s.within(ctx, false, func() error {
		_, err := s.exec(ctx, "UPDATE "+at(shard, LeaseTable)+" SET position = ? WHERE spec = ? AND server_id = @@GLOBAL.server_id AND place = ?", position.String(), s.Name, place)
		return err
	})
}

// Apply makes some parents say what their latest child has now, whatever their tenants are, and says how many it changed.
//
// Both are read with locks, so that a child whose transaction is in the binary log and not yet visible is waited for: ErrBusy, and nothing is changed.
func (s *Session) Apply(ctx context.Context, shard farm.ShardName, keys []Key) (changed int64, err error) {
	parents := anyOf("p", s.Parent.Key, keys)
	err = s.within(ctx, false, func() error {
		if s.waits {
			if err := s.lockFirst(ctx, shard, keys, parents); err != nil {
				return err
			}
		}
		changed, err = s.exec(ctx, s.carry(shard, parents))
		return err
	})
	return changed, err
}

// TenantsOf are the tenants of those parents among these that exist, by their places in keys, spelled as their own rows have them. A parent without a tenant is left out: nobody reads its carried columns.
// Two keys may be one parent to the server, by its collation: it has both places. A parent that a client has just made or holds is waited for: ErrBusy.
func (s *Session) TenantsOf(ctx context.Context, shard farm.ShardName, keys []Key) (map[int]string, error) {
	var which strings.Builder
	for n, k := range keys {
		which.WriteString(", IF(" + anyOf("p", s.Parent.Key, []Key{k}) + ", " + strconv.Itoa(n) + ", NULL)")
	}
	lock := " LOCK IN SHARE MODE"
	if s.waits {
		lock = " FOR SHARE NOWAIT"
	}
	of := "p." + mysql.Ident(s.Parent.Tenant)
	key := "t." + mysql.Ident(s.Tenant.Key)
	spelled := "COALESCE((SELECT " + key + " FROM " + at(shard, s.Tenant.Table) + " t WHERE " + key + " = " + of + "), " + of + ")" // the row of the tenant is not locked
	rows, err := s.conn.QueryContext(ctx, "SELECT CONCAT_WS(','"+which.String()+"), "+spelled+" FROM "+at(shard, s.Parent.Table)+" p WHERE "+anyOf("p", s.Parent.Key, keys)+" AND "+of+" IS NOT NULL"+lock)
	if err != nil {
		return nil, busy(s.server.Fail("read tenants", err))
	}
	defer rows.Close()
	out := map[int]string{}
	for rows.Next() {
		var places, tenant string
		if err := rows.Scan(&places, &tenant); err != nil {
			return nil, s.server.Fail("read tenants", err)
		}
		for place := range strings.SplitSeq(places, ",") {
			n, err := strconv.Atoi(place)
			if err != nil {
				return nil, s.server.Fail("read tenants", err)
			}
			out[n] = tenant
		}
	}
	return out, busy(s.server.Fail("read tenants", rows.Err()))
}
