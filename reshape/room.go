package reshape

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/sides"
)

// leastRoom is what every disk of a pair must have free while rows are filled in. A full one stops all clients of its server, and the images of the
// rows are in the binary logs and relay logs of the pair before they are anywhere else.
const leastRoom = 500e6

// roomEach is how often the disks are looked at, through agents too. roomWait is how long an agent has to answer: a call waits for one that is away. After
// a look that failed the next comes a minute later.
const (
	roomEach  = 5 * time.Second
	roomWait  = 3 * time.Second
	roomBlind = time.Minute
)

// errFull says that a disk of the pair has too little room for rows. It is tried again until it has.
var errFull = errors.New("nothing is filled in")

// errUnseen says that a disk cannot be looked at from here.
var errUnseen = errors.New("its disks are not on this machine, and the host has no agent")

// room is the least that is free where a server writes: its data, and its logs where they are elsewhere.
func (a *Act) room(ctx context.Context, server *mysql.Server, at farm.Side) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	is, err := server.Variables(ctx, "datadir", "log_bin_basename", "relay_log_basename")
	if err != nil {
		return 0, err
	}
	dirs := []string{filepath.Clean(is["datadir"])}
	for _, base := range []string{is["log_bin_basename"], is["relay_log_basename"]} {
		if dir := filepath.Dir(base); filepath.IsAbs(base) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	on, err := a.Host(at.Host)
	if err != nil {
		return 0, err
	}
	least := int64(-1)
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !a.Farm.Agents.On(at.Host) && errors.Is(err, fs.ErrNotExist) {
			return 0, errUnseen
		}
		free, err := on.FreeBytes(ctx, dir)
		if err != nil {
			return 0, err
		}
		if least < 0 || free < least {
			least = free
		}
	}
	return least, nil
}

// rooms are the disks of a pair, as they were when they were last looked at.
type rooms struct {
	act     *Act
	pair    *farm.Pair
	servers map[farm.SideName]*mysql.Server
	looked  time.Time
	short   error // which has too little room
}

func (a *Act) rooms(pair *farm.Pair, servers []*mysql.Server) *rooms {
	r := &rooms{act: a, pair: pair, servers: map[farm.SideName]*mysql.Server{}}
	for _, side := range pair.SideNames() {
		for _, s := range servers {
			if s.Name() == pair.Instance(side) {
				r.servers[side] = s
			}
		}
	}
	return r
}

// look is errFull while a disk has too little room. One that cannot be looked at stops nothing: preflight has said so.
func (r *rooms) look(ctx context.Context) error {
	if time.Since(r.looked) >= roomEach {
		r.looked, r.short = time.Now(), nil
		for side, s := range r.servers {
			free, err := r.act.room(ctx, s, r.pair.Sides[side])
			if err != nil {
				r.looked = time.Now().Add(roomBlind)
			} else if free < leastRoom {
				r.short = fmt.Errorf("%w: a disk of %s has %s free, needs %s", errFull, s.Name(), bytesText(free), bytesText(leastRoom))
			}
		}
	}
	return r.short
}

func bytesText(n int64) string { return farm.RoundQuantity(float64(n), farm.Disk.Kind()) }

// growth is by how much a shard's tables may grow on each server: what the carried columns take, and their indexes.
func growth(sizes map[string]mysql.TableSize, shape latest.Shape, t spec.Tables) int64 {
	parent, child := sizes[shape.Parent.Table], sizes[shape.Child.Table]
	if child.Rows == 0 {
		return 0
	}
	share := float64(len(shape.Carry)) / float64(max(1, len(t[shape.Child.Table].Columns)))
	return int64(float64(child.Bytes) / float64(child.Rows) * share * float64(parent.Rows) * float64(1+len(shape.Indexes)))
}

// askRoom: the disks have room for what is written.
func askRoom(ctx context.Context, w *work) (found []farm.Finding, err error) {
	var grows int64
	for _, shard := range w.shards() {
		shape, t, err := w.tables(ctx, w.servers[0], shard)
		if err != nil {
			return nil, err
		}
		sizes, err := w.servers[0].TableSizes(ctx, []string{string(shard)})
		if err != nil {
			return nil, err
		}
		grows += growth(sizes[string(shard)], shape, t)
	}
	for side, s := range w.act.rooms(w.pair, w.servers).servers {
		free, err := w.act.room(ctx, s, w.pair.Sides[side])
		f := sides.Blocker(string(s.Name()), "", "make room first")
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			f.Severity, f.Text, f.Remedy = farm.Warning, "how much room it has cannot be seen: "+err.Error(), "watch its disk: nothing here stops before it is full"
		case free < leastRoom:
			f.Text = fmt.Sprintf("one of its disks has %s free; a fill-in needs %s", bytesText(free), bytesText(leastRoom))
		case free < grows+leastRoom:
			f.Severity, f.Text = farm.Warning, fmt.Sprintf("one of its disks has %s free, and its tables may grow by %s until all tenants are filled in, and its binary logs by more", bytesText(free), bytesText(grows))
		default:
			continue
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b farm.Finding) int { return strings.Compare(a.Subject, b.Subject) })
	return found, nil
}

// growthOf is by how much the disks of each host grow a day, as farm.yaml declares for the shards there.
func growthOf(f *farm.Farm) map[farm.HostName]float64 {
	out := map[farm.HostName]float64{}
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			for _, at := range p.Sides {
				out[at.Host] += s.Growth
			}
		}
	}
	return out
}
