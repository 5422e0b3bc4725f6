package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

const (
	fileSetting   = "slow_query_log_file"
	switchSetting = "slow_query_log"
)

// Restored is what putting a server back came to.
type Restored struct {
	Instance  farm.InstanceName `json:"instance"`
	Settings  []string          `json:"settings_restored"`
	Left      []Kept            `json:"settings_left,omitempty"`
	Restarted bool              `json:"server_restarted,omitempty"` // it has its own values again
	Save      string            `json:"save,omitempty"`             // where what was recorded is kept
	Events    uint64            `json:"events,omitempty"`           // of that
}

// restoreOrder is the order in which settings go back. A log that was off is
// switched off first and nothing more is written. One that was on gets its
// own file back last, so that nothing of ours gets into it.
func restoreOrder(settings []traffic.SlowLogSetting) []traffic.SlowLogSetting {
	rank := func(s traffic.SlowLogSetting) int {
		switch s.Name {
		case switchSetting:
			return 0
		case fileSetting:
			return 2
		}
		return 1
	}
	out := slices.Clone(settings)
	slices.SortStableFunc(out, func(a, b traffic.SlowLogSetting) int { return rank(a) - rank(b) })
	return out
}

// putBack gives the server the values of before, where it still has ours. It
// can be run again at any point and comes to the same end.
//
// Precondition: j is on the disk. Done: every setting reads as before, or as
// somebody else set it.
func (r *Recorder) putBack(ctx context.Context, l *traffic.SlowLog, j Journal) (Restored, error) {
	out := Restored{Instance: j.Instance}
	now, err := l.Settings(ctx)
	if err != nil {
		return out, unknown(j, err)
	}
	restarted, err := hasRestarted(ctx, l, j, now[fileSetting])
	if err != nil {
		return out, unknown(j, err)
	}
	if restarted {
		out.Restarted = true
		return out, nil
	}
	var faults []error
	for _, s := range restoreOrder(j.Settings) {
		err := r.step("restore "+s.Name, func() error { return r.putBackOne(ctx, l, j, s, &out) })
		if err != nil {
			faults = append(faults, err) // the others are put back all the same
		}
	}
	if err := errors.Join(faults...); err != nil {
		return out, unknown(j, err)
	}
	if now, err = l.Settings(ctx); err != nil {
		return out, unknown(j, err)
	}
	for _, s := range j.Settings {
		if slices.Contains(out.Settings, s.Name) && !traffic.SameSetting(now[s.Name], s.Old) {
			faults = append(faults, fmt.Errorf("%s was set to %q and is %q", s.Name, s.Old, now[s.Name]))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return out, unknown(j, err)
	}
	return out, nil
}

// putBackOne reads a setting right before it sets it: another one may show the
// same bits, and a person may just have changed it.
func (r *Recorder) putBackOne(ctx context.Context, l *traffic.SlowLog, j Journal, s traffic.SlowLogSetting, out *Restored) error {
	all, err := l.Settings(ctx)
	if err != nil {
		return err
	}
	now, has := all[s.Name]
	switch {
	case !has || traffic.SameSetting(now, s.Old):
		return nil // never changed, or put back by an earlier run
	case !j.isOurs(s, now):
		out.Left = append(out.Left, Kept{s.Name, now, s.Ours, s.Old})
		return nil
	}
	if err := l.Set(ctx, s.Name, s.Old); err != nil {
		return err
	}
	out.Settings = append(out.Settings, s.Name)
	return nil
}

// hasRestarted: a server that was restarted has the values of its option file
// again. The log's file tells for certain when it is still ours; else the
// server has been up for less long than it should.
func hasRestarted(ctx context.Context, l *traffic.SlowLog, j Journal, file string) (bool, error) {
	if strings.HasPrefix(file, j.Prefix+".") {
		return false, nil
	}
	up, err := l.Uptime(ctx)
	if err != nil {
		return false, err
	}
	const slack = 3 * time.Second // of whole seconds and of clocks that are set
	return up+slack < j.Uptime+time.Since(j.Begun), nil
}

func unknown(j Journal, err error) error {
	return &farm.Error{Op: "put back the slow log's settings of", Subject: string(j.Instance),
		Err:  fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err),
		Hint: "when the server answers: stowage digest record --restore " + string(j.Instance)}
}

// settle tries putBack a few times: a server that is just busy is not given up.
func (r *Recorder) settle(ctx context.Context, l *traffic.SlowLog, j Journal) (out Restored, err error) {
	done := []string{}
	for try := range 3 {
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		out, err = r.putBack(ctx, l, j)
		done = append(done, out.Settings...)
		out.Settings = done
		if err == nil {
			break
		}
	}
	return out, err
}

// Restore puts back what a recording of the instance left behind, if anything:
// its settings, then its files. server is for the address in the journal.
func (r *Recorder) Restore(ctx context.Context, n farm.InstanceName, place Place, server func(farm.InstanceName, string) *mysql.Server) (Restored, error) {
	release, err := lock(r.Dir, n)
	if err != nil {
		return Restored{Instance: n}, err
	}
	defer release()
	return r.restore(ctx, n, place, server)
}

// restore is Restore under the lock.
func (r *Recorder) restore(ctx context.Context, n farm.InstanceName, place Place, server func(farm.InstanceName, string) *mysql.Server) (Restored, error) {
	j, err := readJournal(r.Dir, n)
	if err != nil {
		return Restored{Instance: n}, err
	}
	ctx = context.WithoutCancel(ctx) // half put back is worse than a second of waiting
	s := server(n, j.Address)
	defer s.Close()
	l, err := traffic.OpenSlowLog(ctx, s)
	if err != nil {
		return Restored{Instance: n}, unknown(j, err)
	}
	defer l.Close()
	out, err := r.settle(ctx, l, j)
	if err != nil {
		return out, err
	}
	switch {
	case r.Salvage != nil:
		r.Salvage(ctx, j)
	case j.Save != "" && r.Keep != nil:
		if err := r.keepLeft(ctx, place, j, &out); err != nil {
			return out, err
		}
	}
	return out, r.clean(ctx, place, j)
}

// clean removes the recording's files, then its journal.
func (r *Recorder) clean(ctx context.Context, place Place, j Journal) error {
	err := r.step("clean", func() error { return place.Remove(ctx, j.Prefix) })
	if err == nil {
		err = removed(sumPath(r.Dir, j.Instance))
	}
	if err == nil {
		err = r.step("forget", func() error { return j.forget(r.Dir) })
	}
	if err != nil {
		return &farm.Error{Op: "remove the recording's files of", Subject: string(j.Instance), Err: err,
			Hint: "the settings are as before; stowage digest record --restore removes " + j.Prefix + ".*"}
	}
	return nil
}
