package sources

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stowage/internal/lazy"
	"stowage/inventory/claims"
)

// variable is one variable of an inventory.
type variable struct {
	text    string
	unknown bool // vaulted, or more than a word
	place   claims.Place
}

// ansible is an inventory while it is read.
type ansible struct {
	*reader
	hosts  map[string]map[string]variable
	places map[string]claims.Place
	groups map[string]*ansibleGroup
	lost   []lostVariable
}

type ansibleGroup struct {
	hosts, children []string
	vars            map[string]variable
	place           claims.Place
	declared        bool
}

// ansibleFiles reads inventories, INI or YAML, with the group_vars and
// host_vars beside them. Values are those that Ansible would use: variables of
// groups, the deeper group first, then those of the host; files beat what
// stands in the inventory.
func (r *reader) ansibleFiles() error {
	a := &ansible{reader: r, hosts: map[string]map[string]variable{}, places: map[string]claims.Place{}, groups: map[string]*ansibleGroup{}}
	files, err := r.files()
	if err != nil {
		return err
	}
	var all []string
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || !info.IsDir() {
			all = append(all, f)
			continue
		}
		for _, name := range directory(f) {
			if sub := filepath.Join(f, name); isInventory(sub) {
				all = append(all, sub)
			}
		}
	}
	dirs := []string{}
	for _, f := range all {
		src, err := r.text(f)
		if err != nil {
			if len(all) == 1 {
				return err
			}
			r.fault(claims.Place{Where: r.shown(f)}, "%s", err)
			continue
		}
		if dir := filepath.Dir(f); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		switch filepath.Ext(f) {
		case ".yml", ".yaml", ".json":
			a.yamlInventory(r.shown(f), src)
		default:
			a.ini(r.shown(f), string(src))
		}
	}
	a.claim(dirs)
	return nil
}

func isInventory(path string) bool {
	name := filepath.Base(path)
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") &&
		!slices.Contains([]string{".cfg", ".md", ".py", ".pyc", ".ini~", ".orig", ".bak", ".retry"}, filepath.Ext(name))
}

func (a *ansible) group(name string) *ansibleGroup {
	if a.groups[name] == nil {
		a.groups[name] = &ansibleGroup{vars: map[string]variable{}}
	}
	return a.groups[name]
}

func (a *ansible) addHost(group, name string, place claims.Place) {
	if a.hosts[name] == nil {
		a.hosts[name] = map[string]variable{}
		a.places[name] = place
	}
	g := a.group(group)
	if !slices.Contains(g.hosts, name) {
		g.hosts = append(g.hosts, name)
	}
}

var section = lazy.Regexp(`^\[([^:\]\s]+)(?::(hosts|vars|children))?\]\s*(?:#.*)?$`)

// ini reads the INI form. A line that Ansible refuses is a fault, and the next
// one is read all the same.
func (a *ansible) ini(file, src string) {
	if strings.HasPrefix(src, "#!") {
		a.fault(claims.Place{Where: file, Line: 1}, "this is a program; programs are not run here: give it to a source of kind exec")
		return
	}
	group, state := "ungrouped", "hosts"
	for i, line := range strings.Split(src, "\n") {
		place := claims.Place{Where: file, Line: i + 1}
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			m := section().FindStringSubmatch(line)
			if m == nil {
				a.fault(place, "%s is not a section: it is [group], [group:vars] or [group:children]", line)
				state = ""
				continue
			}
			group, state = m[1], cmp.Or(m[2], "hosts")
			g := a.group(group)
			g.declared = g.declared || state != "vars"
			g.place = place
		case state == "hosts":
			a.iniHost(group, line, place)
		case state == "vars":
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				a.fault(place, "a variable of a group is written key=value")
				continue
			}
			a.group(group).vars[strings.TrimSpace(key)] = variable{text: unquoted(strings.TrimSpace(value)), place: place}
		case state == "children":
			child, _, _ := strings.Cut(line, "#")
			child = strings.TrimSpace(child)
			a.group(child)
			a.group(group).children = append(a.group(group).children, child)
		}
	}
	for _, name := range sortedKeys(a.groups) {
		if g := a.groups[name]; !g.declared && len(g.vars) > 0 && name != "all" && name != "ungrouped" && len(g.hosts)+len(g.children) == 0 && g.place.Where == file {
			a.fault(g.place, "variables of group %s, which is not there: Ansible refuses the file", name)
		}
	}
}

func unquoted(v string) string {
	if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		return v[1 : n-1]
	}
	return v
}

func (a *ansible) iniHost(group, line string, place claims.Place) {
	words, ok := proxyWords(line) // shell words, with comments
	if !ok || len(words) == 0 {
		a.fault(place, "a quote is not closed")
		return
	}
	pattern, port := hostPort(words[0])
	names, err := ranges(pattern)
	if net.ParseIP(pattern) != nil {
		names, err = []string{pattern}, nil
	}
	if err != nil {
		a.fault(place, "%s", err)
		return
	}
	vars := map[string]variable{}
	isBad := false
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			isBad = true
			continue
		}
		vars[key] = variable{text: value, place: place}
	}
	if isBad { // the word is not repeated: it may be the second half of a password
		a.fault(place, "a word behind host %s is not a key=value", words[0])
	}
	if port != "" {
		vars["ansible_port"] = variable{text: port, place: place}
	}
	for _, name := range names {
		a.addHost(group, name, place)
		for k, v := range vars {
			if was, twice := a.hosts[name][k]; twice && was.text != v.text {
				a.lost = append(a.lost, lostVariable{name, k, was})
			}
			a.hosts[name][k] = v
		}
	}
}

// hostPort takes the SSH port off a pattern: db1:22, db[1:3]:22, [::1]:22.
func hostPort(pattern string) (name, port string) {
	if rest, ok := strings.CutPrefix(pattern, "["); ok {
		ip, after, _ := strings.Cut(rest, "]")
		if net.ParseIP(ip) != nil && (after == "" || after[0] == ':' && isNumber(after[1:])) {
			return ip, strings.TrimPrefix(after, ":")
		}
	}
	i := strings.LastIndexByte(pattern, ':')
	if i < 0 || !isNumber(pattern[i+1:]) || net.ParseIP(pattern) != nil || strings.Count(pattern[:i], "[") != strings.Count(pattern[:i], "]") {
		return pattern, ""
	}
	return pattern[:i], pattern[i+1:]
}

// lostVariable is what a host was given before a later line gave it something
// else. Ansible takes the last without a word; the inventory says both.
type lostVariable struct {
	host, name string
	value      variable
}

var rangePart = lazy.Regexp(`\[([0-9]*|[a-zA-Z]):([0-9]+|[a-zA-Z])(?::([0-9]+))?\]`)

// mostHosts of one pattern.
const mostHosts = 200_000

// ranges expands db[001:120] and db[a:c:2]; both ends are included, several
// ranges multiply.
func ranges(pattern string) ([]string, error) {
	at := rangePart().FindStringSubmatchIndex(pattern)
	if at == nil {
		if strings.ContainsAny(pattern, "[]") {
			return nil, fmt.Errorf("%s holds a range that cannot be read: it is [01:20] or [a:c]", pattern)
		}
		return []string{pattern}, nil
	}
	m := rangePart().FindStringSubmatch(pattern)
	unreadable := fmt.Errorf("%s holds a range that cannot be read: it is [01:20] or [a:c]", pattern)
	for _, digits := range m[1:] {
		if len(digits) > 9 { // no farm has that many, and sums stay small
			return nil, unreadable
		}
	}
	step := 1
	if m[3] != "" {
		step, _ = strconv.Atoi(m[3])
	}
	var values []string
	first, errFirst := strconv.Atoi(cmp.Or(m[1], "0"))
	last, errLast := strconv.Atoi(m[2])
	switch {
	case errFirst == nil && errLast == nil && step > 0 && last-first < mostHosts:
		if len(m[1]) > 1 && m[1][0] == '0' && len(m[1]) != len(m[2]) {
			return nil, fmt.Errorf("%s: both ends of a range with leading zeros are equally long", pattern)
		}
		for n := first; n <= last; n += step {
			values = append(values, fmt.Sprintf("%0*d", zeros(m[1]), n))
		}
	case errFirst != nil && errLast != nil && step > 0:
		for c := int(m[1][0]); c <= int(m[2][0]); c += step {
			values = append(values, string(rune(c)))
		}
	default:
		return nil, unreadable
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: the range is empty, its end is before its begin", pattern)
	}
	var out []string
	rest, err := ranges(pattern[at[1]:])
	if err != nil || len(rest)*len(values) > mostHosts {
		return nil, cmp.Or(err, fmt.Errorf("%s are more than %d hosts", pattern, mostHosts))
	}
	for _, v := range values {
		for _, tail := range rest {
			out = append(out, pattern[:at[0]]+v+tail)
		}
	}
	return out, nil
}

func zeros(text string) int {
	if strings.HasPrefix(text, "0") {
		return len(text)
	}
	return 0
}

// yamlInventory reads {group: {hosts: {name: vars}, vars: {}, children: {}}}.
func (a *ansible) yamlInventory(file string, src []byte) {
	root := a.yamlTree(file, src)
	if root == nil {
		return
	}
	for _, g := range root.items {
		a.yamlGroup(file, g, 0)
	}
}

func (a *ansible) yamlGroup(file string, n *node, depth int) {
	g := a.group(n.key)
	g.declared = true
	for _, part := range n.items {
		place := claims.Place{Where: file, Line: part.line}
		if part.isPlain && part.text != "" {
			a.fault(place, "%s of group %s must be keys and values, not a word: is a colon missing?", part.key, n.key)
			continue
		}
		switch part.key {
		case "hosts":
			for _, h := range part.items {
				a.yamlHost(file, n.key, h)
			}
		case "vars":
			for _, v := range part.items {
				g.vars[v.key] = yamlVariable(file, v)
			}
		case "children":
			for _, c := range part.items {
				g.children = append(g.children, c.key)
				if depth < mostDepth {
					a.yamlGroup(file, c, depth+1)
				}
			}
		default:
			a.fault(place, "unknown key %q in group %s; known are hosts, vars, children", part.key, n.key)
		}
	}
}

func (a *ansible) yamlHost(file, group string, h *node) {
	place := claims.Place{Where: file, Line: h.line}
	names, err := ranges(h.key)
	if err != nil {
		a.fault(place, "%s", err)
		return
	}
	for _, name := range names {
		a.addHost(group, name, place)
		for _, v := range h.items {
			a.hosts[name][v.key] = yamlVariable(file, v)
		}
	}
}

func yamlVariable(file string, v *node) variable {
	return variable{text: v.text, unknown: v.unknown || !v.isPlain, place: claims.Place{Where: file, Line: v.line}}
}

// claim makes claims of all hosts, or of those of some groups.
func (a *ansible) claim(dirs []string) {
	depth := a.depths()
	member := a.members()
	groupFiles, hostFiles := map[string]map[string]variable{}, map[string]map[string]variable{}
	for _, dir := range dirs {
		for _, name := range append(sortedKeys(a.groups), "all") {
			a.varFiles(filepath.Join(dir, "group_vars", name), name, groupFiles)
		}
		for _, name := range sortedKeys(a.hosts) {
			a.varFiles(filepath.Join(dir, "host_vars", name), name, hostFiles)
		}
	}
	attributes := a.spec.Attributes
	if len(attributes) == 0 {
		attributes = map[string]string{"address": "ansible_host"}
	}
	for _, host := range sortedKeys(a.hosts) {
		groups := member[host]
		if len(a.spec.Groups) > 0 && !slices.ContainsFunc(a.spec.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			continue
		}
		slices.SortFunc(groups, func(x, y string) int {
			return cmp.Or(cmp.Compare(depth[x], depth[y]), cmp.Compare(a.priority(x), a.priority(y)), cmp.Compare(x, y))
		})
		vars := map[string]variable{}
		take := func(from map[string]variable) {
			for k, v := range from {
				vars[k] = v
			}
		}
		for _, g := range append([]string{"all"}, groups...) {
			if a.groups[g] != nil {
				take(a.groups[g].vars)
			}
		}
		for _, g := range append([]string{"all"}, groups...) {
			take(groupFiles[g])
		}
		take(a.hosts[host])
		take(hostFiles[host])
		a.claimHost(host, vars, attributes)
	}
}

func (a *ansible) priority(group string) int {
	n, _ := strconv.Atoi(a.groups[group].vars["ansible_group_priority"].text)
	return n
}

func (a *ansible) claimHost(host string, vars map[string]variable, attributes map[string]string) {
	name := host
	if a.spec.Called != "" {
		v, ok := vars[a.spec.Called]
		if !ok {
			return // a host that is not a database, say
		}
		name = resolveTemplate(v.text, host, vars, 0)
	}
	s := claims.Subject{Kind: a.subject(claims.Host), Name: name}
	a.say(s, "", "", a.places[host])
	for _, l := range a.lost {
		for _, attribute := range sortedKeys(attributes) {
			if l.host == host && attributes[attribute] == l.name {
				a.value(s, attribute, resolveTemplate(l.value.text, host, vars, 0), l.value.place)
			}
		}
	}
	for _, attribute := range sortedKeys(attributes) {
		if attributes[attribute] == "inventory_hostname" {
			a.value(s, attribute, host, a.places[host])
			continue
		}
		v, ok := a.variable(vars, attributes[attribute])
		switch text := resolveTemplate(v.text, host, vars, 0); {
		case !ok:
		case v.unknown:
			a.hide(s, attribute, "vaulted", v.place)
		case text != "":
			a.value(s, attribute, text, v.place)
		}
	}
}

// variable is a variable by name; HOST:PORT are two of them as one address.
func (a *ansible) variable(vars map[string]variable, name string) (variable, bool) {
	v, ok := vars[name]
	host, port, two := splitName(name)
	if ok || !two {
		return v, ok
	}
	if v, ok = vars[host]; ok {
		p := vars[port]
		v.text, v.unknown = together(v.text, p.text), v.unknown || p.unknown
	}
	return v, ok
}

var simpleTemplate = lazy.Regexp(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// resolveTemplate puts variables in for {{ name }}. What is more than a name
// stays, and is unknown.
func resolveTemplate(text, host string, vars map[string]variable, depth int) string {
	if depth > 5 || !strings.Contains(text, "{{") {
		return text
	}
	return simpleTemplate().ReplaceAllStringFunc(text, func(t string) string {
		name := simpleTemplate().FindStringSubmatch(t)[1]
		if name == "inventory_hostname" {
			return host
		}
		if v, ok := vars[name]; ok && !v.unknown && !isSecret(name) {
			return resolveTemplate(v.text, host, vars, depth+1)
		}
		return t
	})
}

// depths is how far each group is from the top.
func (a *ansible) depths() map[string]int {
	out := map[string]int{}
	for range min(len(a.groups), mostDepth) {
		changed := false
		for name, g := range a.groups {
			for _, c := range g.children {
				if c != name && out[c] < out[name]+1 && out[name] < mostDepth {
					out[c], changed = out[name]+1, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return out
}

// members are the groups of each host, those of its groups' parents included.
func (a *ansible) members() map[string][]string {
	parents := map[string][]string{}
	for name, g := range a.groups {
		for _, c := range g.children {
			parents[c] = append(parents[c], name)
		}
	}
	out := map[string][]string{}
	for name, g := range a.groups {
		up := []string{name}
		for i := 0; i < len(up); i++ {
			for _, p := range parents[up[i]] {
				if !slices.Contains(up, p) {
					up = append(up, p)
				}
			}
		}
		for _, h := range g.hosts {
			for _, u := range up {
				if a.groups[u] != nil && u != "all" && !slices.Contains(out[h], u) {
					out[h] = append(out[h], u)
				}
			}
		}
	}
	return out
}

// varFiles reads the variables of one group or host: NAME, NAME.yml,
// NAME.yaml, NAME.json, the first that is there; or a directory, in the order
// of names.
func (a *ansible) varFiles(base, name string, into map[string]map[string]variable) {
	for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
		info, err := os.Stat(base + ext)
		if err != nil {
			continue
		}
		files := []string{base + ext}
		if info.IsDir() {
			files = nil
			for _, f := range directory(base + ext) {
				if e := filepath.Ext(f); !strings.HasPrefix(f, ".") && !strings.HasSuffix(f, "~") && slices.Contains([]string{"", ".yml", ".yaml", ".json"}, e) {
					files = append(files, filepath.Join(base+ext, f))
				}
			}
		}
		for _, f := range files {
			a.varFile(f, name, into)
		}
		return
	}
}

func (a *ansible) varFile(path, name string, into map[string]map[string]variable) {
	file := a.shown(path)
	src, err := a.text(path)
	if err != nil {
		a.fault(claims.Place{Where: file}, "%s", err)
		return
	}
	if strings.HasPrefix(string(src), "$ANSIBLE_VAULT;") {
		return // all secrets
	}
	root := a.yamlTree(file, src)
	if root == nil {
		return
	}
	if into[name] == nil {
		into[name] = map[string]variable{}
	}
	for _, v := range root.items {
		into[name][v.key] = yamlVariable(file, v)
	}
}
