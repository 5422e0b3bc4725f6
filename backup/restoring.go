package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/internal/optionfile"
	"stowage/mysql"
	"stowage/swing"
	"stowage/vault"
)

// Until is the moment to which an instance is restored. The zero value is the end of the backup itself.
type Until struct {
	Time time.Time `json:"time,omitzero"`
	GTID string    `json:"gtid,omitempty"`
	End  bool      `json:"end,omitempty"` // all that the archive has
}

// isBackup: nothing is to be replayed.
func (u Until) isBackup() bool { return u == Until{} }

// restoreOrder is what the part of one restored instance says.
type restoreOrder struct {
	Runbook string `json:"runbook"`
	// Chain is a full backup and those that are based on it, in order.
	Chain    []catalogue.Backup `json:"chain"`
	On       farm.HostName      `json:"on"`
	Instance host.Instance      `json:"instance"`
	ServerID uint32             `json:"server_id"`
	Until    Until              `json:"until,omitzero"`
	// Live is the address of the server that it is compared with; empty: it is not.
	Live     string            `json:"live,omitempty"`
	LiveName farm.InstanceName `json:"live_name,omitempty"`
	// Extract is what is copied out of it into a pair; nil: nothing.
	Extract *extractOrder `json:"extract,omitempty"`
	// Side is the side of the pair that it becomes; nil: it stays beside.
	Side *sideOrder `json:"side,omitempty"`
}

// last is the backup that is restored.
func (o restoreOrder) last() catalogue.Backup { return o.Chain[len(o.Chain)-1] }

// restored is what the next step is to know.
type restored struct {
	Bytes  int64     `json:"bytes,omitempty"`
	At     time.Time `json:"at,omitzero"` // the moment at which its data stand
	GTID   string    `json:"gtid,omitempty"`
	Rows   int64     `json:"rows,omitempty"` // that were compared
	Differ int       `json:"differ,omitempty"`
	Left   []string  `json:"left,omitempty"` // what of a database was not carried

	Process int          `json:"process,omitempty"` // whose rows were compared
	Apart   mysql.Moment `json:"parted,omitzero"`   // a moment before any client of the side was sent to its twin
}

// restoring is one instance that is made of a backup: what the steps of kind Restore act on.
type restoring struct {
	act.Task
	act    *Act
	order  restoreOrder
	memory restored
	host   host.Host // where it is restored
	vault  host.Host
	server *mysql.Server
	live   *mysql.Server   // nil: there is none
	ends   []*mysql.Server // of the pair that a database goes into; the first is written to
	side   *swing.Swing    // the side that it becomes; nil: none
	lost   *mysql.Server   // whose place that is
	logs   lender          // of the binary logs that are replayed, once askMoment has found it
}

func (a *Act) restoring(c engine.Call, step act.Step, beat func(string)) (*restoring, error) {
	r := &restoring{act: a}
	var err error
	if r.Task, err = a.Conductor.Task(c, step, beat, &r.order, &r.memory); err != nil {
		return nil, err
	}
	if len(r.order.Chain) == 0 {
		return nil, fmt.Errorf("%w: the order of %s names no backup", farm.ErrInput, c.Subject)
	}
	for n := range r.order.Chain {
		r.order.Chain[n].Place = a.placeNow(r.order.Chain[n].Place)
	}
	b := r.order.last()
	r.About = farm.Event{Pair: b.Pair, Side: b.Side}
	if r.host, err = a.Host(r.order.On); err != nil {
		return nil, err
	}
	if r.vault, err = a.Host(b.Host); err != nil {
		return nil, err
	}
	r.server = mysql.Open(r.order.Instance.Name, r.order.Instance.Dial(), a.Admin, a.Log)
	if r.order.Live != "" {
		r.live = mysql.Open(r.order.LiveName, r.order.Live, a.Admin, a.Log)
	}
	if x := r.order.Side; x != nil {
		r.About.Side = x.Side
		r.side, r.lost = r.newSide(), a.lostServer(x)
	}
	if x := r.order.Extract; x != nil {
		for _, e := range x.Ends {
			r.ends = append(r.ends, mysql.Open(e.Instance, e.Address, a.Admin, a.Log))
		}
	}
	return r, nil
}

// Remember implements act.Work.
func (r *restoring) Remember() json.RawMessage {
	raw, err := json.Marshal(r.memory)
	if err != nil { // a struct of strings and numbers always encodes
		return nil
	}
	return raw
}

// Close implements act.Work.
func (r *restoring) Close() {
	_ = r.server.Close() // nothing is lost with a connection
	if r.live != nil {
		_ = r.live.Close()
	}
	if r.lost != nil {
		_ = r.lost.Close()
	}
	for _, server := range r.ends {
		_ = server.Close()
	}
}

func (r *restoring) preflight(ctx context.Context) error { return act.MayGoOn(ctx, r) }

// owner marks its directory as made by this run.
func (r *restoring) owner() string {
	return fmt.Sprintf("%s, %s of %s", r.act.Owner, r.order.Instance.Name, r.order.last().ID)
}

// fetchedNote is written when the data directory is complete.
const fetchedNote = "stowage-restored.json"

// fetch makes the data directory: the full backup, and one after the other what is based on it.
func (r *restoring) fetch(ctx context.Context) error {
	i := r.order.Instance
	if err := r.host.Claim(ctx, i, r.owner()); err != nil {
		return err
	}
	var note struct{ Of string }
	notePath := filepath.Join(i.Dir(), fetchedNote)
	if raw, err := r.host.ReadFile(ctx, notePath); err == nil && nested.Unmarshal(raw, &note) == nil && note.Of == r.order.last().ID {
		return nil
	}
	// What is there was cut short.
	if err := r.host.Stop(ctx, i, stopBudget); err != nil {
		return err
	}
	if err := r.host.Wipe(ctx, i, r.owner()); err != nil {
		return err
	}
	if err := r.host.WriteFile(ctx, i.Config, r.order.options()); err != nil {
		return err
	}
	r.memory.Bytes = 0
	if !r.order.last().IsPhysical() {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	for n, b := range catalogue.Physical(r.order.Chain) {
		if err := r.apply(ctx, n, b); err != nil {
			return err
		}
	}
	note.Of = r.order.last().ID
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return r.host.WriteFile(ctx, notePath, raw)
}

// apply fetches one backup of the chain and puts it on top of those before.
func (r *restoring) apply(ctx context.Context, n int, b catalogue.Backup) error {
	i := r.order.Instance
	size, err := r.stream(ctx, b, host.Destination{Instance: i, Delta: n > 0, Files: isClone(b)}, "fetching ")
	if err != nil {
		return err
	}
	r.memory.Bytes += size
	if isClone(b) { // its server was shut down
		return nil
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "applying the log of " + b.ID, Bytes: size, Total: size})
	_, err = r.host.Prepare(ctx, i)
	return err
}

// stream takes one backup out of its vault to where it is restored, as fast as the throttle lets it, and says how many bytes came.
func (r *restoring) stream(ctx context.Context, b catalogue.Backup, to host.Destination, doing string) (int64, error) {
	told := time.Time{}
	var still stall
	pace, done := r.act.Throttle.Begin(ctx, nil, r.order.On, b.Host)
	defer done()
	out, err := host.Copy{
		From: r.vault, Origin: host.Origin{Stored: host.Stored{Place: b.Place, Set: b.ID, Name: partOf(b)}},
		To: r.host, Target: to, Rate: pace.Rate,
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: doing + b.ID + pace.Slowed() + still.after(n, told, b.Place), Bytes: n, Total: max(n, b.Raw)})
		},
	}.Run(ctx)
	if err != nil {
		return 0, r.damaged(ctx, b, err)
	}
	return out.Bytes, nil
}

// damaged asks, when a copy out of a vault has failed, whether what is there is what was kept: who unpacks it may notice first, and in other words.
func (r *restoring) damaged(ctx context.Context, b catalogue.Backup, failed error) error {
	err := r.vault.Vault(b.Place).Check(ctx, b.ID)
	if !errors.Is(err, vault.ErrDamaged) && !errors.Is(err, vault.ErrNone) {
		return failed
	}
	if failed := kept.Damaged(r.act.Store, b.ID, err.Error(), time.Now().UTC()); failed != nil {
		return failed
	}
	return r.refuse("fetch", err, "restore an older one: stowage backup list; and take a new full one: stowage backup run --full "+string(b.Pair))
}

// elsewhere are options that may name paths outside of an instance's own directory, where another server's files are.
var elsewhere = []string{"log_bin_index", "relay_log", "relay_log_index", "relay_log_info_file", "master_info_file", "innodb_data_home_dir", "innodb_log_group_home_dir",
	"innodb_undo_directory", "innodb_temp_data_file_path", "innodb_tmpdir", "aria_log_dir_path", "general_log_file", "slave_load_tmpdir", "init_file",
	"innodb_buffer_pool_filename", "rocksdb_datadir", "rocksdb_wal_dir", "server_audit_file_path", "sql_error_log_filename", "log_slow_query_file",
	"innodb_directories", "innodb_doublewrite_dir", "innodb_temp_tablespaces_dir", "replica_load_tmpdir", "mysqlx_socket", "admin_address"}

// options is the option file of a restored instance: that of the one that was backed up, in a place of its own.
func (o restoreOrder) options() []byte {
	b := o.last()
	model := host.OneGroup(b.Options, b.Instance, optionfile.ServerGroups(catalogue.Series(b.Version), flavorOf(b).HasGTIDDomains(), ""))
	more := hereOnly(model)
	if isClone(o.last()) {
		more["relay_log"] = host.RelayBase
	}
	if o.Side != nil {
		maps.Copy(more, o.Side.Options)
	}
	if !o.last().IsPhysical() {
		more["max_allowed_packet"] = "1G" // a row takes more bytes as a text
	}
	return append(fresh.Options(model, flavorOf(o.last()), o.Instance, o.ServerID, more), o.filter()...)
}

// hereOnly takes out of options what names paths elsewhere.
func hereOnly(model string) map[string]string {
	out := map[string]string{}
	group := host.ServerGroup(model)
	for _, name := range elsewhere {
		for _, as := range []string{name, "loose_" + name} {
			if _, has := host.Option(model, group, as); has {
				out[as] = ""
			}
		}
	}
	for _, as := range []string{"innodb_data_file_path", "loose_innodb_data_file_path"} {
		if paths, has := host.Option(model, group, as); has {
			out[as] = inDatadir(paths)
		}
	}
	if path, has := host.Option(model, group, "log_bin"); has && filepath.IsAbs(path) {
		out["log_bin"] = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return out
}

// inDatadir is a list of files of the system tablespace, NAME:SIZE;NAME:SIZE, without their directories: a copy has them all in its data directory.
func inDatadir(paths string) string {
	files := strings.Split(paths, ";")
	for n, file := range files {
		name, size, _ := strings.Cut(file, ":")
		files[n] = filepath.Base(strings.TrimSpace(name)) + ":" + size
	}
	return strings.Join(files, ";")
}

func (r *restoring) remove(ctx context.Context) error {
	return takeAway(ctx, r.host, r.order.Instance, r.owner())
}

func (r *restoring) start(ctx context.Context) error {
	if err := fresh.Start(ctx, r.host, r.order.Instance, r.server, r.order.ServerID, func(text string) { r.Report(farm.Event{Kind: farm.StepProgress, Text: text}) }); err != nil {
		return err
	}
	return r.server.OpenMemoryTables(ctx)
}

const stopBudget = 5 * time.Minute

func (r *restoring) stop(ctx context.Context) error {
	if err := r.host.Claimable(ctx, r.order.Instance, r.owner()); err != nil {
		return err // it is somebody else's
	}
	return r.host.Stop(ctx, r.order.Instance, stopBudget)
}

// stand gives it the position of the backup: it has no binary log of its own yet.
func (r *restoring) stand(ctx context.Context) error {
	b := r.order.last()
	r.memory.At, r.memory.GTID = b.At, b.GTID
	if b.GTID == "" {
		return nil // the server had no binary log
	}
	if err := fresh.Check(ctx, r.server, r.order.Instance, r.order.ServerID); err != nil {
		return err
	}
	p, err := mysql.ParsePosition(b.GTID)
	if err != nil {
		return err
	}
	return r.server.Adopt(ctx, p)
}
