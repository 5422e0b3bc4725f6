package record

import (
	"fmt"

	"stowage/digest"
	"stowage/farm"
)

// Stop is why a window ended.
type Stop string

const (
	StopTime        Stop = "time"            // it was as long as asked
	StopBytes       Stop = "bytes"           // as many bytes as asked
	StopDisk        Stop = "disk"            // the reserve of the file system was reached
	StopBacklog     Stop = "backlog"         // digesting could not keep up with the log
	StopRunning     Stop = "threads_running" // the server became too busy
	StopLag         Stop = "replica_lag"     // the server fell behind its source
	StopChanged     Stop = "changed"         // somebody changed where the slow log goes
	StopServer      Stop = "server"          // the server did not answer
	StopInterrupted Stop = "interrupted"     // Ctrl-C
	StopFailed      Stop = "failed"          // something of ours failed
	StopCut         Stop = "cut"             // the agent that recorded was killed
	StopUnknown     Stop = "unknown"         // the agent that records does not answer any more
)

// IsEarly reports whether something other than a bound that was asked for, or
// the person who asked, ended the window.
func (s Stop) IsEarly() bool {
	return s != StopTime && s != StopBytes && s != StopInterrupted
}

// ending is a Stop and the figures behind it.
type ending struct {
	stop   Stop
	detail string
	err    error // of StopFailed
}

func endf(s Stop, format string, args ...any) *ending {
	return &ending{stop: s, detail: fmt.Sprintf(format, args...)}
}

// Result is what became of one instance's window.
type Result struct {
	Instance farm.InstanceName `json:"instance"`
	Address  string            `json:"address"`

	Events  uint64  `json:"events"`
	LeftOut uint64  `json:"left_out,omitempty"` // by the filter
	Bytes   int64   `json:"bytes"`              // of log or packets
	Pieces  int     `json:"pieces,omitempty"`   // files the log was cut into
	Seconds float64 `json:"seconds"`
	// Late is how many seconds after the others its window began, and so was
	// shorter: its agent had not answered.
	Late float64 `json:"late_seconds,omitempty"`

	Stopped Stop   `json:"stopped_because"`
	Detail  string `json:"stopped_detail,omitempty"`

	// SessionsNotCaptured were connected before and kept the settings they had; StillNotCaptured of them were there at the
	// end. SessionsLeft came during the window, are still connected, and keep ours: they log every statement for as long
	// as the slow log is on.
	SessionsNotCaptured int `json:"sessions_not_captured"`
	StillNotCaptured    int `json:"sessions_not_captured_at_end"`
	SessionsLeft        int `json:"sessions_left_with_our_settings"`
	// SlowLogIsOn: it was on before and is again, so that those sessions fill it.
	SlowLogIsOn bool `json:"slow_log_is_on,omitempty"`

	SettingsRestored []string `json:"settings_restored"`
	SettingsLeft     []Kept   `json:"settings_left,omitempty"` // changed by somebody meanwhile: not ours to put back
	Restarted        bool     `json:"server_restarted,omitempty"`

	Packets        uint64 `json:"packets,omitempty"`
	Dropped        uint64 `json:"packets_dropped,omitempty"` // by the kernel: skipped, in no event
	SocketSessions int    `json:"socket_sessions,omitempty"` // clients on the server's own socket, which the network does not see

	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`
}

// HasFindings reports whether a person should look at the result.
func (r Result) HasFindings() bool {
	return r.Stopped.IsEarly() || r.OnlyPools() || r.Late > 0 || r.Dropped > 0 || len(r.SettingsLeft) > 0 || r.Restarted || r.SessionsLeft > 0 && r.SlowLogIsOn
}

// OnlyPools reports whether the window was empty because all who were there had connected before it.
func (r Result) OnlyPools() bool {
	return r.Events == 0 && r.StillNotCaptured > 0 && r.Stopped != StopFailed
}

// counted takes the events of a digest.
func (r *Result) counted(d *digest.Digest) {
	r.Events = d.Events()
	for _, in := range d.Report().Inputs {
		r.LeftOut += in.LeftOut
	}
}

// Kept is a setting that was not put back.
type Kept struct {
	Name string `json:"name"`
	Now  string `json:"now"`
	Ours string `json:"ours"`
	Old  string `json:"old"`
}
