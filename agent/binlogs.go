package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/vault"
)

// binlogCall is what is asked of an archive of binary logs.
type binlogCall struct {
	Op        string          `json:"op"`
	Into      string          `json:"into"`
	Instance  host.Instance   `json:"instance,omitzero"`
	Index     string          `json:"index,omitempty"`
	At        time.Time       `json:"at,omitzero"`
	GTIDs     string          `json:"gtids,omitempty"`
	Point     host.SeedPoint  `json:"point,omitzero"`
	Before    host.Mark       `json:"before,omitzero"`
	Replaying *host.Replaying `json:"replaying,omitempty"`
	Spooling  *host.Spooling  `json:"spooling,omitempty"`
	Place     vault.Place     `json:"place,omitzero"`
	Wanted    *host.Wanted    `json:"wanted,omitempty"`
}

const (
	opArchive = "archive"
	opState   = "state"
	opAt      = "at"
	opUntil   = "until"
	opFrom    = "from"
	opPrune   = "prune"
	opReplay  = "replay"
	opRelay   = "relay"
	opSpool   = "spool"
	opKept    = "kept"
	opReach   = "reach"
	opForget  = "forget"
	opUnpull  = "remove-pulled"
)

// changes reports whether a call does more than look.
func (b binlogCall) changes() bool {
	return slices.Contains([]string{opPrune, opReplay, opRelay, opForget, opUnpull}, b.Op)
}

// binlogAnswer is what comes back.
type binlogAnswer struct {
	Archived host.Archived `json:"archived,omitzero"`
	Found    host.Found    `json:"found,omitzero"`
	Removed  int64         `json:"removed,omitempty"`
	Spooled  host.Spooled  `json:"spooled,omitzero"`
	Kept     host.Kept     `json:"kept,omitzero"`
	Bytes    int64         `json:"bytes,omitempty"`
}

// binlogOp is what a call asks of an archive; the zero value for every other call, and for one that cannot be read.
func binlogOp(q request) (b binlogCall) {
	if q.Call == callBinlogs && nested.Unmarshal(q.Content, &b) != nil {
		return binlogCall{}
	}
	return b
}

// binlogs carries such a call out.
func (a *Agent) binlogs(ctx context.Context, r *running, q request) ([]byte, error) {
	b := binlogOp(q)
	m, ok := a.o.Machine.(host.Archivist)
	if !ok {
		return nil, a.unknown(q)
	}
	var out binlogAnswer
	var err error
	switch b.Op {
	case opArchive:
		out.Archived, err = m.ArchiveBinlogs(ctx, b.Instance, b.Index, b.Into)
	case opState:
		out.Archived, err = m.ArchiveState(ctx, b.Into)
	case opAt:
		out.Found, err = m.ArchiveAt(ctx, b.Into, b.At)
	case opUntil:
		out.Found, err = m.ArchiveUntil(ctx, b.Into, b.GTIDs)
	case opFrom:
		out.Found, err = m.ArchiveFrom(ctx, b.Into, b.Point, b.GTIDs)
	case opPrune:
		out.Removed, err = m.PruneBinlogs(ctx, b.Into, b.Before)
	case opCheck:
		if b.Into != "" {
			err = m.CheckBinlogs(ctx, b.Into)
			break
		}
		out.Bytes, err = m.CheckKept(ctx, b.Place, b.Instance.Name)
	case opSpool:
		if b.Spooling == nil {
			return nil, fmt.Errorf("%w: nothing to archive is named", farm.ErrInput)
		}
		b.Spooling.Instance = b.Instance // which may be touched
		out.Spooled, err = m.SpoolBinlogs(ctx, *b.Spooling)
	case opKept:
		out.Kept, err = m.KeptBinlogs(ctx, b.Place, b.Instance.Name)
	case opReach:
		if b.Wanted == nil {
			return nil, fmt.Errorf("%w: nothing wanted is named", farm.ErrInput)
		}
		out.Bytes, err = m.ReachBinlogs(ctx, b.Place, b.Instance.Name, *b.Wanted)
	case opForget:
		out.Removed, err = m.ForgetBinlogs(ctx, b.Place, b.Instance.Name, b.Wanted)
	case opUnpull:
		err = m.RemovePulled(ctx, b.Instance)
	case opReplay, opRelay:
		if b.Replaying == nil {
			return nil, fmt.Errorf("%w: nothing to replay is named", farm.ErrInput)
		}
		b.Replaying.Told = func(done, all int64) { r.progress.Store(fmt.Sprintf("%d %d", done, all)) }
		do := m.Replay
		if b.Op == opRelay {
			do = m.Relay
		}
		err = do(ctx, *b.Replaying)
	default:
		err = fmt.Errorf("%w: this agent, %s, cannot do %q with binary logs", farm.ErrRefused, a.o.Version, b.Op)
	}
	return encode(out), err
}

var _ host.Archivist = (*Remote)(nil)

func (r *Remote) askBinlogs(ctx context.Context, b binlogCall, told func(string)) (out binlogAnswer, err error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return out, err
	}
	said, err := r.call(ctx, request{Call: callBinlogs, Content: raw}, told)
	if err == nil {
		err = nested.Unmarshal(said.Content, &out)
	}
	return out, err
}

// ArchiveBinlogs implements host.Archivist.
func (r *Remote) ArchiveBinlogs(ctx context.Context, i host.Instance, index, into string) (host.Archived, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opArchive, Into: into, Instance: i, Index: index}, nil)
	return out.Archived, err
}

// ArchiveState implements host.Archivist.
func (r *Remote) ArchiveState(ctx context.Context, into string) (host.Archived, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opState, Into: into}, nil)
	return out.Archived, err
}

// ArchiveAt implements host.Archivist.
func (r *Remote) ArchiveAt(ctx context.Context, into string, at time.Time) (host.Found, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opAt, Into: into, At: at}, nil)
	return out.Found, err
}

// ArchiveUntil implements host.Archivist.
func (r *Remote) ArchiveUntil(ctx context.Context, into, gtids string) (host.Found, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opUntil, Into: into, GTIDs: gtids}, nil)
	return out.Found, err
}

// ArchiveFrom implements host.Archivist.
func (r *Remote) ArchiveFrom(ctx context.Context, into string, point host.SeedPoint, position string) (host.Found, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opFrom, Into: into, Point: point, GTIDs: position}, nil)
	return out.Found, err
}

// PruneBinlogs implements host.Archivist.
func (r *Remote) PruneBinlogs(ctx context.Context, into string, before host.Mark) (int64, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opPrune, Into: into, Before: before}, nil)
	return out.Removed, err
}

// CheckBinlogs implements host.Archivist.
func (r *Remote) CheckBinlogs(ctx context.Context, into string) error {
	_, err := r.askBinlogs(ctx, binlogCall{Op: opCheck, Into: into}, nil)
	return err
}

// SpoolBinlogs implements host.Archivist.
func (r *Remote) SpoolBinlogs(ctx context.Context, s host.Spooling) (host.Spooled, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opSpool, Instance: s.Instance, Spooling: &s}, nil)
	return out.Spooled, err
}

// KeptBinlogs implements host.Archivist.
func (r *Remote) KeptBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName) (host.Kept, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opKept, Place: p, Instance: host.Instance{Name: instance}}, nil)
	return out.Kept, err
}

// ReachBinlogs implements host.Archivist.
func (r *Remote) ReachBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, w host.Wanted) (int64, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opReach, Place: p, Instance: host.Instance{Name: instance}, Wanted: &w}, nil)
	return out.Bytes, err
}

// ForgetBinlogs implements host.Archivist.
func (r *Remote) ForgetBinlogs(ctx context.Context, p vault.Place, instance farm.InstanceName, oldest *host.Wanted) (int64, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opForget, Place: p, Instance: host.Instance{Name: instance}, Wanted: oldest}, nil)
	return out.Removed, err
}

// CheckKept implements host.Archivist.
func (r *Remote) CheckKept(ctx context.Context, p vault.Place, instance farm.InstanceName) (int64, error) {
	out, err := r.askBinlogs(ctx, binlogCall{Op: opCheck, Place: p, Instance: host.Instance{Name: instance}}, nil)
	return out.Bytes, err
}

// RemovePulled implements host.Archivist.
func (r *Remote) RemovePulled(ctx context.Context, i host.Instance) error {
	_, err := r.askBinlogs(ctx, binlogCall{Op: opUnpull, Instance: i}, nil)
	return err
}

// Replay implements host.Archivist.
func (r *Remote) Replay(ctx context.Context, p host.Replaying) error {
	return r.replay(ctx, opReplay, p)
}

// Relay implements host.Archivist.
func (r *Remote) Relay(ctx context.Context, p host.Replaying) error { return r.replay(ctx, opRelay, p) }

func (r *Remote) replay(ctx context.Context, op string, p host.Replaying) error {
	told := p.Told
	p.Told = nil
	_, err := r.askBinlogs(ctx, binlogCall{Op: op, Into: p.Archive, Instance: p.Instance, Replaying: &p}, func(text string) {
		first, second, _ := strings.Cut(text, " ")
		done, err := strconv.ParseInt(first, 10, 64)
		all, bad := strconv.ParseInt(second, 10, 64)
		if err == nil && bad == nil && told != nil {
			told(done, all)
		}
	})
	return err
}
