package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// asStarted is how a server was started, by whoever did: enough to start it so again. It lies on the server's own host, where nobody but us can write: whoever could write
// it could have anything run.
type asStarted struct {
	Unit    string   `json:"unit,omitempty"` // of systemd
	Enabled bool     `json:"enabled,omitempty"`
	Argv    []string `json:"argv,omitempty"` // else: of the process, or of the mysqld_safe around it
	Env     []string `json:"env,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	UID     uint32   `json:"uid,omitempty"`
	GID     uint32   `json:"gid,omitempty"`
	Groups  []uint32 `json:"groups"`           // besides GID; null in notes of before they were noted
	Output  string   `json:"output,omitempty"` // the file that its standard error goes to
}

// KeepNotes says where NoteStart writes: a directory of ours.
func (l *Local) KeepNotes(dir string) { l.notes = dir }

// NoteStart implements Host.
func (l *Local) NoteStart(ctx context.Context, i Instance) error {
	fail := func(err error) error {
		return &farm.Error{Op: "note how it was started", Subject: string(i.Name), Err: err, Hint: "it could not be started so again"}
	}
	pid, err := l.Running(ctx, i)
	if err != nil || pid == 0 {
		return err
	}
	if l.notes == "" {
		return fail(errors.New("there is no place for notes"))
	}
	how, err := l.startedAs(ctx, pid)
	if err != nil {
		return fail(err)
	}
	raw, err := json.Marshal(how)
	if err == nil {
		err = os.MkdirAll(l.notes, 0o700)
	}
	if err == nil {
		err = safefile.Trusted(l.notes)
	}
	if err == nil {
		err = replaceFile(l.noteOf(i), raw, 0o600, nil)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

func (l *Local) noteOf(i Instance) string {
	return filepath.Join(l.notes, string(i.Name)+"."+strconv.Itoa(i.Port)+".json")
}

// startedAs reads how a process was started.
func (l *Local) startedAs(ctx context.Context, pid int) (asStarted, error) {
	starter := cmp.Or(safeAround(pid), pid)
	if program, err := l.systemd(); err == nil {
		if unit := l.mainUnit(ctx, program, pid); unit != "" {
			return asStarted{Unit: unit, Enabled: exec.CommandContext(ctx, program, "is-enabled", "--quiet", unit).Run() == nil}, nil
		}
	}
	dir := "/proc/" + strconv.Itoa(starter)
	out := asStarted{Argv: argsOf(starter)}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || len(out.Argv) == 0 {
		return out, errors.Join(err, fmt.Errorf("process %d has ended", starter))
	}
	out.UID, out.GID, out.Groups = st.Uid, st.Gid, groupsOfProcess(starter)
	if program, err := os.Readlink(dir + "/exe"); err == nil { // it may have been found in a PATH, and another may be there since
		out.Argv[0] = strings.TrimSuffix(program, " (deleted)")
	}
	raw, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return out, err
	}
	for _, v := range strings.Split(strings.Trim(string(raw), "\x00"), "\x00") {
		if v != "" {
			out.Env = append(out.Env, v)
		}
	}
	out.Dir, _ = os.Readlink(dir + "/cwd")
	if file, err := os.Readlink(dir + "/fd/2"); err == nil && filepath.IsAbs(file) {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			out.Output = file
		}
	}
	return out, nil
}

func (a asStarted) credential() *syscall.Credential {
	groups := a.Groups
	if groups == nil {
		if u, err := user.LookupId(strconv.FormatUint(uint64(a.UID), 10)); err == nil {
			groups = groupsOf(u)
		}
	}
	return &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: groups}
}

// groupsOfProcess are the supplementary groups that a process has.
func groupsOfProcess(pid int) []uint32 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(raw), "\nGroups:")
	line, _, _ := strings.Cut(rest, "\n")
	return numbers(strings.Fields(line))
}

// safeAround is the mysqld_safe that started a server and waits for its end, 0 where there is none. It ends after a server that was told to end, and starts one again that died.
func safeAround(pid int) int {
	if parent := parentOf(pid); parent > 1 && isSafe(parent) {
		return parent
	}
	return 0
}

func isSafe(pid int) bool {
	return slices.ContainsFunc(argsOf(pid), func(a string) bool {
		return slices.Contains([]string{"mysqld_safe", "mariadbd-safe"}, filepath.Base(a))
	})
}

// isMainOf reports whether a unit is there for a process.
func (l *Local) isMainOf(ctx context.Context, systemctl, unit string, pid int) bool {
	out, err := exec.CommandContext(ctx, systemctl, "show", "--property=MainPID", "--value", unit).Output()
	main, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return err == nil && main == pid
}

// argsOf is the command line of a process.
func argsOf(pid int) []string {
	line := strings.TrimSuffix(string(commandLine(pid)), "\x00")
	if line == "" {
		return nil
	}
	return strings.Split(line, "\x00")
}

// parentOf is the process that started a process, or has taken it in.
func parentOf(pid int) int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(raw), ") ") // a name may hold anything
	words := strings.Fields(rest)
	if len(words) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(words[1])
	return parent
}

// systemd is systemctl, where this machine was booted with it.
func (l *Local) systemd() (string, error) {
	if l.systemctl != "" {
		return l.systemctl, nil
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return "", err
	}
	return find([]string{"systemctl"})
}

// StartAgain implements Host.
func (l *Local) StartAgain(ctx context.Context, i Instance, budget time.Duration) error {
	pid, err := l.Running(ctx, i)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(l.noteOf(i))
	if l.notes == "" || errors.Is(err, fs.ErrNotExist) {
		return l.Start(ctx, i, budget)
	}
	var how asStarted
	if err == nil {
		err = nested.Unmarshal(raw, &how)
	}
	if err == nil {
		err = safefile.Trusted(l.notes)
	}
	fail := func(err error) error {
		return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: err, Hint: "start it as its owner does"}
	}
	if err != nil {
		return fail(err)
	}
	logFile := filepath.Join(i.Dir(), ErrorLog)
	before := size(logFile)
	died := make(chan error, 1)
	runs := func() bool { // its pid file may lie anywhere
		pid, err := l.Running(ctx, i)
		return err == nil && pid != 0
	}
	if pid != 0 { // somebody has started it, perhaps we before a kill
		return l.awaitAnswer(ctx, i, budget, died, runs)
	}
	if how.Unit != "" {
		if err := l.startUnitAgain(ctx, how, budget); err != nil {
			return l.explain(i, before, err)
		}
		return l.awaitAnswer(ctx, i, budget, died, runs)
	}
	cmd := exec.Command(how.Argv[0], how.Argv[1:]...) // and not for as long as ctx: it must not depend on us
	cmd.Env, cmd.Dir = how.Env, how.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 && (how.UID != 0 || how.GID != 0) {
		cmd.SysProcAttr.Credential = how.credential()
	}
	if how.Output != "" {
		out, err := safefile.OpenFile(how.Output, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			defer out.Close()
			cmd.Stdout, cmd.Stderr = out, out
		}
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	go func() { died <- l.explain(i, before, cmd.Wait()) }()
	return l.awaitAnswer(ctx, i, budget, died, runs)
}

// startUnitAgain starts the unit of whoever has made it. Stop has disabled it where it is called as ours are.
func (l *Local) startUnitAgain(ctx context.Context, how asStarted, budget time.Duration) error {
	program, err := l.systemd()
	if err != nil {
		return err
	}
	if how.Enabled {
		return l.askSystemd(ctx, program, budget, "enable", "--now", how.Unit)
	}
	return l.askSystemd(ctx, program, budget, "start", how.Unit)
}
