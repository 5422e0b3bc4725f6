package notices

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// binary is one of ours: where its module is below the root, and what is built there.
type binary struct{ name, dir, pkg string }

var binaries = []binary{{"stowage", ".", "./cmd/stowage"}, {"stowage-engine", "engined", "."}}

// module is one that is linked, in one version.
type module struct {
	path, version string
	in            []string // binaries
	licences      []string
	texts         []text
	remark        string
}

// text is a file that is handed on: a licence, or a notice.
type text struct {
	name    string // below its module
	content string
	notice  bool
}

// bare are modules without any licence text. Each needs a look by a person; the
// version stands there so that the next one is looked at again.
var bare = map[string]struct {
	licence string
	like    string // a module of the same authors and repository whose text says it
	remark  string
}{
	"github.com/cactus/go-statsd-client/statsd v0.0.0-20200423205355-cb0885a1018c": {"MIT", "github.com/cactus/go-statsd-client/v5",
		"its files name an MIT-style licence in LICENSE; the text is that of the same repository, version 5"},
	"github.com/nexus-rpc/nexus-proto-annotations v0.1.0": {"none stated", "",
		"the module carries no licence and names none; it comes with go.temporal.io/api, and is one generated description of two protobuf options"},
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|unlicense|patents|notice)([-._].*)?$`)

// besideLicence are texts that are handed on and are no licence of code.
var besideLicence = regexp.MustCompile(`(?i)^(.*/)?(patents|copyright|license-logo)`)

// linked asks go list which modules are in the binaries, on the machines they
// are built for, and reads what has to be handed on with them.
func linked(root string) ([]module, error) {
	found := map[string]*module{}
	for _, b := range binaries {
		for _, arch := range []string{"amd64", "arm64"} {
			if err := b.ask(root, arch, found); err != nil {
				return nil, err
			}
		}
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b *module) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.version, b.version))
	})
	out := make([]module, 0, len(all))
	for _, m := range all {
		out = append(out, m.judged(found))
	}
	return out, nil
}

func (b binary) ask(root, arch string, found map[string]*module) error {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}", b.pkg)
	cmd.Dir = filepath.Join(root, b.dir)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w\n%s", cmd.Dir, err, &complaint)
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[1] == "" {
			continue // the standard library, and our own modules
		}
		key := f[0] + " " + f[1]
		if found[key] == nil {
			found[key] = &module{path: f[0], version: f[1]}
		}
		if err := found[key].read(f[2], f[3]); err != nil {
			return err
		}
		if !slices.Contains(found[key].in, b.name) {
			found[key].in = append(found[key].in, b.name)
		}
	}
	return nil
}

// read takes in the texts beside a package, and above it up to its module: a
// part that was taken from elsewhere has a licence of its own beside it.
func (m *module) read(top, dir string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || strings.HasSuffix(e.Name(), ".go") || !licenceFile.MatchString(e.Name()) {
				continue
			}
			name, err := filepath.Rel(top, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(m.texts, func(t text) bool { return t.name == name }) {
				continue
			}
			raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			m.texts = append(m.texts, text{name, string(raw), strings.HasPrefix(strings.ToLower(e.Name()), "notice")})
		}
		if dir == top || len(dir) <= len(top) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// judged says which licences a module is under.
func (m *module) judged(found map[string]*module) module {
	out := *m
	slices.SortFunc(out.texts, func(a, b text) int { return cmp.Compare(a.name, b.name) })
	for _, t := range out.texts {
		kinds := licencesIn(t.content)
		aside := t.notice || besideLicence.MatchString(t.name)
		if len(kinds) == 0 && !aside {
			kinds = []string{"unknown: " + t.name}
		}
		if !aside {
			out.licences = append(out.licences, kinds...)
		}
	}
	if x, ok := bare[m.path+" "+m.version]; ok && len(out.licences) == 0 {
		out.licences, out.remark = []string{x.licence}, x.remark
		for _, o := range found {
			if o.path == x.like {
				out.texts = o.texts
			}
		}
	}
	if len(out.licences) == 0 {
		out.licences = []string{"unknown: no licence text"}
	}
	slices.Sort(out.licences)
	out.licences = slices.Compact(out.licences)
	return out
}

// faults are the modules that may not be linked without a decision.
func faults(all []module) []string {
	var out []string
	for _, m := range all {
		for _, l := range m.licences {
			if _, known := bare[m.path+" "+m.version]; !slices.Contains(mayBeLinked, l) && !known {
				out = append(out, fmt.Sprintf("%s %s, in %s: licence %s", m.path, m.version, strings.Join(m.in, " and "), l))
			}
		}
	}
	return out
}
