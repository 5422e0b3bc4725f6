package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/session"
	"stowage/vault"
)

// order is what the part of one instance says.
type order struct {
	Runbook string `json:"runbook"`
	// Backup is what it is to be: all of it that is known before the copy.
	Backup   catalogue.Backup `json:"backup"`
	Chain    []string         `json:"chain,omitempty"`   // the backups that it is based on, the full one first
	Instead  string           `json:"instead,omitempty"` // why it is a full one although an incremental one was asked for
	On       farm.HostName    `json:"on"`
	Instance host.Instance    `json:"instance"`
	// Clone is the throw-away server on the host of the vault that clones a server of MySQL, with its server_id; nil: MariaDB.
	Clone    *host.Instance `json:"clone,omitempty"`
	ServerID uint32         `json:"server_id,omitempty"`
}

// memory is what the next step is to know.
type memory struct {
	Copied  host.Copied `json:"copied"`
	Began   time.Time   `json:"began,omitzero"`
	Ended   time.Time   `json:"ended,omitzero"`
	GTID    string      `json:"gtid,omitempty"`
	Options string      `json:"options,omitempty"`
	Version string      `json:"version,omitempty"`
	Server  uint32      `json:"server_id,omitempty"`
}

// taking is one instance that is backed up: what the steps of kind Backup act on.
type taking struct {
	act.Task
	act    *Act
	order  order
	memory memory
	server *mysql.Server
	away   bool // it did not answer: nothing more is asked of it
	from   host.Host
	to     host.Host     // the vault's
	copied *mysql.Server // the throw-away server; nil: there is none
}

func (a *Act) taking(c engine.Call, step act.Step, beat func(string)) (*taking, error) {
	t := &taking{act: a}
	var err error
	if t.Task, err = a.Conductor.Task(c, step, beat, &t.order, &t.memory); err != nil {
		return nil, err
	}
	b := t.order.Backup
	t.About = farm.Event{Pair: b.Pair, Side: b.Side}
	if t.from, err = a.Host(t.order.On); err != nil {
		return nil, err
	}
	if t.to, err = a.Host(b.Host); err != nil {
		return nil, err
	}
	t.server = mysql.Open(b.Instance, t.order.Instance.Dial(), a.Admin, a.Log)
	if i := t.order.Clone; i != nil {
		t.copied = mysql.Open(i.Name, i.Dial(), a.Admin, a.Log)
	}
	return t, nil
}

// Remember implements act.Work.
func (t *taking) Remember() json.RawMessage {
	raw, err := json.Marshal(t.memory)
	if err != nil { // a struct of strings and numbers always encodes
		return nil
	}
	return raw
}

// Close implements act.Work.
func (t *taking) Close() {
	_ = t.server.Close() // nothing is lost with a connection
	if t.copied != nil {
		_ = t.copied.Close()
	}
}

func (t *taking) preflight(ctx context.Context) error { return act.MayGoOn(ctx, t) }

// stored is where its stream goes.
func (t *taking) stored() host.Stored {
	b := t.order.Backup
	return host.Stored{Place: b.Place, Set: b.ID, Name: partOf(b)}
}

// copy brings the stream into the vault. What an earlier attempt has left there begins anew: a stream cannot be continued.
func (t *taking) copy(ctx context.Context) error {
	b := t.order.Backup
	if err := t.drop(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	pace, done := t.act.Throttle.BeginGently(ctx, []*mysql.Server{t.server}, b.Host, t.order.On)
	defer done()
	limit := pace.Rate
	if b.IsPhysical() {
		above, ended := t.aboveRedo(ctx, pace)
		defer ended()
		limit = above
	}
	err := t.stream(ctx, pace, limit, t.from, host.Origin{Instance: t.order.Instance, Login: session.LoginOf(t.act.Backup, t.order.Instance.Dial()), Since: b.FromLSN, InOrder: true, Gently: true, Dump: databasesOf(b)})
	t.memory.Ended = time.Now().UTC()
	return err
}

// stream brings a stream into the vault.
func (t *taking) stream(ctx context.Context, pace *act.Pace, limit func() int64, from host.Host, origin host.Origin) (err error) {
	told := time.Time{}
	var still stall
	t.memory.Copied, err = host.Copy{
		From: from, Origin: origin, To: t.to, Target: host.Destination{Stored: t.stored()}, Rate: limit,
		Moved: func(n int64) {
			pace.Moved(n)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			t.Report(farm.Event{Kind: farm.StepProgress, Text: "copying" + pace.Slowed() + still.after(n, told, t.order.Backup.Place), Bytes: n, Total: max(n, t.order.Backup.Raw)})
		},
	}.Run(ctx)
	return err
}

// begin notes what the server is, and what it was started with.
func (t *taking) begin(ctx context.Context) error {
	start, err := t.from.Options(ctx, t.order.Instance)
	if err != nil {
		return err
	}
	own, err := t.from.ReadFile(ctx, t.order.Instance.Config)
	if err != nil {
		return err
	}
	vars, err := t.server.Variables(ctx, "version", "server_id")
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(vars["server_id"], 10, 32)
	if err != nil {
		return err
	}
	t.memory = memory{Began: time.Now().UTC(), Version: vars["version"], Server: uint32(id), Options: start.Text(t.order.Instance, host.UnfenceOptions(t.order.Instance, string(own)))}
	return nil
}

// drop removes what there is of the set. One that is whole already stays: it is a backup.
func (t *taking) drop(ctx context.Context) error {
	return t.inVault(ctx, func(ctx context.Context) error { return t.to.Vault(t.order.Backup.Place).Drop(ctx, t.order.Backup.ID) })
}

// inVault does something there, and says so while it waits.
func (t *taking) inVault(ctx context.Context, do func(context.Context) error) error {
	return Waiting(ctx, t.order.Backup.Place, func(text string) { t.Report(farm.Event{Kind: farm.StepProgress, Text: text}) }, do)
}

// position turns the place in the binary log into GTIDs. A server without a binary log has none.
func (t *taking) position(ctx context.Context) error {
	seed := t.memory.Copied.Seed
	if t.memory.GTID = t.memory.Copied.GTID; seed.File == "" || t.memory.GTID != "" {
		return nil
	}
	at, err := t.server.PositionAt(ctx, seed.File, seed.Offset)
	if err != nil {
		return err
	}
	t.memory.GTID = at.String()
	return nil
}

// made is the backup as it is now.
func (t *taking) made() catalogue.Backup {
	b, m := t.order.Backup, t.memory
	b.Began, b.At, b.Seconds = m.Began, m.Ended, m.Ended.Sub(m.Began).Seconds()
	if !m.Copied.At.IsZero() {
		b.At = m.Copied.At // the rows of a dump stand at its begin, those of a clone at the end of that, before it is packed
	}
	b.Raw, b.Bytes = m.Copied.Part.Raw, m.Copied.Part.Bytes
	b.File, b.Offset, b.GTID = m.Copied.Seed.File, m.Copied.Seed.Offset, m.GTID
	b.FromLSN, b.ToLSN = m.Copied.FromLSN, m.Copied.ToLSN
	b.Version, b.ServerID, b.Options = m.Version, m.Server, m.Options
	return b
}

// seal makes the set whole, and then known.
func (t *taking) seal(ctx context.Context) error {
	b := t.made()
	about, err := json.Marshal(b)
	if err != nil {
		return err
	}
	m := vault.Manifest{FormatVersion: vault.Format, Set: b.ID, Parts: []vault.Part{t.memory.Copied.Part}, About: about}
	err = t.Phase(ctx, "manifest", func(ctx context.Context) error {
		return t.inVault(ctx, func(ctx context.Context) error {
			return t.to.Vault(b.Place).Seal(ctx, m, map[string]string{"RESTORE.txt": t.howToRestore(b), "options.cnf": b.Options})
		})
	})
	if err != nil {
		return err
	}
	return t.Phase(ctx, "record", func(context.Context) error {
		t.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s, position %s", b.ID, b.GTID), Bytes: b.Bytes})
		return kept.Put(t.act.Store, b, b.At)
	})
}
