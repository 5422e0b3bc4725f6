package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// fio is the program that makes the I/O.
type fio struct {
	path, version string
}

// findFio looks for it and asks its version.
func findFio(ctx context.Context) (*fio, error) {
	path, err := exec.LookPath("fio")
	if err != nil {
		return nil, &farm.Error{Op: "find fio", Err: fmt.Errorf("%w: there is no program fio on this machine", farm.ErrInput), Hint: "apt-get install fio, or scripts/setup.sh bench"}
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	version := strings.TrimPrefix(strings.TrimSpace(string(out)), "fio-")
	if err != nil || !strings.HasPrefix(version, "3") {
		return nil, &farm.Error{Op: "ask version of", Subject: path, Err: fmt.Errorf("%w: it says %q (%v), and this needs fio 3", farm.ErrInput, version, err), Hint: "install fio 3.0 or newer: apt-get install fio"}
	}
	return &fio{path: path, version: version}, nil
}

// run gives fio a job and returns what it printed and the processor time it took. It works in dir. fio ends with ctx, and with us: the kernel kills it
// when the thread that started it is gone, so that thread is held.
func (f *fio) run(ctx context.Context, dir, job string) ([]byte, time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, f.path, "--output-format=json+", "-")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(job)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	// A group of its own: Ctrl-C reaches us, and we end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, 0, farm.ErrInterrupted
	}
	if err != nil {
		return nil, 0, fioError(err, errOut.String()+"\n"+out.String())
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// fioError says in one line what fio said in many.
func fioError(err error, said string) error {
	for _, known := range []struct{ pattern, hint string }{
		{"No space left on device", "free some space, or use a smaller --size"},
		{"Read-only file system", "name a directory on a file system that may be written"},
		{"Permission denied", "name a directory that this account may write, or run as one that may"},
		{"Disk quota exceeded", "use a smaller --size, or another account"},
		{"Input/output error", "the device has failed: look into the kernel's log"},
	} {
		if strings.Contains(said, known.pattern) {
			return &farm.Error{Op: "run fio", Err: errors.New(known.pattern), Hint: known.hint}
		}
	}
	line := firstLine(said)
	return &farm.Error{Op: "run fio", Err: fmt.Errorf("%v: %s", err, line), Hint: "the job is what --json prints as job; run fio with it by hand"}
}

func firstLine(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "fio:") {
			return line
		}
	}
	return strings.TrimSpace(strings.SplitN(strings.TrimSpace(said), "\n", 2)[0])
}

// engine finds the asynchronous engine that works here: io_uring, or libaio where the kernel or a container forbids it.
func (f *fio) engine(ctx context.Context, dir, file string) (string, error) {
	var last error
	for _, name := range []string{"io_uring", "libaio"} {
		_, _, last = f.run(ctx, dir, fmt.Sprintf("[probe]\nioengine=%s\ndirect=1\nthread=1\nrw=write\nbs=4k\nsize=64k\niodepth=2\nfilename=%s\n", name, file))
		if last == nil || errors.Is(last, farm.ErrInterrupted) {
			return name, last
		}
	}
	return "", last
}

// fioOutput is the part of fio's JSON that is read.
type fioOutput struct {
	Jobs []fioJob `json:"jobs"`
}

type fioJob struct {
	Name    string             `json:"jobname"`
	Error   int                `json:"error"`
	Read    fioDirection       `json:"read"`
	Write   fioDirection       `json:"write"`
	Sync    fioDirection       `json:"sync"`
	Runtime float64            `json:"job_runtime"` // milliseconds, of all threads together
	UserCPU float64            `json:"usr_cpu"`     // percent of it
	SysCPU  float64            `json:"sys_cpu"`
	Depths  map[string]float64 `json:"iodepth_level"` // percent, by depth up to the next
}

type fioDirection struct {
	Bytes   int64   `json:"io_bytes"`
	IOs     int64   `json:"total_ios"`
	IOPS    float64 `json:"iops"`
	Runtime float64 `json:"runtime"` // milliseconds
	Lat     struct {
		Min  float64           `json:"min"`
		Max  float64           `json:"max"`
		Mean float64           `json:"mean"`
		Bins map[string]uint64 `json:"bins"`
	} `json:"lat_ns"`
}

// parseFio reads what fio printed. Notes of its own may be before the object.
func parseFio(out []byte) (*fioOutput, error) {
	at := bytes.IndexByte(out, '{')
	if at < 0 {
		return nil, fmt.Errorf("fio printed no JSON: %.200q", out)
	}
	var o fioOutput
	if err := nested.Unmarshal(out[at:], &o); err != nil {
		return nil, fmt.Errorf("what fio printed is no JSON of fio's: %w", err)
	}
	if len(o.Jobs) == 0 {
		return nil, errors.New("fio printed no job")
	}
	for _, j := range o.Jobs {
		if j.Error != 0 {
			return nil, fmt.Errorf("fio's job %s ended with error %d (%w)", j.Name, j.Error, syscall.Errno(j.Error))
		}
	}
	return &o, nil
}
