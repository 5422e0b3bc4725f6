package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
)

// Settings are all global variables and status counters, by name in small
// letters.
func (s *Server) Settings(ctx context.Context) (variables, status map[string]string, err error) {
	if variables, err = s.pairs(ctx, "SHOW GLOBAL VARIABLES"); err != nil {
		return nil, nil, err
	}
	status, err = s.pairs(ctx, "SHOW GLOBAL STATUS")
	return variables, status, err
}

func (s *Server) pairs(ctx context.Context, query string) (map[string]string, error) {
	if s.db == nil {
		return nil, s.fail("connect", errors.New("unusable address"))
	}
	records, err := s.records(ctx, query)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range records {
		out[strings.ToLower(r["Variable_name"])] = r["Value"]
	}
	return out, nil
}

// Setting is one global variable; it is an error when the server has none of
// that name.
func (s *Server) Setting(ctx context.Context, name string) (string, error) {
	if s.db == nil {
		return "", s.fail("connect", errors.New("unusable address"))
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return "", err
	}
	records, err := s.records(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = "+quote(d.variable(name)))
	if err != nil {
		return "", err
	}
	if len(records) != 1 {
		return "", s.fail("read "+name, fmt.Errorf("%w: the server has no such variable", farm.ErrInput))
	}
	return records[0]["Value"], nil
}

// SetSetting sets a dynamic global variable until the server restarts. It
// needs SUPER, on MySQL SYSTEM_VARIABLES_ADMIN.
func (s *Server) SetSetting(ctx context.Context, name, value string) error {
	if s.db == nil {
		return s.fail("connect", errors.New("unusable address"))
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	text := quote(value)
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		text = value
	}
	return s.exec(ctx, "SET GLOBAL "+ident(d.variable(name))+" = "+text)
}

// IsFixedVariable reports whether SetSetting failed because the variable cannot
// be changed while the server runs (1238), or while it replicates (1198).
func IsFixedVariable(err error) bool {
	return slices.Contains([]uint16{1238, 1198}, CodeOf(err))
}

// FileCount is what a server has counted for one file since it was started.
type FileCount struct{ Operations, Bytes uint64 }

// FileCounts are the counters of all open files, by path as the server writes it; none
// where performance_schema is off.
func (s *Server) FileCounts(ctx context.Context) (map[string]FileCount, error) {
	if s.db == nil {
		return nil, s.fail("connect", errors.New("unusable address"))
	}
	records, err := s.records(ctx, `SELECT FILE_NAME, COUNT_READ + COUNT_WRITE AS n, SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE AS b
		FROM performance_schema.file_summary_by_instance WHERE COUNT_READ + COUNT_WRITE > 0`)
	if err != nil {
		return nil, err
	}
	out := map[string]FileCount{}
	for _, r := range records {
		c := out[r["FILE_NAME"]] // a file may be there for several instruments
		out[r["FILE_NAME"]] = FileCount{c.Operations + counter(r["n"]), c.Bytes + counter(r["b"])}
	}
	return out, nil
}
