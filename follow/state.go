package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"stowage/farm"
	"stowage/mysql"
	"stowage/workspace"
)

// State is what a follower goes on from. A file of its own keeps it.
type State struct {
	FormatVersion int            `json:"format_version"`
	Shard         farm.ShardName `json:"shard"`
	Tables        []string       `json:"tables"` // null: all
	Tenant        *Tenant        `json:"tenant"` // null: all
	ServerID      uint32         `json:"server_id"`
	Pair          farm.PairName  `json:"pair"`
	Position      string         `json:"position"`
}

const stateFormat = 1

// At is the position. It was checked when the state was read.
func (s State) At() mysql.Position {
	p, err := mysql.ParsePosition(s.Position)
	if err != nil {
		return nil
	}
	return p
}

// IsOf reports a state that was made for something else.
func (s State) IsOf(shard farm.ShardName, tables []string, tenant *Tenant) error {
	switch {
	case s.Shard != shard:
		return fmt.Errorf("it is of shard %s", s.Shard)
	case !slices.Equal(s.Tables, tables):
		return fmt.Errorf("it is of tables %v", s.Tables)
	case (s.Tenant == nil) != (tenant == nil) || tenant != nil && *s.Tenant != *tenant:
		return errors.New("it is of another tenant, or of all")
	}
	return nil
}

// StateFile is a file with a State, which one follower has at a time.
type StateFile struct {
	path string
	lock *os.File
}

// OpenState takes a state file; nobody else has it until Close. Where there is
// none yet, the state is nil.
func OpenState(path string) (*StateFile, *State, error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, stateError(path, err, "")
	}
	f := &StateFile{path, lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, nil, stateError(path, errors.New("another follower uses it"), "give each its own file")
	}
	s, err := readState(path)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, s, nil
}

func readState(path string) (*State, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var s State
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.FormatVersion != stateFormat {
		err = fmt.Errorf("its format is %d, this program reads %d", s.FormatVersion, stateFormat)
	}
	if err == nil {
		_, err = mysql.ParsePosition(s.Position)
	}
	if err != nil {
		return nil, stateError(path, err, "only 'stowage follow' may write it; --from is for a start without it: remove the file, and give the position of the last line that was used")
	}
	return &s, nil
}

func stateError(path string, err error, hint string) error {
	return &farm.Error{Op: "open state", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: hint}
}

// Save replaces the file, as a whole or not at all.
func (f *StateFile) Save(s State) error {
	s.FormatVersion = stateFormat
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := workspace.WriteFileAtomic(f.path, append(text, '\n'), 0o644); err != nil {
		return &farm.Error{Op: "save state", Subject: f.path, Err: err, Hint: "lines may be repeated from the position that the file has"}
	}
	return nil
}

// Close lets another follower use the file.
func (f *StateFile) Close() {
	_ = syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN) // a program that is just being started has the file, too, for a moment
	_ = f.lock.Close()
}
