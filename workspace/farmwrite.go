package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// WriteFarm writes a fresh farm.yaml: one row for each host type, host, side
// and shard. It replaces what is there, comments included; EditFarm keeps
// them. A farm that would not read back as it is is refused (farm.ErrInput)
// and nothing is written. A file that is there keeps its owner, group and mode.
func WriteFarm(path string, f *farm.Farm) error {
	text := renderFarm(f, nil)
	if err := readsBackAs(filepath.Base(path), text, f); err != nil {
		return &farm.Error{Op: "write", Subject: path, Err: err}
	}
	if err := rewrite(path, text, nil); err != nil {
		return &farm.Error{Op: "write", Subject: path, Err: err}
	}
	return nil
}

// readsBackAs checks that text is a valid farm file that says what f says.
func readsBackAs(file string, text []byte, f *farm.Farm) error {
	back, _, err := parseFarm(file, text)
	if err != nil {
		return fmt.Errorf("it would not read back: %w", err)
	}
	if !sameFarm(back, f) {
		return fmt.Errorf("%w: it would read back as another farm", farm.ErrInput)
	}
	return nil
}

const farmHeader = `# The farm as agreed: reviewed by people, read by every command.
# Every quantity carries its unit: 48GB is 10^9 bytes each, 96GiB is 2^30 each,
# 10Gbit is bits a second, 40MB/day is growth; cores, iops, watts are plain.
`

// renderFarm prints the farm as farm.yaml. custom are the kinds of resources
// that are not known; those that are not in it are printed plain.
func renderFarm(f *farm.Farm, custom map[string]farm.Kind) []byte {
	return renderRemarked(f, custom, nil)
}

// renderRemarked is renderFarm with comments: remarks go by the place they
// stand above, as DraftFarm says.
func renderRemarked(f *farm.Farm, custom map[string]farm.Kind, remarks map[string][]string) []byte {
	w := &farmWriter{custom: custom, remarks: remarks}
	w.WriteString(farmHeader)
	w.remark("", "")
	w.remark("", "farm")
	w.line("farm: %s", scalar(f.Name))
	if f.NextServerID != 0 {
		w.line("next_server_id: %d  # only ever grows: a server_id is never given twice", f.NextServerID)
	}
	if f.Accounts != "" {
		w.line("accounts: %s", scalar(f.Accounts))
	}
	w.routing(f.Routing)
	w.agents(f.Agents)
	w.due(f.Due)
	w.backup(f.Backup)
	w.hostTypes(f.HostTypes)
	w.profiles(f.Profiles)
	w.hosts(f.Hosts)
	w.pairs(f.Pairs)
	w.remark("", "end")
	return w.Bytes()
}

type farmWriter struct {
	bytes.Buffer
	custom  map[string]farm.Kind
	remarks map[string][]string
}

// remark writes the comments for a place, if there are any.
func (w *farmWriter) remark(indent, place string) {
	for _, text := range w.remarks[place] {
		w.line("%s# %s", indent, text)
	}
}

func (w *farmWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *farmWriter) hostTypes(ts []farm.HostType) {
	if len(ts) == 0 {
		return
	}
	w.remark("", "host_types")
	w.line("host_types:")
	for _, t := range ts {
		w.remark("  ", "host_types."+string(t.Name))
		row := resourceRow(t.Capacity, "cores", w.custom)
		if t.Watts != 0 {
			row.add("watts", farm.FormatQuantity(t.Watts, farm.KindPlain))
		}
		if t.Price != 0 {
			row.add("price", farm.FormatQuantity(t.Price, farm.KindPlain))
		}
		if t.MaxInstances != 0 {
			row.add("max_instances", strconv.Itoa(t.MaxInstances))
		}
		if len(t.Options) > 0 {
			options := flow{}
			for _, o := range t.Options {
				options.add(scalar(o.Name), scalar(o.String()))
			}
			row.add("options", options.String())
		}
		w.line("  %s: %s", scalar(string(t.Name)), row)
	}
}

func (w *farmWriter) profiles(ps []farm.Profile) {
	if len(ps) == 0 {
		return
	}
	w.line("profiles:  # share of the peak in each hour of the day, UTC")
	for _, p := range ps {
		hours := make([]string, len(p.Hours))
		for h, v := range p.Hours {
			hours[h] = farm.FormatQuantity(v, farm.KindPlain)
		}
		w.line("  %s: [%s]", scalar(string(p.Name)), strings.Join(hours, ", "))
	}
}

func (w *farmWriter) hosts(hs []farm.Host) {
	if len(hs) == 0 {
		return
	}
	w.remark("", "hosts")
	w.line("hosts:")
	for _, h := range hs {
		row := flow{}
		row.add("name", scalar(string(h.Name)))
		row.add("type", scalar(string(h.Type)))
		row.add("address", scalar(h.Address))
		if h.Dir != "" {
			row.add("dir", scalar(h.Dir))
		}
		if len(h.Labels) > 0 {
			labels := flow{}
			for _, k := range sortedKeys(h.Labels) {
				labels.add(scalar(k), scalar(h.Labels[k]))
			}
			row.add("labels", labels.String())
		}
		if len(h.Reserved) > 0 {
			row.add("reserved", resourceRow(h.Reserved, "cpu", w.custom).String())
		}
		w.line("  - %s", row)
	}
}

func (w *farmWriter) pairs(ps []farm.Pair) {
	if len(ps) == 0 {
		return
	}
	w.remark("", "pairs")
	w.line("pairs:")
	for _, p := range ps {
		w.remark("  ", "pairs."+string(p.Name))
		w.pair(p)
	}
}

func (w *farmWriter) pair(p farm.Pair) {
	w.line("  - name: %s", scalar(string(p.Name)))
	w.line("    topology: %s", scalar(string(p.Topology)))
	w.line("    sides:")
	for _, n := range p.SideNames() {
		if s, ok := p.Sides[n]; ok {
			row := flow{}
			for _, e := range sideEntries(s) {
				row.add(e.key, e.value)
			}
			w.line("      %s: %s", n, row)
		}
	}
	if len(p.Shards) > 0 {
		w.line("    shards:")
	}
	for _, s := range p.Shards {
		w.shard(s)
	}
}

func (w *farmWriter) shard(s farm.Shard) {
	row := flow{}
	row.add("name", scalar(string(s.Name)))
	if s.Customer != "" {
		row.add("customer", scalar(string(s.Customer)))
	}
	if s.Growth != 0 {
		row.add("growth", farm.FormatQuantity(s.Growth, farm.KindBytesPerDay))
	}
	row = append(row, resourceRow(s.Needs, "cpu", w.custom)...)
	if s.Profile != "" {
		row.add("profile", scalar(string(s.Profile)))
	}
	w.line("      - %s", row)
}

// entry is a key of a flow mapping with its value as it is written.
type entry struct{ key, value string }

// flow is a mapping on one line.
type flow []entry

func (f *flow) add(key, value string) { *f = append(*f, entry{key, value}) }

func (f flow) String() string {
	var b strings.Builder
	for i, e := range f {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(e.key)
		b.WriteString(": ")
		b.WriteString(e.value)
	}
	return "{" + b.String() + "}"
}

// sideEntries are the keys of a side. An empty config is left out: the option
// file is then my.cnf beside the datadir. So is an empty suffix.
func sideEntries(s farm.Side) []entry {
	es := []entry{{"host", scalar(string(s.Host))}, {"port", strconv.Itoa(s.Port)}, {"datadir", scalar(s.Datadir)}}
	if s.Config != "" {
		es = append(es, entry{"config", scalar(s.Config)})
	}
	if s.GroupSuffix != "" {
		es = append(es, entry{"group_suffix", scalar(s.GroupSuffix)})
	}
	return es
}

// resourceRow is the resources with units, known ones first. cpuKey is what
// processors are called in this row.
func resourceRow(r farm.Resources, cpuKey string, custom map[string]farm.Kind) flow {
	row := flow{}
	known := []farm.ResourceName{farm.CPU, farm.Memory, farm.Disk, farm.IOPS, farm.Network}
	for _, n := range known {
		if v, ok := r[n]; ok {
			row.add(resourceKey(n, cpuKey), farm.FormatQuantity(v, n.Kind()))
		}
	}
	for _, n := range r.Names() {
		if n.Kind() != farm.KindOpen {
			continue
		}
		kind, ok := custom[string(n)]
		if !ok {
			kind = farm.KindPlain
		}
		row.add(scalar(string(n)), farm.FormatQuantity(r[n], kind))
	}
	return row
}

func resourceKey(n farm.ResourceName, cpuKey string) string {
	if n == farm.CPU {
		return cpuKey
	}
	return string(n)
}

// plainScalar is what needs no quotes anywhere in YAML, inside {} too.
var plainScalar = lazy.Regexp(`^[A-Za-z0-9_/][A-Za-z0-9_./@+-]*$`)

// yamlWords mean something else than themselves to some reader of YAML.
var yamlWords = map[string]bool{
	"null": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
}

// scalar prints text so that it reads back as the same text. JSON's string is
// also YAML's.
func scalar(text string) string {
	if plainScalar().MatchString(text) && !yamlWords[strings.ToLower(text)] {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return strconv.Quote(text) // a string always encodes; the read-back decides
	}
	return strings.TrimSuffix(b.String(), "\n")
}
