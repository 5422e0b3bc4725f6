package agenda

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/packages/pin"
)

// OnFailure is what follows when a step of the work fails on a host.
type OnFailure string

const (
	// StayOut: the host stays out, and no other begins. The default.
	StayOut OnFailure = "stay-out"
	// GoOn: what failed is noted, and the host goes on as if it had not.
	GoOn OnFailure = "go-on"
)

// Upgrade says whether mariadb-upgrade runs after packages were installed.
type Upgrade string

const (
	// WhereNeeded: on each server that says that it needs it. The default.
	WhereNeeded Upgrade = "auto"
	// NoUpgrade: never.
	NoUpgrade Upgrade = "none"
)

// WayBack is what follows when packages cannot be installed, or a server is not well with them.
type WayBack string

const (
	// NoWayBack: the host stays out as it is. The default.
	NoWayBack WayBack = "none"
	// OldPackages: the packages of before are installed again and the servers started, and the host stays out.
	OldPackages WayBack = "packages"
)

// Step is one thing that is done to a host while it is out. Exactly one of Command, Restart, Options and Packages says what.
type Step struct {
	Command []string          `json:"command,omitempty"`
	Reboot  bool              `json:"reboot,omitempty"`  // the command starts the machine again: the step is done when it has
	Restart bool              `json:"restart,omitempty"` // of all its instances
	Options map[string]string `json:"options,omitempty"` // written into their option files; they hold from the next restart on

	// Packages are versions by name. All instances are stopped, the packages installed, the instances started and looked at.
	Packages map[string]string `json:"packages,omitempty"`
	Upgrade  Upgrade           `json:"upgrade,omitempty"`
	WayBack  WayBack           `json:"way_back,omitempty"`

	// Apply: the options hold at the end of the step. What the server can change while it runs is set; it is restarted for the rest.
	Apply bool `json:"apply,omitempty"`
	// HostOptions: the options are those that farm.yaml has for the type of each host; a plan has them for each host.
	HostOptions bool `json:"host_options,omitempty"`

	MustPass   []string      `json:"check,omitempty"` // a command that must end with 0 afterwards; it changes nothing, and may run again
	Limit      time.Duration `json:"time_limit_ns,omitempty"`
	OnFailure  OnFailure     `json:"on_failure,omitempty"`
	Repeatable bool          `json:"repeatable,omitempty"` // the command may run again where nobody can tell how it ended
}

// RebootCommand is what starts a machine again where nobody says more, and RebootLimit how long it may take to go down and come up.
var RebootCommand = []string{"/usr/bin/systemctl", "reboot"}

// RebootLimit: see RebootCommand.
const RebootLimit = 30 * time.Minute

// PackagesLimit is how long packages may take to be installed where nobody says more.
const PackagesLimit = time.Hour

// Work is what is done to each host.
type Work struct {
	Playbook string   `json:"playbook,omitempty"` // its name; "": of the command line
	Hosts    []string `json:"hosts,omitempty"`    // names and patterns
	Changes  []string `json:"changes,omitempty"`  // variables that may differ afterwards
	Steps    []Step   `json:"steps"`
	// Takes is how long the work on one host takes, as whoever asks for it says; 0: not said.
	Takes time.Duration `json:"takes_ns,omitempty"`
	// Downtime: single instances are rolled, too, and their clients wait.
	Downtime bool `json:"allow_downtime,omitempty"`
}

// Announced are the variables that may differ on a side that returns: those that are named, those that options set, and the version of servers whose packages change.
func (w Work) Announced() []string {
	all := map[string]bool{}
	for _, name := range w.Changes {
		all[name] = true
	}
	for _, s := range w.Steps {
		if len(s.Packages) > 0 {
			all["version"] = true
		}
		for name := range s.Options {
			all[strings.ReplaceAll(name, "-", "_")] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// String is a step for people.
func (s Step) String() string {
	switch {
	case s.Reboot:
		return "reboot: " + words(s.Command)
	case s.Restart:
		return "restart its instances"
	case len(s.Packages) > 0:
		var all []string
		for _, p := range pin.Of(s.Packages) {
			all = append(all, p.Name+" "+p.Version)
		}
		return "bring packages to " + strings.Join(all, ", ") + ", with all that was built from the same source"
	case s.HostOptions && len(s.Options) == 0:
		return "bring its servers to the options of its host type: set what they can change, restart them for the rest"
	case len(s.Options) > 0:
		does := "write options: "
		if s.Apply {
			does = "write options, and set them or restart: "
		}
		return does + s.pairs()
	}
	return "run: " + words(s.Command)
}

// pairs are the options of a step for people.
func (s Step) pairs() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		all = append(all, name+" = "+s.Options[name])
	}
	return strings.Join(all, ", ")
}

func words(argv []string) string {
	out := make([]string, len(argv))
	for n, w := range argv {
		if out[n] = w; w == "" || strings.ContainsAny(w, " \t\n'\"") {
			out[n] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(out, " ")
}

// For is the work as it is done on one host: with the options of its own.
func (w Work) For(h Host) Work {
	w.Steps = slices.Clone(w.Steps)
	for n := range w.Steps {
		if w.Steps[n].HostOptions {
			w.Steps[n].Options, w.Steps[n].Apply = h.Options, true
		}
	}
	return w
}

// asksOptions reports whether the work brings servers to the options of their host types.
func (w Work) asksOptions() bool {
	return slices.ContainsFunc(w.Steps, func(s Step) bool { return s.HostOptions })
}
