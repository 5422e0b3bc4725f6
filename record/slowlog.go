package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/traffic"
)

// window is one recording of one instance from its slow log.
type window struct {
	r     *Recorder
	t     Target
	l     *traffic.SlowLog
	j     Journal
	guard *guard
	res   *Result

	pieces  *pieces
	present int   // number of the piece that is being written
	done    int64 // bytes of the pieces before it
	before  map[uint64]bool
}

// SlowLog lets the instance log every statement for a window, digests what it
// wrote, and puts everything back. When ctx ends, the window ends: what was
// recorded is returned without an error.
//
// With an error the digest is what was recorded until then, or nil. An error
// that is farm.ErrOutcomeUnknown means that settings may not be back; the
// journal is kept, and Restore tries again.
func (r *Recorder) SlowLog(ctx context.Context, t Target) (Result, *digest.Digest, error) {
	res := Result{Instance: t.Instance, Address: t.Address, Stopped: StopFailed, SettingsRestored: []string{}}
	if err := t.isHere(ctx); err != nil {
		return res, nil, err
	}
	release, err := lock(r.Dir, t.Instance)
	if err != nil {
		return res, nil, err
	}
	defer release()
	if err := r.takeBack(ctx, t, &res); err != nil {
		return res, nil, err
	}
	// What is begun is ended: only the window itself listens to ctx.
	steady := context.WithoutCancel(ctx)
	s := t.Server(t.Instance, t.Address)
	defer s.Close()
	l, err := traffic.OpenSlowLog(steady, s)
	if err != nil {
		return res, nil, err
	}
	defer l.Close()
	w := &window{r: r, t: t, l: l, res: &res, guard: &guard{l: l, o: r.Options}}
	if err := r.step("check", func() error { return w.check(steady) }); err != nil {
		return res, nil, err
	}
	if ctx.Err() != nil {
		res.Stopped = StopInterrupted // nothing has been changed
		return res, nil, nil
	}
	d, err := w.record(ctx, steady)
	res.Notes = append(res.Notes, w.guard.notes...)
	if res.OnlyPools() {
		res.Notes = append(res.Notes, "nothing was logged; connected before the window, and not captured: "+farm.Counted(res.StillNotCaptured, "session")+"; use --from network")
	}
	return res, d, err
}

// takeBack puts back what an earlier recording left, so that what we take for
// the settings of before is nobody's leftover.
func (r *Recorder) takeBack(ctx context.Context, t Target, res *Result) error {
	_, err := os.Stat(journalPath(r.Dir, t.Instance))
	if errors.Is(err, fs.ErrNotExist) {
		return removed(sumPath(r.Dir, t.Instance))
	}
	out, err := r.restore(ctx, t.Instance, t.Place, t.Server)
	if err != nil {
		return err
	}
	res.Notes = append(res.Notes, fmt.Sprintf("an earlier recording had not ended: %d settings were put back first", len(out.Settings)))
	if out.Save != "" {
		res.Notes = append(res.Notes, fmt.Sprintf("the earlier recording's %s are kept as %s", farm.Counted(out.Events, "event"), out.Save))
	}
	return nil
}

// check finds everything that would keep the window from being recorded,
// before anything is changed.
func (w *window) check(ctx context.Context) error {
	if err := w.l.MayRecord(ctx); err != nil {
		return err
	}
	if err := w.guard.mayBegin(ctx, w.t.Instance); err != nil {
		return err
	}
	at, err := w.l.LogPlace(ctx)
	if err != nil {
		return err
	}
	if at.GeneralLog && !traffic.SameSetting(at.Output, "FILE") {
		return w.refuse(fmt.Errorf("the general log is on and goes to %s; recording would send it into a file", at.Output), "switch it off, or set log_output=FILE yourself")
	}
	file, _, err := w.l.File(ctx)
	if err != nil {
		return err
	}
	if strings.Contains(filepath.Base(file), markOfName) {
		return w.refuse(fmt.Errorf("another recording is under way on this server: its slow log is %s", file),
			"wait for it to end; if it was killed, run stowage digest record --restore in its workspace")
	}
	dir := w.r.Options.LogDir
	if dir == "" {
		dir = logDir(file, at.Datadir)
	}
	free, err := w.t.Place.FreeBytes(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "record", Subject: string(w.t.Instance), Err: fmt.Errorf("%w: its log would be in %s, which is not on this machine", farm.ErrInput, dir),
			Hint: "run stowage on the machine the server runs on, or name a directory with --log-dir"}
	}
	if err != nil {
		return err
	}
	if free <= w.r.Options.Reserve {
		return w.refuse(fmt.Errorf("%s has %s free, and %s must stay free", dir, bytes(free), bytes(w.r.Options.Reserve)), "make room, name another place with --log-dir, or lower --reserve")
	}
	return w.plan(ctx, dir)
}

const markOfName = "stowage-record-"

// logDir is where the server's slow log lies now: it may write there, and its
// owner meant logs to be there.
func logDir(file, datadir string) string {
	if filepath.IsAbs(file) {
		if st, err := os.Stat(filepath.Dir(file)); err == nil && st.IsDir() {
			return filepath.Dir(file)
		}
	}
	return filepath.Clean(datadir)
}

func (w *window) refuse(err error, hint string) error {
	return &farm.Error{Op: "record", Subject: string(w.t.Instance), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
}

// plan fills the journal.
func (w *window) plan(ctx context.Context, dir string) error {
	up, err := w.l.Uptime(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	id := strconv.FormatInt(now.UnixNano(), 36)
	w.j = Journal{FormatVersion: journalVersion, Instance: w.t.Instance, Address: w.t.Address, Begun: now, Uptime: up,
		Prefix: filepath.Join(dir, markOfName+string(w.t.Instance)+"-"+id), Thread: w.l.Thread(),
		Save: w.r.Save, Counts: w.r.Options.Digest}
	w.present = 1
	w.j.Settings, err = w.l.Plan(ctx, w.j.piece(1), w.r.Options.Sample)
	return err
}

// record is the part that changes the server, and changes it back.
func (w *window) record(ctx, steady context.Context) (*digest.Digest, error) {
	if err := w.r.step("journal", func() error { return w.j.write(w.r.Dir) }); err != nil {
		return nil, errors.Join(err, w.j.forget(w.r.Dir))
	}
	w.guard.journal = &w.j
	if w.r.Save != "" && w.r.Sum == nil {
		w.r.Sum = w.r.sumKeeper(w.t.Instance)
	}
	filter, err := withoutOurs(w.r.Options.Digest, w.j.Thread)
	if err == nil {
		w.pieces = digestPieces(steady, w, filter)
		err = w.open(steady)
	}
	began := time.Now()
	end := &ending{stop: StopFailed, err: err}
	noteProbes := func(*digest.Digest) {}
	if err == nil {
		w.r.tell(Progress{Instance: w.t.Instance, Began: true})
		probes := beginProbing()
		end = watch(ctx, steady, w.r.Options.For, w.guard, nil, w.look)
		noteProbes = probes.end()
	}
	w.res.Seconds = time.Since(began).Seconds()
	w.countSessions(steady)
	w.res.Stopped, w.res.Detail = end.stop, end.detail
	w.res.SlowLogIsOn = !slices.ContainsFunc(w.j.Settings, func(s traffic.SlowLogSetting) bool { return s.Name == switchSetting })
	back, backErr := w.r.settle(steady, w.l, w.j)
	w.res.SettingsRestored, w.res.SettingsLeft, w.res.Restarted = append(w.res.SettingsRestored, back.Settings...), back.Left, back.Restarted
	w.r.tell(Progress{Instance: w.t.Instance, Bytes: w.res.Bytes, Ended: true, Stopped: end.stop})
	d, digestErr := w.finish(err == nil, backErr == nil)
	noteProbes(d)
	switch {
	case backErr == nil:
		backErr = w.r.clean(steady, w.t.Place, w.j)
	case w.j.Save != "" && digestErr == nil: // whoever called has it: a later Restore need not keep it once more
		w.j.Save = ""
		backErr = errors.Join(backErr, w.j.write(w.r.Dir))
	}
	return d, errors.Join(backErr, end.err, digestErr)
}

// withoutOurs is the filter that leaves our own session out, on servers where
// it cannot leave itself out.
func withoutOurs(o digest.Options, thread uint64) (digest.Options, error) {
	own := fmt.Sprintf("thread != %d", thread)
	if o.Filter != nil {
		own = "(" + o.Filter.String() + ") and " + own
	}
	var err error
	o.Filter, err = digest.ParseFilter(own)
	return o, err
}

// open switches the settings, one after the other, and makes sure that the
// server really writes where we can read.
func (w *window) open(ctx context.Context) error {
	for _, s := range w.j.Settings {
		err := w.r.step("switch "+s.Name, func() error { return w.l.Set(ctx, s.Name, s.Ours) })
		if err != nil && s.Name == fileSetting && !mysql.IsDenied(err) {
			return &farm.Error{Op: "record", Subject: string(w.t.Instance), Err: fmt.Errorf("%w: the server does not want its log in %s: %w", farm.ErrInput, filepath.Dir(s.Ours), err),
				Hint: "name a directory that the server may write to with --log-dir"}
		}
		if err != nil {
			return err
		}
	}
	return w.r.step("open", func() error { return w.opened(ctx) })
}

func (w *window) opened(ctx context.Context) error {
	path := w.j.piece(1)
	_, err := w.t.Place.Size(ctx, path)
	if err == nil {
		_, err = w.t.Place.Digest(ctx, path, "probe", digest.Options{})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: the server did not make %s: it may not write there, or sees another file system (a container, another machine)", farm.ErrInput, path)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: %w: run as root, or as a member of the group that the server's files have", farm.ErrInput, err)
	}
	if err != nil {
		return &farm.Error{Op: "record", Subject: string(w.t.Instance), Err: err, Hint: "name a directory that both may use with --log-dir; the settings have been put back"}
	}
	sessions, err := w.l.ClientSessions(ctx)
	if err != nil {
		return err
	}
	w.before = map[uint64]bool{}
	for _, s := range sessions {
		w.before[s.Thread] = true
	}
	if w.l.Misses(w.j.Settings) {
		w.res.SessionsNotCaptured = len(sessions)
	}
	return nil
}

// countSessions says at the end who was never captured, and who will keep our
// settings. A server that does not answer is not asked twice.
func (w *window) countSessions(ctx context.Context) {
	if w.before == nil || !w.l.Misses(w.j.Settings) {
		return
	}
	sessions, err := w.l.ClientSessions(ctx)
	if err != nil {
		return
	}
	for _, s := range sessions {
		if w.before[s.Thread] {
			w.res.StillNotCaptured++
		} else {
			w.res.SessionsLeft++
		}
	}
}

// look compares the log with the bounds and begins the next piece in time.
func (w *window) look(ctx context.Context) *ending {
	o := w.r.Options
	size, err := w.t.Place.Size(ctx, w.j.piece(w.present))
	if err != nil {
		return endf(StopChanged, "the log's file is gone: %v", err)
	}
	w.res.Bytes = w.done + size
	w.r.tell(Progress{Instance: w.t.Instance, Bytes: w.res.Bytes})
	free, err := w.t.Place.FreeBytes(ctx, filepath.Dir(w.j.Prefix))
	switch {
	case err != nil:
		return &ending{stop: StopFailed, err: err}
	case free <= o.Reserve:
		return endf(StopDisk, "%s are free on the file system of the log; %s must stay free", bytes(free), bytes(o.Reserve))
	case w.res.Bytes >= o.MaxBytes:
		return endf(StopBytes, "%s of log", bytes(w.res.Bytes))
	case w.pieces.failed() != nil:
		return &ending{stop: StopFailed}
	case size < o.PieceBytes:
		return nil
	case w.pieces.waiting() >= maxWaiting:
		return endf(StopBacklog, "%s of the log wait to be digested", farm.Counted(maxWaiting, "piece"))
	}
	if err := w.rotate(ctx, size); err != nil {
		return &ending{stop: StopFailed, err: err}
	}
	return nil
}

// rotate sends the log into its next file. The server closes one and opens the
// other under one lock (MYSQL_QUERY_LOG of MariaDB, File_query_log of MySQL),
// so that no event falls between them, and the finished file grows no more.
func (w *window) rotate(ctx context.Context, size int64) error {
	return w.r.step("rotate", func() error {
		file, _, err := w.l.File(ctx)
		if err != nil {
			return err
		}
		if file != w.j.piece(w.present) {
			return nil // somebody has changed it; the guard will say so
		}
		if err := w.l.Set(ctx, fileSetting, w.j.piece(w.present+1)); err != nil {
			return err
		}
		w.closePiece(size)
		return nil
	})
}

// closePiece hands the finished piece over.
func (w *window) closePiece(size int64) {
	path := w.j.piece(w.present)
	if grown, err := w.t.Place.Size(context.Background(), path); err == nil {
		size = grown // between the look and the switch
	}
	w.done += size
	w.res.Bytes = w.done
	w.pieces.add(path, w.present)
	w.present++
}

// finish digests what is left and returns everything. When the settings may
// not be back, the server may still be writing: a file that is removed under
// it would take room that nobody sees.
func (w *window) finish(opened, back bool) (*digest.Digest, error) {
	if w.pieces == nil {
		return nil, nil
	}
	if !back {
		w.pieces.keepLast(w.present)
	}
	if opened {
		w.closePiece(0)
		w.res.Pieces = w.present - 1
	}
	d, err := w.pieces.close()
	if d != nil {
		w.res.counted(d)
	}
	return d, err
}

func bytes(n int64) string { return farm.RoundQuantity(float64(n), farm.KindBytes) }
