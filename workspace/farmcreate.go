package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/internal/lasting"
)

// DraftFarm is the text of a farm.yaml with remarks: lines of comment by the
// place they are above. The places are "" (the beginning), farm, host_types,
// host_types.NAME, hosts, pairs, pairs.NAME and end. faults is what the reader
// says of the text: a person may have to write something into it first.
func DraftFarm(file string, f *farm.Farm, remarks map[string][]string) (text []byte, faults error) {
	text = renderRemarked(f, nil, remarks)
	_, _, faults = parseFarm(file, text)
	return text, faults
}

// CreateFarm writes a farm.yaml where there is none. What is there is never
// replaced: the error wraps farm.ErrInput.
func CreateFarm(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return FarmIsThere(path)
	}
	if err == nil {
		_, err = file.Write(text)
		err = errors.Join(err, file.Sync(), file.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path)) // half of it would be in the way of the next attempt
		} else {
			err = lasting.SyncDir(filepath.Dir(path))
		}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	if err != nil {
		return &farm.Error{Op: "write", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "name a file in a directory that is there and may be written"}
	}
	return nil
}

// FarmIsThere refuses to write over a farm.yaml.
func FarmIsThere(path string) error {
	return &farm.Error{Op: "write", Subject: path, Err: fmt.Errorf("%w: the file exists; not overwriting it", farm.ErrInput),
		Hint: "write beside it and compare: -o draft.yaml; or move it away first"}
}
