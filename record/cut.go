package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/mysql"
)

// Mend ends the recordings that an agent which is dead had begun, and those
// whose server could not be put back: at once, and again and again until ctx
// ends, because a server may be away for a while.
func (s *Station) Mend(ctx context.Context) {
	const first, most = time.Second, 5 * time.Minute
	for wait := first; ; wait = min(2*wait, most) {
		for _, k := range s.allKept() {
			if !k.Ended && s.mendOne(ctx, k) {
				wait = first
			}
		}
		left, err := Left(s.Dir)
		if err != nil {
			s.Log.Warn("journals of recordings cannot be read", "error", err)
		}
		for _, n := range left { // an outcome was told already: only the server is wanting
			s.putBackLeft(ctx, n)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// mendOne ends a recording that was cut, unless somebody is about it.
func (s *Station) mendOne(ctx context.Context, k kept) (done bool) {
	x, mine := s.join(k.ID, func() {})
	if !mine {
		return false
	}
	defer s.leave(k.ID, x)
	release, ok := s.occupy(k.Instance, x)
	if !ok {
		x.out = Outcome{Fault: faultOf(fmt.Errorf("%w: another recording of %s is under way", farm.ErrRefused, k.Instance))}
		return false
	}
	defer release()
	x.out = s.endCut(ctx, k, mysql.Account{})
	return s.isEnded(k.ID)
}

func (s *Station) isEnded(id string) bool {
	k, err := s.readKept(id)
	return err == nil && k.Ended
}

func (s *Station) putBackLeft(ctx context.Context, n farm.InstanceName) {
	release, ok := s.occupy(n, &sitting{})
	if !ok {
		return
	}
	defer release()
	login, err := s.login(n, mysql.Account{})
	if err == nil {
		_, err = s.recorder(Options{}).Restore(ctx, n, Here{}, s.server(login))
	}
	if err == nil {
		err = s.dropLogin(n)
	}
	if err != nil {
		s.Log.Warn("a recording's settings are not put back yet", "instance", n, "error", err)
		return
	}
	s.Log.Info("the slow log's settings are put back", "instance", n)
}

// login is the one that is given, or the one that was kept.
func (s *Station) login(n farm.InstanceName, given mysql.Account) (mysql.Account, error) {
	if given.User != "" {
		return given, nil
	}
	err := readJSON(s.loginPath(n), &given)
	if errors.Is(err, fs.ErrNotExist) {
		err = &farm.Error{Op: "put back", Subject: string(n), Err: fmt.Errorf("%w: its login is gone", farm.ErrOutcomeUnknown),
			Hint: "stowage digest record --restore brings one"}
	}
	return given, err
}

// endAllCut ends what was cut of earlier recordings of an instance before
// another begins.
func (s *Station) endAllCut(ctx context.Context, o Order) error {
	for _, k := range s.allKept() {
		if k.Ended || k.Instance != o.Instance {
			continue
		}
		if s.endCut(ctx, k, o.Login); !s.isEnded(k.ID) {
			return &farm.Error{Op: "record", Subject: string(o.Instance), Err: fmt.Errorf("%w: an earlier recording was cut short, and the server cannot be put back yet", farm.ErrRefused),
				Hint: "the agent's log says why; it tries again and again"}
		}
	}
	return nil
}

// endCut ends a recording whose process was killed: the server is put back,
// what is there of its log is digested, and what of it came is said. When
// the server cannot be put back the recording has not ended.
func (s *Station) endCut(ctx context.Context, k kept, given mysql.Account) Outcome {
	k.Outcome = Outcome{Result: Result{Instance: k.Instance, Address: k.Address, Stopped: StopCut, Detail: "its agent was killed during the window", SettingsRestored: []string{}}}
	d, err := s.sumOfParts(k.ID)
	if s.isLeft(k.Instance) {
		login, loginErr := s.login(k.Instance, given)
		if loginErr != nil {
			return Outcome{Result: k.Outcome.Result, Fault: faultOf(loginErr)}
		}
		r := s.recorder(Options{})
		r.Salvage = func(ctx context.Context, j Journal) {
			var more error
			d, more = s.salvage(ctx, k, j, d)
			err = errors.Join(err, more)
		}
		back, restoreErr := r.Restore(ctx, k.Instance, Here{}, s.server(login))
		if restoreErr != nil {
			s.Log.Warn("a recording that was cut short is not put back yet", "instance", k.Instance, "error", restoreErr)
			return Outcome{Result: k.Outcome.Result, Fault: faultOf(restoreErr)}
		}
		k.Outcome.Result.SettingsRestored = append(k.Outcome.Result.SettingsRestored, back.Settings...)
		k.Outcome.Result.SettingsLeft, k.Outcome.Result.Restarted = back.Left, back.Restarted
	}
	came := "nothing of it came"
	if d != nil {
		k.Outcome.Result.counted(d)
		came = fmt.Sprintf("%s until then came", farm.Counted(d.Events(), "event"))
	}
	s.Log.Info("a recording that was cut short has been ended", "instance", k.Instance, "came", came)
	return s.conclude(k, d, errors.Join(&farm.Error{Op: "record", Subject: string(k.Instance),
		Err: fmt.Errorf("%w: its agent was killed during the window, or stopped by force; %s, and the server is as before", farm.ErrUndone, came)}, err))
}

// salvage adds what is there of the log to what was digested before.
func (s *Station) salvage(ctx context.Context, k kept, j Journal, sum *digest.Digest) (*digest.Digest, error) {
	j.Counts = k.Counts
	known := keptSum{d: sum}
	for _, p := range s.parts(k.ID) {
		known.n = max(known.n, p.n)
	}
	return j.left(ctx, Here{}, known)
}

// globbed is a path as a pattern for itself.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// part is the digest of the files of a log up to the n-th, which are gone.
type part struct {
	path string
	n    int
}

// keepPart keeps what the files of a log came to before they are removed.
func (s *Station) keepPart(id string) func(int, *digest.Digest) error {
	return func(n int, d *digest.Digest) error {
		before := s.parts(id)
		if _, err := writeDigest(filepath.Join(s.outcomes(), fmt.Sprintf("%s.%06d.part", id, n)), d); err != nil {
			return err
		}
		for _, p := range before {
			if err := removed(p.path); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *Station) parts(id string) (out []part) {
	files, _ := filepath.Glob(filepath.Join(globbed(s.outcomes()), id+".[0-9][0-9][0-9][0-9][0-9][0-9].part")) // the pattern is ours
	for _, path := range files {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(strings.TrimSuffix(path, ".part")), id+".")); err == nil {
			out = append(out, part{path, n})
		}
	}
	slices.SortFunc(out, func(a, b part) int { return a.n - b.n })
	return out
}

// sumOfParts is what was digested before a recording was cut, or nil.
func (s *Station) sumOfParts(id string) (*digest.Digest, error) {
	parts := s.parts(id)
	if len(parts) == 0 {
		return nil, nil
	}
	return readDigest(parts[len(parts)-1].path)
}
