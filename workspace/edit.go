package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// EditFarm changes farm.yaml: change is called with an Edit, and what it asked
// for is written as one new file. Every byte that does not have to change
// stays: comments, order, alignment, line ends; so do owner, group, mode and
// access lists of the file, and a link to it. The file is locked against
// other edits meanwhile, and replaced only by one that reads back as the farm
// that was asked for. On any error, change's own included, nothing is written.
//
// People do not know of the lock. Where the file was saved meanwhile, change is
// called again, with what it holds now: it begins anew each time.
func (w *Workspace) EditFarm(change func(*Edit) error) error {
	if err := w.editFarm(change); err != nil {
		return &farm.Error{Op: "edit", Subject: farmFile, Err: err}
	}
	return nil
}

func (w *Workspace) editFarm(change func(*Edit) error) error {
	release, err := w.lockFarm()
	if err != nil {
		return err
	}
	defer release()
	for range mostTries {
		if err = w.tryEdit(change); !errors.Is(err, errChanged) {
			return err
		}
	}
	return &farm.Error{Op: "write", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "repeat the command when nobody else writes the file"}
}

// mostTries is more than a person saves while a file is written.
const mostTries = 5

var errChanged = errors.New("farm.yaml was changed meanwhile")

func (w *Workspace) tryEdit(change func(*Edit) error) error {
	path := w.Path(farmFile)
	src, err := read(path)
	if err != nil {
		return err
	}
	e, err := newEdit(src)
	if err != nil {
		return err
	}
	if err := errors.Join(change(e), e.err); err != nil {
		return err
	}
	out, err := e.apply()
	if err != nil || string(out) == string(src) {
		return err
	}
	if err := readsBackAs(farmFile, out, e.farm); err != nil {
		return err
	}
	err = rewrite(path, out, func() error {
		if now, err := read(path); err != nil || !bytes.Equal(now, src) {
			return errChanged // the next try says what is wrong with it
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.keep(out)
}

// Edit collects changes to farm.yaml. Its methods remember the first error;
// EditFarm returns it.
type Edit struct {
	src     []byte
	root    *yaml.Node
	farm    *farm.Farm // as it shall read afterwards
	custom  map[string]farm.Kind
	shards  map[farm.ShardName][2]int         // index of pair and shard
	changes map[*yaml.Node][]entry            // by mapping; an entry without value is taken away
	order   []*yaml.Node                      // keys of changes, in the order asked for
	rows    []func(*source) ([]splice, error) // rows that go elsewhere
	err     error
}

func newEdit(src []byte) (*Edit, error) {
	f, r, err := parseFarm(farmFile, src)
	if err != nil {
		return nil, err
	}
	return &Edit{src: src, root: r.root, farm: f, custom: r.custom, changes: map[*yaml.Node][]entry{}}, nil
}

// Farm is farm.yaml as it was read for this edit, with what was asked for so
// far. It is not to be changed.
func (e *Edit) Farm() *farm.Farm { return e.farm }

// SetSide says where a side lives from now on.
func (e *Edit) SetSide(pair farm.PairName, side farm.SideName, s farm.Side) {
	i := slices.IndexFunc(e.farm.Pairs, func(p farm.Pair) bool { return p.Name == pair })
	if i < 0 {
		e.fail("farm.yaml has no pair %q", pair)
		return
	}
	if _, has := e.farm.Pairs[i].Sides[side]; !has {
		e.fail("pair %s has no side %q", pair, side)
		return
	}
	e.farm.Pairs[i].Sides[side] = s
	n, _, _ := follow(e.root, fmt.Sprintf("pairs[%d].sides.%s", i, side))
	entries := sideEntries(s)
	if s.Config == "" {
		entries = append(entries, entry{"config", ""})
	}
	if s.GroupSuffix == "" {
		entries = append(entries, entry{"group_suffix", ""})
	}
	e.want(n, entries)
}

// SetNextServerID raises next_server_id. Lowering it is refused: ids above it
// may have been given away.
func (e *Edit) SetNextServerID(id uint32) {
	if id < e.farm.NextServerID {
		e.fail("next_server_id is %d and must not go down to %d: a server_id is never given twice", e.farm.NextServerID, id)
		return
	}
	e.farm.NextServerID = id
	e.want(e.root, []entry{{"next_server_id", strconv.FormatUint(uint64(id), 10)}})
}

// SetShardNeeds replaces what a shard needs; its growth stays.
func (e *Edit) SetShardNeeds(shard farm.ShardName, needs farm.Resources) {
	at, ok := e.shardIndex()[shard]
	if !ok {
		e.fail("farm.yaml has no shard %q", shard)
		return
	}
	s := &e.farm.Pairs[at[0]].Shards[at[1]]
	n, _, _ := follow(e.root, fmt.Sprintf("pairs[%d].shards[%d]", at[0], at[1]))
	entries := resourceRow(needs, "cpu", e.custom)
	for _, gone := range s.Needs.Names() {
		if _, still := needs[gone]; !still {
			entries.add(resourceKey(gone, "cpu"), "")
		}
	}
	s.Needs = maps.Clone(needs)
	e.want(n, entries)
}

// SetShardGrowth says by how many bytes a shard grows a day; 0 takes the key away.
func (e *Edit) SetShardGrowth(shard farm.ShardName, perDay float64) {
	at, ok := e.shardIndex()[shard]
	if !ok {
		e.fail("farm.yaml has no shard %q", shard)
		return
	}
	e.farm.Pairs[at[0]].Shards[at[1]].Growth = perDay
	n, _, _ := follow(e.root, fmt.Sprintf("pairs[%d].shards[%d]", at[0], at[1]))
	text := ""
	if perDay != 0 {
		text = farm.FormatQuantity(perDay, farm.KindBytesPerDay)
	}
	e.want(n, []entry{{"growth", text}})
}

func (e *Edit) shardIndex() map[farm.ShardName][2]int {
	if e.shards == nil {
		e.shards = map[farm.ShardName][2]int{}
		for i, p := range e.farm.Pairs {
			for j, s := range p.Shards {
				e.shards[s.Name] = [2]int{i, j}
			}
		}
	}
	return e.shards
}

func (e *Edit) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: "+format, append([]any{farm.ErrInput}, args...)...)
	}
}

// want asks for entries in a mapping; what was asked for last holds.
func (e *Edit) want(n *yaml.Node, entries []entry) {
	if _, ok := e.changes[n]; !ok {
		e.order = append(e.order, n)
	}
	for _, en := range entries {
		at := slices.IndexFunc(e.changes[n], func(old entry) bool { return old.key == en.key })
		if at >= 0 {
			e.changes[n][at] = en
		} else {
			e.changes[n] = append(e.changes[n], en)
		}
	}
}
