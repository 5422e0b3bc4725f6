package workspace

import (
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/packages/pin"
	"stowage/roll/agenda"
)

// The keys of a playbook, by level.
var (
	playbookKeys = []string{"hosts", "changes", "takes", "steps"}
	stepKeys     = []string{"command", "reboot", "restart", "options", "apply", "packages", "upgrade", "way_back", "check", "time_limit", "on_failure", "repeatable"}
)

// playbookReader reads rolls/NAME.yaml against a farm.
type playbookReader struct {
	reader
	farm *farm.Farm
	work agenda.Work
}

func parsePlaybook(file string, src []byte, f *farm.Farm) (agenda.Work, error) {
	r := &playbookReader{reader: reader{faults: faults{file: file}}, farm: f}
	root := r.parseYAML(src)
	if root == nil {
		return r.work, r.err()
	}
	r.fields(root, func() string { return "the playbook" }, playbookKeys, r.key)
	if len(r.work.Steps) == 0 && value(root, "steps") == nil && !r.meant[missing{root, "steps"}] {
		r.add(root.Line, "the playbook has no steps: steps is missing")
	}
	return r.work, r.err()
}

func (r *playbookReader) key(key string, v *yaml.Node) bool {
	switch key {
	case "hosts":
		r.hosts(v)
	case "changes":
		r.work.Changes = r.words(v, key)
	case "takes":
		r.work.Takes = r.duration(v, key)
	case "steps":
		for _, item := range r.items(v, key) {
			r.work.Steps = append(r.work.Steps, r.step(item))
		}
		if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
			r.fault(v, "steps is empty: there is nothing to do")
		}
	default:
		return false
	}
	return true
}

// hosts are names and patterns. One that speaks of no host is a mistake that
// would be noticed as a host that was forgotten.
func (r *playbookReader) hosts(v *yaml.Node) {
	items := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		items = v.Content
	}
	for _, item := range items {
		word := r.text(item, func() string { return "an entry of hosts" })
		if r.bad[item] {
			continue
		}
		_, none, err := agenda.Matching(r.farm, []string{word})
		switch {
		case err != nil:
			r.fault(item, "%q is not a pattern of hosts", word)
		case len(none) > 0:
			r.fault(item, "no host of farm.yaml is called %s", word)
		}
		r.work.Hosts = append(r.work.Hosts, word)
	}
}

func (r *playbookReader) step(n *yaml.Node) (s agenda.Step) {
	where := func() string { return "a step" }
	does := 0
	r.fields(n, where, stepKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of a step" }
		switch key {
		case "command":
			does++
			s.Command = r.argv(v, what)
		case "reboot":
			does++
			if s.Reboot, s.Command = true, agenda.RebootCommand; v.Kind == yaml.SequenceNode {
				s.Command = r.argv(v, what)
			} else if !r.yes(v, what) && !r.bad[v] {
				r.fault(v, "reboot is true, or the command that starts the machine again: [/sbin/shutdown, -r, now]")
			}
		case "restart":
			does++
			if s.Restart = r.yes(v, what); !s.Restart {
				r.fault(v, "restart is true, or the step is left out")
			}
		case "options":
			does++
			s.Options = r.options(v)
		case "packages":
			does++
			s.Packages = r.packages(v)
		case "upgrade":
			if s.Upgrade = agenda.Upgrade(r.text(v, what)); s.Upgrade != agenda.WhereNeeded && s.Upgrade != agenda.NoUpgrade {
				r.fault(v, "upgrade is %q: it is %s or %s", s.Upgrade, agenda.WhereNeeded, agenda.NoUpgrade)
			}
		case "way_back":
			if s.WayBack = agenda.WayBack(r.text(v, what)); s.WayBack != agenda.OldPackages && s.WayBack != agenda.NoWayBack {
				r.fault(v, "way_back is %q: it is %s or %s", s.WayBack, agenda.OldPackages, agenda.NoWayBack)
			}
		case "apply":
			s.Apply = r.yes(v, what)
		case "check":
			s.MustPass = r.argv(v, what)
		case "time_limit":
			if s.Limit = r.duration(v, what()); s.Limit == 0 && !r.bad[v] || s.Limit > 23*time.Hour {
				r.fault(v, "%s must be above 0 and at most 23h", what())
			}
		case "on_failure":
			if s.OnFailure = agenda.OnFailure(r.text(v, what)); s.OnFailure != agenda.StayOut && s.OnFailure != agenda.GoOn {
				r.fault(v, "on_failure is %q: it is %s or %s", s.OnFailure, agenda.StayOut, agenda.GoOn)
			}
		case "repeatable":
			s.Repeatable = r.yes(v, what)
		default:
			return false
		}
		return true
	})
	switch {
	case n.Kind != yaml.MappingNode:
	case does != 1 && len(r.list) == 0:
		r.fault(n, "a step is one of command, reboot, restart, options and packages; this one is %s", map[bool]string{true: "none of them", false: "more than one"}[does == 0])
	case s.Apply && len(s.Options) == 0 && len(r.list) == 0:
		r.fault(n, "apply is about options: set them while the server runs, or restart it")
	case s.Repeatable && (len(s.Command) == 0 || s.Reboot) && len(r.list) == 0:
		r.fault(n, "repeatable is about a command; restarts and options may be repeated in any case")
	case len(s.Packages) == 0 && (s.Upgrade != "" || s.WayBack != "") && len(r.list) == 0:
		r.fault(n, "upgrade and way_back are about packages, and this step has none")
	case len(s.Packages) > 0 && s.OnFailure == agenda.GoOn && len(r.list) == 0:
		r.fault(n, "a host on which packages failed cannot go on; way_back says what follows")
	}
	return s
}

// argv is a command: a list of its words. No shell takes it apart.
func (r *playbookReader) argv(v *yaml.Node, what func() string) []string {
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 {
		r.fault(v, "%s must be a list of words, the program first: [/usr/local/sbin/patch, --all]; no shell reads it", what())
		return nil
	}
	out := r.words(v, what())
	if strings.Contains(out[0], "/") && !filepath.IsAbs(out[0]) {
		r.fault(v.Content[0], "%q is a relative path: write it from / on, or a name that is found in PATH", out[0])
	}
	return out
}

// packages are versions by name, each one version and no pattern: what is reviewed is what is installed.
func (r *playbookReader) packages(v *yaml.Node) map[string]string {
	out := map[string]string{}
	r.named(v, "packages", func(name string, v *yaml.Node) {
		out[name] = r.text(v, func() string { return name + " of packages" })
		if wrong := pin.Fault(name, out[name]); wrong != "" && !r.bad[v] {
			r.fault(v, "%s", wrong)
		}
	})
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		r.fault(v, "packages is empty: there is nothing to install")
	}
	return out
}

func (r *playbookReader) options(v *yaml.Node) map[string]string {
	out := map[string]string{}
	r.named(v, "options", func(name string, v *yaml.Node) {
		switch clean := strings.ReplaceAll(name, "-", "_"); {
		case !optionWord(clean):
			r.fault(v, "%q is not the name of an option", name)
		case fixedOptions[clean] != "":
			r.fault(v, "%s cannot be rolled: %s", name, fixedOptions[clean])
		default:
			out[clean] = r.text(v, func() string { return name + " of options" })
		}
	})
	if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		r.fault(v, "options is empty: there is nothing to write")
	}
	return out
}

// fixedOptions are what an instance is known by, or where its data is: with another value it would not return as itself.
var fixedOptions = map[string]string{
	"datadir": "its data would stay behind", "port": "clients and its twin find it there", "server_id": "its twin knows it by that", "socket": "programs find it there",
	"gtid_domain_id": "stowage domains does that", "read_only": "fences set it", "super_read_only": "fences set it", "event_scheduler": "fences set it",
	"pid_file": "it is found by that", "log_error": "its log is read there",
}

func optionWord(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func (r *playbookReader) yes(v *yaml.Node, what func() string) bool {
	switch {
	case v.Kind == yaml.ScalarNode && isPlain(v) && v.Value == "true":
		return true
	case v.Kind == yaml.ScalarNode && isPlain(v) && v.Value == "false":
		return false
	}
	r.fault(v, "%s must be true or false, not %s", what(), shownNode(v))
	return false
}
