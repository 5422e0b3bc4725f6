package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/reshape/spec"
)

// Specs of reshapes are reshape/NAME.yaml.

func (w *Workspace) reshapePath(name string) string {
	return w.Path(filepath.Join(reshapeDir, name+".yaml"))
}

// ReshapeNames are the specs in reshape/, sorted.
func (w *Workspace) ReshapeNames() (out []string) {
	paths, _ := filepath.Glob(w.Path(filepath.Join(reshapeDir, "*.yaml"))) // only a malformed pattern is an error
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(p), ".yaml"))
	}
	return out
}

// Reshape reads a spec by its name, which may be left out where there is one only, or by its path in the workspace.
func (w *Workspace) Reshape(name string) (spec.Spec, error) {
	names := w.ReshapeNames()
	hint := "there are: " + strings.Join(names, ", ")
	if len(names) == 0 {
		hint = "write reshape/NAME.yaml: docs/guide/reshape.md"
	}
	name = strings.TrimPrefix(strings.TrimSuffix(name, ".yaml"), reshapeDir+"/")
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if name == "" {
		return spec.Spec{}, &farm.Error{Op: "read spec", Subject: reshapeDir + "/", Err: fmt.Errorf("%w: it has %s: say which", farm.ErrInput, farm.Counted(len(names), "spec")), Hint: hint}
	}
	if !planName().MatchString(name) {
		return spec.Spec{}, &farm.Error{Op: "read spec", Subject: name, Err: fmt.Errorf("%w: there is no spec of that name", farm.ErrInput), Hint: hint}
	}
	path := w.reshapePath(name)
	data, err := w.readTrusted("read spec", name, path, hint)
	if err != nil {
		return spec.Spec{}, err
	}
	return parseSpec(name, w.shown(path), data)
}

// The keys of a spec, by level.
var (
	specKeys     = []string{"shards", "tenant", "parent", "child", "carry", "indexes", "keep", "max_lag", "snapshot"}
	tenantKeys   = []string{"table", "key", "migrated", "active", "routed_by"}
	parentKeys   = []string{"table", "tenant", "key"}
	childKeys    = []string{"table", "parent", "key", "counts", "latest"}
	carryKeys    = []string{"from", "type"}
	snapshotKeys = []string{"join", "columns"}
)

type specReader struct {
	reader
	spec spec.Spec
}

func parseSpec(name, file string, src []byte) (spec.Spec, error) {
	r := &specReader{reader: reader{faults: faults{file: file}}, spec: spec.Spec{Name: name, File: file, Keep: spec.Triggers, Lines: map[string]int{}}}
	r.spec.Tenant.Migrated, r.spec.Tenant.Active = "latest_entry_migrated", "latest_entry_active"
	root := r.parseYAML(src)
	if root == nil {
		return r.spec, r.err()
	}
	r.fields(root, func() string { return "the spec" }, specKeys, r.key)
	for _, need := range []string{"tenant", "parent", "child", "carry"} {
		if value(root, need) == nil && !r.meant[missing{root, need}] {
			r.add(root.Line, "%s is missing", need)
		}
	}
	r.lease(root)
	return r.spec, r.err()
}

func (r *specReader) key(key string, v *yaml.Node) bool {
	r.spec.Lines[key] = v.Line
	s := &r.spec
	switch key {
	case "shards":
		s.Shards = r.oneOrMore(v, key)
	case "tenant":
		r.section(v, key, tenantKeys, map[string]*string{"table": &s.Tenant.Table, "key": &s.Tenant.Key, "migrated": &s.Tenant.Migrated, "active": &s.Tenant.Active, "routed_by": &s.Tenant.RoutedBy}, nil, "table", "key")
	case "parent":
		r.section(v, key, parentKeys, map[string]*string{"table": &s.Parent.Table, "tenant": &s.Parent.Tenant}, map[string]*[]string{"key": &s.Parent.Key}, "table", "tenant")
	case "child":
		var latest, key []string
		r.section(v, "child", childKeys, map[string]*string{"table": &s.Child.Table, "counts": &s.Child.Counts}, map[string]*[]string{"parent": &s.Child.Parent, "key": &key, "latest": &latest}, "table", "parent", "latest")
		if len(key) > 1 {
			r.fault(value(v, "key"), "key of child is one column, not %d", len(key))
		}
		s.Child.Key = strings.Join(key, "")
		s.Child.Latest = r.order(v, latest)
	case "carry":
		r.named(v, key, r.carry)
	case "indexes":
		r.named(v, key, func(name string, v *yaml.Node) {
			r.spec.Lines["indexes."+name] = v.Line
			s.Indexes = append(s.Indexes, spec.Index{Name: name, Columns: r.oneOrMore(v, "index "+name)})
		})
	case "keep":
		s.Keep = spec.Keep(r.text(v, func() string { return key }))
		if !r.bad[v] && !slices.Contains(spec.Keeps, s.Keep) {
			r.fault(v, "keep is %q: it is %s, %s or %s", s.Keep, spec.Triggers, spec.Application, spec.Applier)
		}
	case "max_lag":
		s.MaxLag = r.lag(v)
	case "snapshot":
		r.fields(v, func() string { return key }, snapshotKeys, r.snapshot)
	default:
		return false
	}
	return true
}

// lease: an applier is behind the clients, and the spec says how far; nothing else is behind them.
func (r *specReader) lease(root *yaml.Node) {
	keep, lag := value(root, "keep"), value(root, "max_lag")
	switch {
	case r.spec.Keep == spec.Applier && lag == nil && !r.meant[missing{root, "max_lag"}]:
		r.add(keep.Line, "keep is applier and max_lag is missing: say how old carried columns may be, such as 5s; the application compares it (docs/guide/reshape.md)")
	case r.spec.Keep != spec.Applier && lag != nil && (keep == nil || !r.bad[keep]):
		r.fault(lag, "max_lag is only for keep: applier; with keep: %s columns are never behind", r.spec.Keep)
	}
}

func (r *specReader) lag(v *yaml.Node) time.Duration {
	text := r.text(v, func() string { return "max_lag" })
	d, err := time.ParseDuration(text)
	if !r.bad[v] && (err != nil || d < spec.ShortestLag || d > spec.LongestLag) {
		r.fault(v, "max_lag is %q: it is a time from %s to %s, such as 5s", text, spec.ShortestLag, "1h")
	}
	return d
}

// section reads the keys of a mapping: words, lists, and those that must be there.
func (r *specReader) section(n *yaml.Node, name string, known []string, words map[string]*string, lists map[string]*[]string, must ...string) {
	r.fields(n, func() string { return name }, known, func(key string, v *yaml.Node) bool {
		r.spec.Lines[name+"."+key] = v.Line
		what := key + " of " + name
		if into := words[key]; into != nil {
			if *into = r.text(v, func() string { return what }); *into == "" && !r.bad[v] {
				r.fault(v, "%s is empty", what)
			}
			return true
		}
		into := lists[key]
		if into == nil {
			return false
		}
		*into = r.oneOrMore(v, what)
		return true
	})
	for _, key := range must {
		if value(n, key) == nil && !r.bad[n] && !r.meant[missing{n, key}] {
			r.add(n.Line, "%s has no %s", name, key)
		}
	}
}

var orderWords = lazy.Regexp(`(?i)^\s*(\S+)(?:\s+(asc|desc))?\s*$`)

func (r *specReader) order(child *yaml.Node, words []string) (out []spec.Order) {
	for _, w := range words {
		m := orderWords().FindStringSubmatch(w)
		if m == nil {
			r.fault(value(child, "latest"), "%q: an order is a column, and DESC where the largest comes first", w)
			continue
		}
		out = append(out, spec.Order{Column: m[1], Desc: strings.EqualFold(m[2], "desc")})
	}
	return out
}

func (r *specReader) carry(column string, v *yaml.Node) {
	r.spec.Lines["carry."+column] = v.Line
	c := spec.Carry{Column: column}
	if v.Kind == yaml.MappingNode {
		r.fields(v, func() string { return "carry " + column }, carryKeys, func(key string, v *yaml.Node) bool {
			switch key {
			case "from":
				c.From = r.text(v, func() string { return "from of " + column })
			case "type":
				c.Type = r.text(v, func() string { return "type of " + column })
			default:
				return false
			}
			return true
		})
		if c.From == "" && !r.bad[v] {
			r.fault(v, "carry %s does not say from which column", column)
		}
	} else {
		c.From = r.text(v, func() string { return "carry " + column })
	}
	r.spec.Carry = append(r.spec.Carry, c)
}

func (r *specReader) snapshot(key string, v *yaml.Node) bool {
	r.spec.Lines["snapshot."+key] = v.Line
	switch key {
	case "join":
		r.named(v, "join of snapshot", func(table string, v *yaml.Node) {
			j := spec.Join{Table: table, On: map[string]string{}}
			r.named(v, "join "+table, func(its string, v *yaml.Node) {
				j.On[its] = r.text(v, func() string { return its + " of join " + table })
			})
			r.spec.Snapshot.Join = append(r.spec.Snapshot.Join, j)
		})
	case "columns":
		r.spec.Snapshot.Columns = r.words(v, "columns of snapshot")
	default:
		return false
	}
	return true
}
