package farmtest

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/workspace"
)

// Farm is farm.yaml as it stands.
func (f *Foreign) Farm() *farm.Farm {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	f.ok(err)
	return fm
}

// Names are all instances that owners start.
func (f *Foreign) Names() (out []farm.InstanceName) {
	for name := range f.Places {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// SideAt is the side that farm.yaml has at an address, empty for none.
func (f *Foreign) SideAt(address string) farm.Side {
	f.T.Helper()
	fm := f.Farm()
	for _, p := range fm.Pairs {
		for _, s := range p.Sides {
			if fm.Address(s) == address {
				return s
			}
		}
	}
	return farm.Side{}
}

// Discovered puts what `stowage inventory discover` drafts in the place of
// farm.yaml. One server of each pair is named.
func (f *Foreign) Discovered() {
	f.T.Helper()
	args := []string{"inventory", "discover", "--follow", "-o", f.Path("farm.yaml")}
	fm := f.Farm()
	for _, p := range fm.Pairs {
		args = append(args, fm.Address(p.Sides[farm.A]))
	}
	f.ok(os.Rename(f.Path("farm.yaml"), f.Path("farm.ours.yaml")))
	f.Must(args...)
}

// AddHosts is a person who writes into the draft which machines to pack onto:
// the new ones of another farm.yaml.
func (f *Foreign) AddHosts(from *farm.Farm) {
	f.T.Helper()
	fm := f.Farm()
	for _, h := range from.Hosts {
		if h.Type != "r630-ssd" {
			continue
		}
		fm.Hosts = append(fm.Hosts, h)
		if _, there := fm.HostType(h.Type); !there {
			kind, _ := from.HostType(h.Type)
			fm.HostTypes = append(fm.HostTypes, kind)
		}
	}
	for n := range fm.Hosts {
		fm.Hosts[n].Labels = nil
	}
	f.ok(workspace.WriteFarm(f.Path("farm.yaml"), fm))
	f.ok(os.WriteFile(f.Path("goals.yaml"), []byte("minimise: [hosts, moves]\n"), 0o644))
	for _, h := range from.Hosts {
		if h.Type == "r630-ssd" {
			f.ok(os.MkdirAll(filepath.Join(f.Dir, h.Dir), 0o755))
		}
	}
}

// Films makes tables, views and events as sample databases have them beside the
// tables of a shard: foreign keys that cascade, a view, an event, a MyISAM table
// filled by triggers.
func (f *Foreign) Films(name farm.InstanceName) {
	f.T.Helper()
	fm := f.Farm()
	pair, _ := sideOf(fm, name)
	p, _ := fm.Pair(pair)
	db := string(p.Shards[0].Name) + "."
	f.Do(name,
		"CREATE TABLE "+db+"language (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
		"CREATE TABLE "+db+"film (id INT PRIMARY KEY, title VARCHAR(100) NOT NULL, about TEXT, language INT NOT NULL, CONSTRAINT film_language FOREIGN KEY (language) REFERENCES "+db+"language (id) ON UPDATE CASCADE)",
		"CREATE TABLE "+db+"film_actor (film INT NOT NULL, actor INT NOT NULL, PRIMARY KEY (film, actor), FOREIGN KEY (film) REFERENCES "+db+"film (id) ON DELETE CASCADE)",
		"CREATE TABLE "+db+"film_text (id INT PRIMARY KEY, title VARCHAR(100), about TEXT, FULLTEXT KEY words (title, about)) ENGINE = MyISAM",
		"CREATE TRIGGER "+db+"film_added AFTER INSERT ON "+db+"film FOR EACH ROW INSERT INTO "+db+"film_text VALUES (NEW.id, NEW.title, NEW.about)",
		"CREATE VIEW "+db+"film_list AS SELECT f.id, f.title, l.name FROM "+db+"film f JOIN "+db+"language l ON l.id = f.language",
		"CREATE EVENT "+db+"film_clock ON SCHEDULE EVERY 1 YEAR DO UPDATE "+db+"language SET name = name",
		"INSERT INTO "+db+"language VALUES (1, 'English')",
		"INSERT INTO "+db+"film SELECT seq, CONCAT('film ', seq), 'about', 1 FROM "+db+"seq_1_to_1000",
		"INSERT INTO "+db+"film_actor SELECT seq, seq MOD 7 FROM "+db+"seq_1_to_1000",
	)
}

// Kinds counts what Films made, where the side A of its pair is now.
func (f *Foreign) Kinds(shard farm.ShardName) []string {
	f.T.Helper()
	return f.KindsIn(shard, string(shard))
}

// KindsIn is Kinds of a copy of the shard, a database of another name beside it.
func (f *Foreign) KindsIn(shard farm.ShardName, database string) []string {
	f.T.Helper()
	fm := f.Farm()
	for _, p := range fm.Pairs {
		if len(p.Shards) == 0 || p.Shards[0].Name != shard {
			continue
		}
		db := f.at(fm.Address(p.Sides[farm.A]))
		defer db.Close()
		var out []string
		for _, q := range []struct{ name, text string }{
			{"events", "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '" + database + "'"},
			{"films", "SELECT COUNT(*) FROM " + database + ".film"}, {"text", "SELECT COUNT(*) FROM " + database + ".film_text"},
			{"view", "SELECT COUNT(*) FROM " + database + ".film_list"},
		} {
			n := 0
			f.ok(db.QueryRowContext(f.T.Context(), q.text).Scan(&n))
			out = append(out, fmt.Sprintf("%s %d", q.name, n))
		}
		return out
	}
	f.T.Fatalf("no pair has shard %s", shard)
	return nil
}

// Do runs statements on a server at its first place, and waits until the other
// side has them.
func (f *Foreign) Do(name farm.InstanceName, statements ...string) {
	f.T.Helper()
	s := f.Server(name)
	defer s.Close()
	f.ok(s.Build(f.T.Context(), statements))
	other := farm.InstanceName(strings.TrimSuffix(string(name), "a") + "b")
	if _, there := f.Places[other]; !there {
		return
	}
	twin := f.Server(other)
	defer twin.Close()
	at, err := s.BinlogPosition(f.T.Context())
	f.ok(err)
	f.ok(twin.WaitFor(f.T.Context(), at, 2*time.Minute))
}

func (f *Foreign) at(address string) *sql.DB {
	f.T.Helper()
	w, fm, _, err := FarmAccess(f.Dir)
	f.ok(err)
	as, err := mysql.ReadAccount(w.Path(fm.Accounts), "stowage")
	f.ok(err)
	connector, err := mysql.Connector(address, as, nil)
	f.ok(err)
	return sql.OpenDB(connector)
}

// InDomainZero is how most farms are that nobody has prepared for anything: no
// server has a GTID domain of its own, and nothing is strict. Every server that
// an owner starts is started again so.
func (f *Foreign) InDomainZero() {
	f.T.Helper()
	f.ok(filepath.WalkDir(filepath.Join(f.Dir, "machines"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".cnf" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var kept []string
		for _, line := range strings.Split(string(text), "\n") {
			if key, _, _ := strings.Cut(line, " = "); !slices.Contains([]string{"gtid_domain_id", "gtid_strict_mode", "gtid_ignore_duplicates"}, key) {
				kept = append(kept, line)
			}
		}
		return os.WriteFile(path, []byte(strings.Join(kept, "\n")), info.Mode().Perm())
	}))
	for _, name := range f.Names() {
		f.RestartAsOwner(name)
	}
	f.was = f.Files()
}

// ByPosition lets a server replicate by file and position. Nobody may write
// meanwhile.
func (f *Foreign) ByPosition(name farm.InstanceName) {
	f.T.Helper()
	db := f.at(f.Places[name].Dial())
	defer db.Close()
	rows, err := db.QueryContext(f.T.Context(), "SHOW SLAVE STATUS")
	f.ok(err)
	defer rows.Close()
	columns, err := rows.Columns()
	f.ok(err)
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for n := range values {
		into[n] = &values[n]
	}
	if !rows.Next() {
		f.T.Fatalf("%s replicates from nobody: %v", name, rows.Err())
	}
	f.ok(rows.Scan(into...))
	is := func(column string) string { return values[slices.Index(columns, column)].String }
	f.ok(rows.Close())
	f.Do(name, "STOP SLAVE", fmt.Sprintf("CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = '%s', MASTER_LOG_POS = %s", is("Relay_Master_Log_File"), is("Exec_Master_Log_Pos")), "START SLAVE")
}
