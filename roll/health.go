package roll

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/sides"
)

// ErrorLog is the name by which what an error log says since may be announced, as a variable is.
const ErrorLog = "error-log"

// healthy is what is asked of the returning sides besides what a swing checks: that the options of the work hold, that no server has written errors into its
// log since the host left, and that tune finds nothing new.
func (s *stay) healthy(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	err = s.each(func(m *sides.Member) error {
		if err := s.optionsHold(ctx, m); err != nil {
			return err
		}
		return s.logIsQuiet(ctx, m)
	})
	if err != nil {
		return err
	}
	return s.adviceHolds(ctx)
}

// optionsHold reads back what the server has of the options that were written. One that is not a variable cannot be read back.
func (s *stay) optionsHold(ctx context.Context, m *sides.Member) error {
	for n, step := range s.order.Work.Steps {
		if len(step.Options) == 0 || !step.Apply && !restartsAfter(s.order, n) {
			continue
		}
		var names []string
		for name := range step.Options {
			names = append(names, name)
		}
		slices.Sort(names)
		is, err := m.Leaves.Variables(ctx, names...)
		if err != nil {
			return err
		}
		for _, name := range names {
			if v, has := is[name]; has && !farm.OptionHolds(name, v, step.Options[name]) {
				return &farm.Error{Op: "check", Subject: string(m.Order.Leaves.Name), Err: fmt.Errorf("%w: %s is %q, and should be %q", farm.ErrRefused, name, v, step.Options[name]),
					Hint: fmt.Sprintf("look for a later line in its option files, or a rounded value; correct it, restart, then: stowage roll in %s", s.order.Host)}
			}
		}
	}
	return nil
}

// restartsAfter reports whether a restart follows a step: without one its options do not hold yet.
func restartsAfter(o hostOrder, n int) bool {
	for _, s := range o.Work.Steps[n+1:] {
		if s.Restart {
			return true
		}
	}
	return false
}

// errorLog is the error log of a side's server, and where it lies. Where it says that it has none, there is none.
func (s *stay) errorLog(ctx context.Context, m *sides.Member) (path, text string, err error) {
	vars, err := m.Leaves.Variables(ctx, "log_error", "datadir")
	if err != nil {
		return "", "", err
	}
	path = vars["log_error"]
	switch {
	case path == "" || path == "stderr":
		path = filepath.Join(m.At.Dir(), host.ErrorLog) // where its starter sends it
	case !filepath.IsAbs(path):
		path = filepath.Join(vars["datadir"], path)
	}
	raw, err := m.At.ReadFile(ctx, path)
	return path, string(raw), err
}

// ofTheLink are words of errors that a receiver of replication writes when its source is away: they say nothing of this server, and whether replication runs is asked of the server itself.
var ofTheLink = []string{
	"Slave I/O: ", "Error reading packet from server: ", "error reconnecting to master", "error connecting to master", // MariaDB
	"Replica I/O for channel", "Slave I/O for channel", "Error reading packet from server for channel", // MySQL
}

// isError reports whether a line of an error log is an error of its server.
func isError(line string) bool {
	return strings.Contains(line, "[ERROR]") && !slices.ContainsFunc(ofTheLink, func(words string) bool { return strings.Contains(line, words) })
}

// logIsQuiet refuses a side whose server has written errors since it left.
func (s *stay) logIsQuiet(ctx context.Context, m *sides.Member) error {
	was, known := s.rolled.Logs[m.Order.Leaves.Name]
	if !known || was < 0 || slices.Contains(m.MayDiffer, ErrorLog) {
		return nil
	}
	_, text, err := s.errorLog(ctx, m)
	if err != nil {
		s.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("the error log of %s cannot be read any more, and is not compared: %v", m.Order.Leaves.Name, err)})
		return nil
	}
	if was > len(text) { // it was rotated
		was = 0
	}
	var lines []string
	for line := range strings.Lines(text[was:]) {
		if isError(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &farm.Error{Op: "check", Subject: string(m.Order.Leaves.Name), Err: fmt.Errorf("%w: its error log has %s since the host left, the first: %s", farm.ErrRefused, farm.Counted(len(lines), "error"), lines[0]),
		Hint: fmt.Sprintf("when that is as it should be: stowage roll in %s --changed %s", s.order.Host, ErrorLog)}
}
