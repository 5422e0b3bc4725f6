package farmtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
)

// WrongNow is what is not as every end of every move must leave it: routing and
// farm.yaml agree with the servers, each pair serves and takes writes, also
// after a restart, its sides follow each other as its topology wants it, no
// gate is closed, no account is kept out, and nothing of a shard is anywhere
// but where it serves. Replication gets a while to come back after a fault.
func (f *LiveFarm) WrongNow(patience time.Duration) []string {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		wrong := f.look()
		if len(wrong) == 0 || time.Now().After(deadline) {
			return wrong
		}
	}
}

// reality is one look at everything.
type reality struct {
	f     *LiveFarm
	farm  *farm.Farm
	table *route.Table
	wrong []string
}

func (r *reality) say(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (f *LiveFarm) look() []string {
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		return []string{err.Error()}
	}
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		return []string{err.Error()}
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		return []string{err.Error()}
	}
	r := &reality{f: f, farm: fm, table: table}
	for _, p := range fm.Pairs {
		r.shardsByPair(p)
		for _, side := range p.Topology.Sides() {
			s := mysql.Open(p.Instance(side), fm.Address(p.Sides[side]), admin, QuietLog())
			r.side(f.T.Context(), p, side, s)
			s.Close()
		}
	}
	return r.wrong
}

// side is one server, and what routing says of it.
func (r *reality) side(ctx context.Context, p farm.Pair, side farm.SideName, s *mysql.Server) {
	address, routing := r.farm.Address(p.Sides[side]), r.table.Pairs[p.Name]
	oneWriter := p.Topology.HasOneWriter()
	writes := !oneWriter || side == farm.A
	switch {
	case routing.GateIsClosed(side):
		r.say("the gate of %s %s is closed", p.Name, side)
	case writes && (routing.Share(side, side) != 100 || routing.Sides[side].Address != address):
		r.say("routing sends %g %% of %s %s to %s, farm.yaml has it at %s", routing.Share(side, side), p.Name, side, routing.Sides[side].Address, address)
	case !writes && !slices.Equal(routing.Replicas, r.replicas(p)):
		r.say("routing names the replicas %v of %s, farm.yaml has them at %v", routing.Replicas, p.Name, r.replicas(p))
	}
	text, err := os.ReadFile(r.f.Path(p.Sides[side].Config))
	if err != nil || host.IsFenced(host.Instance{GroupSuffix: p.Sides[side].GroupSuffix}, string(text)) || strings.Contains(string(text), "# stowage: not in rotation yet") {
		r.say("%s %s would start fenced: %v", p.Name, side, err)
	}
	if !writes && !strings.Contains(string(text), "read_only = ON") {
		r.say("%s %s, a replica, would start taking writes", p.Name, side)
	}
	if on, err := s.IsReadOnly(ctx); err != nil || on == writes {
		r.say("%s %s: read_only is %v, %v", p.Name, side, on, err)
	}
	repl, err := s.Replication(ctx)
	switch twin := r.farm.Address(p.Sides[side.Twin()]); {
	case err != nil:
		r.say("%s %s: %v", p.Name, side, err)
	case oneWriter && side == farm.A && repl.Configured:
		r.say("%s %s takes all writes and replicates: %+v", p.Name, side, repl)
	case (!oneWriter || side == farm.B) && (!repl.Running() || !repl.Follows(twin)):
		r.say("%s %s does not follow %s: %+v", p.Name, side, twin, repl)
	}
	r.leftOvers(ctx, p, side, s)
	r.missing(ctx, p, side, address)
	if writes {
		r.probe(ctx, p, side, s)
	}
}

// replicas are the addresses of a pair's replicas.
func (r *reality) replicas(p farm.Pair) (out []string) {
	for _, side := range p.SideNames()[1:] {
		out = append(out, r.farm.Address(p.Sides[side]))
	}
	return out
}

// leftOvers are databases of shards that do not serve there, and tables of
// copies that have ended.
func (r *reality) leftOvers(ctx context.Context, p farm.Pair, side farm.SideName, s *mysql.Server) {
	db := r.f.Login(s.Address(), "stowage")
	defer db.Close()
	var all sql.NullString
	err := db.QueryRowContext(ctx, "SELECT JSON_ARRAYAGG(SCHEMA_NAME) FROM information_schema.SCHEMATA").Scan(&all)
	var databases []string
	if err = errors.Join(err, json.Unmarshal([]byte(all.String), &databases)); err != nil {
		r.say("%s %s: which databases it has: %v", p.Name, side, err)
	}
	for _, q := range r.farm.Pairs {
		for _, shard := range q.Shards {
			if there := slices.Contains(databases, string(shard.Name)); there != (q.Name == p.Name) {
				r.say("%s %s has database %s: %v; farm.yaml has it in %s", p.Name, side, shard.Name, there, q.Name)
			}
		}
	}
	locked := "SELECT GROUP_CONCAT(User) FROM mysql.global_priv WHERE User <> 'mariadb.sys' AND Priv LIKE '%\"account_locked\":true%'"
	if flavor, err := s.Flavor(ctx); err == nil && !flavor.HasGTIDDomains() {
		locked = "SELECT GROUP_CONCAT(User) FROM mysql.user WHERE User NOT LIKE 'mysql.%' AND account_locked = 'Y'"
	}
	for what, query := range map[string]string{
		"left of a copy":        "SELECT GROUP_CONCAT(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_stow%'",
		"accounts are kept out": locked,
	} {
		var has sql.NullString
		if err := db.QueryRowContext(ctx, query).Scan(&has); err != nil || has.Valid {
			r.say("%s %s: %s: %s %v", p.Name, side, what, has.String, err)
		}
	}
}

// probe is a write that changes nothing: neither fence nor lock is in its way.
func (r *reality) probe(ctx context.Context, p farm.Pair, side farm.SideName, s *mysql.Server) {
	db := r.f.Login(s.Address(), "client")
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(ctx, "SET SESSION lock_wait_timeout = 3, innodb_lock_wait_timeout = 3")
	if err != nil {
		r.say("%s %s: %v", p.Name, side, err)
	}
	for _, shard := range p.Shards {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE `%s`.listings SET price = price WHERE id = 1", shard.Name)); err != nil {
			r.say("%s %s takes no write for %s: %v", p.Name, side, shard.Name, err)
		}
	}
}

// shardsByPair: each shard is listed by its pair and by no other.
func (r *reality) shardsByPair(p farm.Pair) {
	for _, shard := range p.Shards {
		if at := r.table.Serves(shard.Name); !slices.Equal(at, []farm.PairName{p.Name}) {
			r.say("routing has %s at %v, farm.yaml in %s", shard.Name, at, p.Name)
		}
	}
}
