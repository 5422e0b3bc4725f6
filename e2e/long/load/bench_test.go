package load

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// settings make a demo server count, and keep its data far larger than its buffer pool: alone and together, nearly every
// page is read from the disk.
const settings = `
performance_schema = ON
slow_query_log = OFF
innodb_log_file_size = 64M
`

// bench is a demo farm of one server on a disk of its own: a loop device, whose counters nobody else moves. The server is
// alone in a group of cpuacct, whose counter knows nothing of /proc.
type bench struct {
	t                    *testing.T
	farm                 *farmtest.LiveFarm
	shards               []farm.ShardName
	instance             farm.InstanceName
	address, disk, group string
	client, admin        mysql.Account
}

const control = "/sys/fs/cgroup/cpuacct"

func newBench(t *testing.T) *bench {
	t.Helper()
	skip := func(why string) { t.Skipf("NOT TESTED: whether load is measured per shard: that needs %s", why) }
	if os.Geteuid() != 0 {
		skip("root")
	}
	if _, err := os.Stat(control + "/cpuacct.usage"); err != nil {
		skip("the cpuacct controller of cgroup v1")
	}
	for _, program := range []string{"losetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(program)
		}
	}
	b := &bench{t: t, disk: mountDisk(t)}
	b.farm = farmtest.EmptyFarm(t, "r630-ssd", 0)
	t.Cleanup(b.farm.Down)
	o := demo.Options{Dir: b.farm.Dir, Topology: farm.Single, Pairs: 1, Shards: len(jobs), Hosts: 1, Rows: 10, Tell: func(string) {}}
	if err := demo.Up(t.Context(), o, farmtest.QuietLog()); err != nil {
		t.Fatal(err)
	}
	ws, fm, client, err := farmtest.FarmAccess(b.farm.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.admin, err = mysql.ReadAccount(ws.Path(fm.Accounts), "stowage"); err != nil {
		t.Fatal(err)
	}
	p := fm.Pairs[0]
	for _, s := range p.Shards {
		b.shards = append(b.shards, s.Name)
	}
	side := p.Sides[farm.A]
	h, _ := fm.Host(side.Host)
	b.instance, b.address, b.client = p.Instance(farm.A), fm.Address(side), client
	config := filepath.Join(filepath.Dir(b.farm.Path(side.Datadir)), "my.cnf")
	b.restart(host.Instance{Name: b.instance, Address: h.Address, Port: side.Port, Datadir: b.farm.Path(side.Datadir), Config: config})
	return b
}

// mountDisk is a file system on a loop device, in which farms are made; it returns the device's name.
func mountDisk(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "stowage-load-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	image, dir := filepath.Join(base, "image"), filepath.Join(base, "mnt")
	must := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Skipf("NOT TESTED: whether load is measured per shard: %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must("truncate", "-s", "3G", image)
	must("mkfs.ext4", "-q", "-F", image)
	device := must("losetup", "--find", "--show", image)
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	must("mount", device, dir)
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	t.Setenv("FARMS", dir)
	return filepath.Base(device)
}

// restart starts the server with settings, in its group.
func (b *bench) restart(i host.Instance) {
	b.t.Helper()
	ctx := b.t.Context()
	local, err := host.NewLocal(farmtest.QuietLog())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := local.Stop(ctx, i, time.Minute); err != nil {
		b.t.Fatal(err)
	}
	old, err := os.ReadFile(i.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := local.WriteFile(ctx, i.Config, append(old, settings...)); err != nil {
		b.t.Fatal(err)
	}
	if err := local.Start(ctx, i, time.Minute); err != nil {
		b.t.Fatal(err)
	}
	pid, err := local.Running(ctx, i)
	if err != nil || pid == 0 {
		b.t.Fatalf("the server does not run: %v", err)
	}
	b.group = filepath.Join(control, fmt.Sprintf("stowage-load-%d", os.Getpid()))
	if err := os.Mkdir(b.group, 0o755); err != nil {
		b.t.Skipf("NOT TESTED: whether load is measured per shard: %v", err)
	}
	b.t.Cleanup(func() { // once the server has gone
		b.farm.Down()
		for range 50 {
			if os.Remove(b.group) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if err := os.WriteFile(filepath.Join(b.group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		b.t.Skipf("NOT TESTED: whether load is measured per shard: %v", err)
	}
}

// counters are those of the group and the disk.
type counters struct{ cpu, ops float64 }

func (b *bench) counters() counters {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.group, "cpuacct.usage"))
	if err != nil {
		b.t.Error(err)
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
	if err != nil {
		b.t.Error(err)
	}
	stat, err := os.ReadFile("/sys/block/" + b.disk + "/stat")
	f := strings.Fields(string(stat))
	if err != nil || len(f) < 5 {
		b.t.Errorf("counters of %s: %q, %v", b.disk, stat, err)
		return counters{}
	}
	reads, _ := strconv.ParseFloat(f[0], 64)
	writes, _ := strconv.ParseFloat(f[4], 64)
	return counters{ns / 1e9, reads + writes}
}

func (c counters) since(d counters) counters { return counters{c.cpu - d.cpu, c.ops - d.ops} }

// program runs the program on the farm.
func (b *bench) program(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, farmtest.LiveProgram(b.t), append(args, "-C", b.farm.Dir)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, said.String())
	}
	return string(out), err
}
