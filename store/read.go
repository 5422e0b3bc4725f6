package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"stowage/farm"
)

// OpenToRead opens the store at path for somebody who only looks. Nothing is written, made or mended, while others may write; a store that is not there
// is an empty one. What is looked at stays as it was at the first look, so open it anew for each.
func OpenToRead(path string) (*Store, error) {
	fail := func(err error) error {
		return &farm.Error{Op: "open store", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "if the file is damaged and no run is under way, move it away: then it holds history only"}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 { // somebody is just making it
		return Open(":memory:")
	}
	if err != nil {
		return nil, fail(err)
	}
	how := "mode=ro"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody has it open, and a reader who says no more would make the files that writers keep beside it (sqlite.org/wal.html, "Read-Only Databases").
		// Should a writer come at this very moment, the reader sees the file without what that one adds.
		how = "mode=ro&immutable=1"
	}
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(path)+"?"+how+"&_pragma=query_only(1)&_pragma=busy_timeout(2000)")
	if err != nil {
		return nil, fail(err)
	}
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		return nil, errors.Join(fail(err), db.Close())
	}
	return &Store{db: db, path: path}, nil
}
