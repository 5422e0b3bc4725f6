package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"stowage/internal/lasting"
)

// rowsOut is where rows go: standard output, or a file that has its name only when it is whole.
type rowsOut struct {
	io.Writer
	file *os.File // nil: standard output, or kept
	path string   // "": what is written to is no file that could be given a name
}

func (a *app) snapshotOut(path string) (*rowsOut, error) {
	if path == "-" {
		return &rowsOut{Writer: a.stdout}, nil
	}
	if is, err := os.Stat(path); err == nil && !is.Mode().IsRegular() { // a pipe, /dev/null: it stays what it is
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, unwritten(path, err)
		}
		return &rowsOut{Writer: file, file: file}, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // for the caller only: it is a customer's data
	if err != nil {
		return nil, unwritten(path, err)
	}
	return &rowsOut{Writer: file, file: file, path: path}, nil
}

// keep gives the file its name, after its bytes are on the disk.
func (o *rowsOut) keep() error {
	if o.file == nil {
		return nil
	}
	if o.path == "" {
		file := o.file
		o.file = nil
		return file.Close()
	}
	err := errors.Join(o.file.Sync(), o.file.Close())
	if err == nil {
		err = os.Rename(o.file.Name(), o.path)
	}
	if err == nil {
		o.file = nil
		err = lasting.SyncDir(filepath.Dir(o.path))
	}
	if err != nil {
		return unwritten(o.path, err)
	}
	return nil
}

// drop removes what was not kept.
func (o *rowsOut) drop() {
	if o.file != nil {
		_ = o.file.Close()
	}
	if o.file != nil && o.path != "" {
		_ = os.Remove(o.file.Name())
	}
}
