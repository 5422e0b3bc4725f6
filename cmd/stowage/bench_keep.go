package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/workspace"
)

// A result that is kept while it grows, so that the same command goes on from it: what all benches share.

// largestResult bounds a file that is said to be the result of a bench: one of a matrix of a thousand cells has some 100 MB.
const largestResult = 1 << 30

// keptBefore is what an earlier run of the same command left in its file, or nil. read makes a result of a file; whole says
// that nothing is left to do, or what of it could be wanted all the same.
func keptBefore[T any](path, kind string, read func([]byte) (*T, error), whole func(*T) (is bool, instead string)) (*T, error) {
	raw, err := safefile.ReadInput(path, largestResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	refuse := func(err error, hint string) error {
		return &farm.Error{Op: "save to", Subject: path, Err: err, Hint: hint}
	}
	if err != nil {
		return nil, refuse(fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), "name a file in a directory that is there and may be written")
	}
	r, err := read(raw)
	if err != nil {
		return nil, refuse(fmt.Errorf("%w: it exists, and is not a result of %s", farm.ErrInput, kind), "name another file")
	}
	if is, instead := whole(r); is {
		return nil, refuse(fmt.Errorf("%w: it holds a whole result already", farm.ErrRefused), "name another file, or "+instead)
	}
	return r, nil
}

// keep writes a result, which may not be whole, into the file that a person named.
func keep(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return &farm.Error{Op: "save result", Subject: path, Err: err}
	}
	err = workspace.WriteFileAtomic(path, append(text, '\n'), 0o644)
	if err != nil {
		return &farm.Error{Op: "save to", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), Hint: "name a file in a directory that is there and may be written (" + filepath.Dir(path) + ")"}
	}
	return nil
}

// errorsCause is what the system said, without the name of a temporary file.
func errorsCause(err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return cause.Err
	}
	return err
}

// cutShort says of a measurement that was interrupted, or in which a step has
// failed, where it goes on.
func cutShort(err error, subject, save string) error {
	var hint string
	switch _, missing := os.Stat(save); {
	case errors.Is(err, farm.ErrInterrupted) && save != "":
		hint = "the same command goes on from " + save
	case errors.Is(err, farm.ErrInterrupted):
		hint = "nothing was kept; with --save FILE the next run goes on from there"
	case missing != nil:
		return err // nothing was measured yet, or is kept
	default:
		hint = "what was measured before is kept: the same command goes on from " + save
		if first := farm.Hint(err); first != "" {
			hint = first + "; " + hint
		}
	}
	return &farm.Error{Op: "measure", Subject: subject, Err: err, Hint: hint}
}

// unkept is said before a long measurement that keeps nothing.
const unkept = "nothing is kept until the end: with --save FILE an interrupted run can be resumed"
