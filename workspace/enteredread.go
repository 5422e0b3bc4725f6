package workspace

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/bench/decide"
	"stowage/bench/result"
	"stowage/farm"
)

var (
	enteredFileKeys = []string{"kind", "title", "source", "tool", "results"}
	enteredOneKeys  = []string{"on", "filesystem", "mount_options", "notes", "steps"}
)

// ReadEntered reads one of the results that a file of published results holds. reference is FILE, or FILE#NAME where it holds several. What nobody
// published is 0 in it, and shown as nothing. Errors wrap farm.ErrInput.
func ReadEntered(reference string) (*result.Result, error) {
	path, name, _ := strings.Cut(reference, "#")
	all, err := ReadAllEntered(path)
	if err != nil {
		return nil, err
	}
	if name == "" && len(all) == 1 {
		return all[0].Result, nil
	}
	var names []string
	for _, n := range all {
		if n.Name == name {
			return n.Result, nil
		}
		names = append(names, n.Name)
	}
	text := "it holds several results: " + strings.Join(names, ", ")
	if name != "" {
		text = fmt.Sprintf("it holds no result %s; it holds %s", name, strings.Join(names, ", "))
	}
	return nil, &farm.Error{Op: "read", Subject: path, Err: inputError(text), Hint: "name one of them: " + path + "#" + names[0]}
}

// ReadAllEntered reads all results of such a file, in its order.
func ReadAllEntered(path string) ([]result.Named, error) {
	src, err := readNamed(path)
	if err != nil {
		return nil, err
	}
	r := enteredReader{reader: reader{faults: faults{file: path}}, results: map[string]*result.Result{}}
	if root := r.parseYAML(src); root != nil {
		r.document(root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	var out []result.Named
	for _, name := range r.names {
		out = append(out, result.Named{Name: name, Result: r.results[name]})
	}
	return out, nil
}

// IsEntered reports whether a reference is to a file of published results.
func IsEntered(reference string) bool {
	file, _, _ := strings.Cut(reference, "#")
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
}

type enteredReader struct {
	reader
	names        []string // in the order of the file
	results      map[string]*result.Result
	source, tool string
}

// document reads the file. What all results have in common comes first, wherever it stands.
func (r *enteredReader) document(root *yaml.Node) {
	var results *yaml.Node
	r.fields(root, func() string { return "published results" }, enteredFileKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key }
		switch key {
		case "kind":
			if r.text(v, what) != result.Entered {
				r.fault(v, "kind is %s here: what was typed in is not what bench run has measured", result.Entered)
			}
		case "title":
			_ = r.text(v, what) // for whoever reads the file
		case "source":
			r.source = r.text(v, what)
		case "tool":
			r.tool = r.text(v, what)
		case "results":
			results = v
		default:
			return false
		}
		return true
	})
	if value(root, "kind") == nil && !r.meant[missing{root, "kind"}] {
		r.add(root.Line, "kind is missing: write kind: %s", result.Entered)
	}
	if r.source == "" && !r.meant[missing{root, "source"}] {
		r.add(root.Line, "source is missing: where was it published?")
	}
	if results == nil {
		r.add(root.Line, "there are no results")
		return
	}
	r.named(results, "results", r.one)
	if len(r.names) == 0 && len(r.list) == 0 {
		r.fault(results, "there are no results")
	}
}

// one reads a result. It has one run of each step, of which only the means are known.
func (r *enteredReader) one(name string, n *yaml.Node) {
	out := &result.Result{FormatVersion: result.FormatVersion, Kind: result.Entered, Source: r.source, Profile: result.Entered, Complete: true, Valid: true}
	out.Environment.Fio = r.tool
	where := func() string { return "result " + name }
	var doubts []string
	r.fields(n, where, enteredOneKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "on":
			out.Environment.Directory = r.text(v, what)
		case "filesystem":
			out.Environment.Filesystem = r.text(v, what)
		case "mount_options":
			out.Environment.MountOptions = r.text(v, what)
		case "notes":
			out.Labels = r.oneOrMore(v, what())
		case "steps":
			r.named(v, what(), func(step string, v *yaml.Node) {
				s := r.step(step, v)
				out.Steps = append(out.Steps, s)
				for _, text := range s.Contradictions() {
					doubts = append(doubts, fmt.Sprintf("%s, line %d: %s: one of these figures is wrong", r.file, v.Line, text))
				}
			})
		default:
			return false
		}
		return true
	})
	out.Labels = append(out.Labels, doubts...)
	if len(out.Steps) == 0 && len(r.list) == 0 {
		r.fault(n, "%s has no steps", where())
	}
	r.names, r.results[name] = append(r.names, name), out
}

func (r *enteredReader) step(id string, n *yaml.Node) *result.Step {
	s := &result.Step{ID: id, Valid: true, Runs: 1}
	if v := value(n, "durable"); v != nil {
		s.Durable = v.Value == "true"
		if v.Value != "true" && v.Value != "false" {
			r.fault(v, "durable of step %s is true or false", id)
		}
	}
	rest := *n
	rest.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(rest.Content); i += 2 {
		if rest.Content[i].Value == "durable" {
			rest.Content = slices.Delete(rest.Content, i, i+2)
			break
		}
	}
	got := r.speeds(&rest, id, func(v float64) decide.Figure { return decide.Figure{Value: v} })
	s.IOPS, s.MBps = got["iops"].Value, got["mbps"].Value
	s.Lat = result.Latency{Mean: got["mean"].Value, P50: got["p50"].Value, P95: got["p95"].Value, P99: got["p99"].Value, P999: got["p999"].Value}
	if commits, ok := got["commits"]; ok {
		s.IOPS, s.Durable = commits.Value, true
	}
	s.Samples = []result.Sample{{Seq: 1, Round: 1, IOPS: s.IOPS, MBps: s.MBps, Lat: s.Lat}}
	return s
}
