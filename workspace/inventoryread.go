package workspace

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/safefile"
	"stowage/inventory/claims"
)

const inventoryFile = "inventory.yaml"

// The keys of inventory.yaml, by level.
var (
	inventoryKeys = []string{"sources", "authorities", "tolerances"}
	sourceKeys    = []string{"kind", "path", "url", "command", "timeout", "copy_of", "feeds", "covers", "subject", "each", "name", "attributes", "groups", "series"}
)

// SourceKinds are the kinds of sources, with the keys that each needs. What a
// kind needs not, it must not have.
var SourceKinds = map[string]struct{ Needs, May []string }{
	"live":       {nil, []string{"timeout"}},
	"options":    {[]string{"path"}, []string{"subject", "attributes"}},
	"ansible":    {[]string{"path"}, []string{"subject", "name", "attributes", "groups"}},
	"json":       {[]string{"path"}, []string{"subject", "each", "name", "attributes"}},
	"yaml":       {[]string{"path"}, []string{"subject", "each", "name", "attributes"}},
	"php":        {[]string{"path"}, []string{"subject", "each", "name", "attributes"}},
	"properties": {[]string{"path"}, []string{"subject", "each", "name", "attributes"}},
	"csv":        {[]string{"path", "name", "attributes"}, []string{"subject"}},
	"tsv":        {[]string{"path", "name", "attributes"}, []string{"subject"}},
	"haproxy":    {[]string{"path"}, []string{"subject"}},
	"prometheus": {[]string{"url"}, []string{"subject", "name", "attributes", "series", "timeout"}},
	"exec":       {[]string{"command"}, []string{"timeout"}},
	"backups":    {nil, nil},
}

// everySource are keys that each kind may have.
var everySource = []string{"kind", "copy_of", "feeds", "covers"}

// secretKey are attributes and variables that are never read.
var secretKey = lazy.Regexp(`(?i)pass|secret|token|(^|[._-])key$|credential`)

// Inventory reads inventory.yaml. Without the file the sources are the servers
// themselves; farm.yaml is always one. All faults come in one error, which
// wraps farm.ErrInput.
func (w *Workspace) Inventory() (claims.Declared, error) {
	path := w.Path(inventoryFile)
	src, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return claims.Declared{Specs: []claims.Spec{{Name: "live", Kind: "live"}}}, nil
	}
	if err != nil {
		return claims.Declared{}, &farm.Error{Op: "read", Subject: inventoryFile, Err: err}
	}
	d, err := parseInventory(inventoryFile, src)
	if err != nil {
		return d, err
	}
	return d, trustPrograms(w, d)
}

// trustPrograms: the file can name programs to run, so nobody else may write
// it, or them.
func trustPrograms(w *Workspace, d claims.Declared) error {
	for _, s := range d.Specs {
		if len(s.Command) == 0 {
			continue
		}
		if err := Trust(w.Dir); err != nil {
			return err
		}
		if err := trusted(new(safefile.Trust), w.Path(inventoryFile)); err != nil {
			return err
		}
		if strings.Contains(s.Command[0], "/") {
			if err := trusted(new(safefile.Trust), w.Path(s.Command[0])); err != nil {
				return err
			}
		}
	}
	return nil
}

type inventoryReader struct {
	reader
	d     claims.Declared
	lines map[string]*yaml.Node
}

func parseInventory(file string, src []byte) (claims.Declared, error) {
	r := &inventoryReader{reader: reader{faults: faults{file: file}}, lines: map[string]*yaml.Node{}}
	root := r.parseYAML(src)
	if root == nil {
		return r.d, r.err()
	}
	r.fields(root, func() string { return "the inventory" }, inventoryKeys, func(key string, v *yaml.Node) bool {
		switch key {
		case "sources":
			r.named(v, key, r.source)
		case "authorities":
			r.d.Authorities = map[string][]string{}
			r.named(v, key, func(name string, v *yaml.Node) { r.d.Authorities[name] = r.wordOrWords(v, "authority of "+name) })
		case "tolerances":
			r.d.Tolerances = map[string]float64{}
			r.named(v, key, func(name string, v *yaml.Node) {
				r.d.Tolerances[name] = r.ofPeak(v, func() string { return "tolerance of " + name })
			})
		default:
			return false
		}
		return true
	})
	if len(r.d.Specs) >= claims.MostSources {
		r.add(1, "%s, and %d are the most", farm.Counted(len(r.d.Specs), "source"), claims.MostSources-1)
	}
	known := []string{"farm"}
	for _, s := range r.d.Specs {
		known = append(known, s.Name)
	}
	for _, s := range r.d.Specs {
		if s.CopyOf != "" && (!slices.Contains(known, s.CopyOf) || s.CopyOf == s.Name) {
			r.add(s.Line, "source %s is a copy of %q, which is no other source; known are %s", s.Name, s.CopyOf, strings.Join(known, ", "))
		}
	}
	for _, s := range r.d.Specs {
		for _, to := range s.Feeds {
			if !slices.Contains(known, to) || to == s.Name {
				r.add(s.Line, "source %s feeds %q, which is no other source; known are %s", s.Name, to, strings.Join(known, ", "))
			}
		}
	}
	authorities := value(root, "authorities")
	for _, name := range slices.Sorted(maps.Keys(r.d.Authorities)) {
		for _, who := range r.d.Authorities[name] {
			if n := firstKey(authorities, name); n != nil && !slices.Contains(known, who) {
				r.add(n.Line, "authority of %s is %q, which is not a source; known are %s", name, who, strings.Join(known, ", "))
			}
		}
	}
	return r.d, r.err()
}

func (r *inventoryReader) wordOrWords(v *yaml.Node, what string) []string {
	if v.Kind == yaml.ScalarNode {
		return []string{r.text(v, func() string { return what })}
	}
	out := []string{}
	for _, n := range r.items(v, what) {
		out = append(out, r.text(n, func() string { return what }))
	}
	return out
}

func (r *inventoryReader) source(name string, n *yaml.Node) {
	s := claims.Spec{Name: name, Line: n.Line}
	where := func() string { return "source " + name }
	if name == "farm" {
		r.fault(n, "farm.yaml is a source by itself and is called farm: give this one another name")
	}
	kind := value(n, "kind")
	if kind == nil {
		r.add(n.Line, "source %s has no kind; known are %s", name, strings.Join(sortedKeys(SourceKinds), ", "))
		return
	}
	s.Kind = r.text(kind, func() string { return "kind of " + where() })
	rule, known := SourceKinds[s.Kind]
	if !known {
		r.fault(kind, "source %s has kind %q; known are %s", name, s.Kind, strings.Join(sortedKeys(SourceKinds), ", "))
		return
	}
	allowed := slices.Concat(everySource, rule.Needs, rule.May)
	r.fields(n, where, allowed, func(key string, v *yaml.Node) bool {
		if !slices.Contains(allowed, key) {
			if slices.Contains(sourceKeys, key) {
				r.faultAt(v.Line, v, "source %s: kind %s has no %s; it may have %s", name, s.Kind, key, strings.Join(allowed, ", "))
				return true
			}
			return false
		}
		r.sourceKey(&s, key, v)
		return true
	})
	for _, key := range rule.Needs {
		if value(n, key) == nil {
			r.add(n.Line, "source %s: kind %s needs %s", name, s.Kind, key)
		}
	}
	r.d.Specs = append(r.d.Specs, s)
}

func (r *inventoryReader) sourceKey(s *claims.Spec, key string, v *yaml.Node) {
	what := func() string { return key + " of source " + s.Name }
	switch key {
	case "path":
		s.Path = r.text(v, what)
	case "url":
		s.URL = strings.TrimRight(r.text(v, what), "/")
		if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
			r.fault(v, "%s is an address such as http://prometheus:9090, not %s", what(), s.URL)
		}
	case "command":
		s.Command = r.wordOrWords(v, what())
		if len(s.Command) == 0 || s.Command[0] == "" {
			r.fault(v, "%s is a program and its arguments, as a list", what())
		}
	case "timeout":
		d, err := time.ParseDuration(r.text(v, what))
		if err != nil || d <= 0 || d > 10*time.Minute {
			r.fault(v, "%s is a time up to 10m, such as 3s", what())
		}
		s.Timeout = d
	case "copy_of":
		s.CopyOf = r.text(v, what)
	case "feeds":
		s.Feeds = r.wordOrWords(v, what())
	case "covers":
		s.Covers = []claims.Kind{}
		for _, n := range r.items(v, what()) {
			s.Covers = append(s.Covers, r.subjectKind(n, what))
		}
	case "subject":
		s.Subject = r.subjectKind(v, what)
	case "each":
		s.Each = r.text(v, what)
	case "name":
		s.Called = r.text(v, what)
	case "groups":
		s.Groups = r.wordOrWords(v, what())
	case "series":
		s.Series = map[string]string{}
		r.named(v, what(), func(name string, v *yaml.Node) {
			s.Series[name] = r.text(v, func() string { return name + " of " + what() })
		})
	case "attributes":
		s.Attributes = map[string]string{}
		r.named(v, what(), func(name string, v *yaml.Node) {
			from := r.text(v, func() string { return name + " of " + what() })
			if secretKey().MatchString(name) || secretKey().MatchString(from) {
				r.fault(v, "%s: %s: %s may be a secret, which is never read", what(), name, from)
			}
			s.Attributes[name] = from
		})
	}
}

func (r *inventoryReader) subjectKind(v *yaml.Node, what func() string) claims.Kind {
	k := claims.Kind(strings.TrimSuffix(r.text(v, what), "s"))
	if !slices.Contains(claims.Kinds, k) {
		r.fault(v, "%s is host, instance, pair or shard, not %s", what(), v.Value)
	}
	return k
}
