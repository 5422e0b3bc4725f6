package probe

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stowage/internal/treetest"
	"stowage/internal/turns"
	"stowage/tune"
)

// TestLinksStayInside: /etc/mysql/my.cnf is a link to an absolute path on
// Debian. In a recording it must not lead to this machine's own file.
func TestLinksStayInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("[mysqld]\ndatadir=/outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := treetest.Make(t, map[string]string{
		"etc/mysql/my.cnf":        "-> /etc/alternatives/my.cnf",
		"etc/alternatives/my.cnf": "-> ../mysql/mariadb.cnf",
		"etc/mysql/mariadb.cnf":   "[mysqld]\ndatadir=/inside\n",
		"etc/my.cnf":              "-> " + outside,
		"proc/mounts":             "-> ../../../../../../../../../etc/hostname",
		"proc/swaps":              "-> swaps",
	})
	facts := Read(t.Context(), Recorded(dir), nil, nil)
	if len(facts.Instances) != 1 || facts.Instances[0].Datadir != "/inside" {
		t.Errorf("instances %+v, want one with the recording's own data directory", facts.Instances)
	}
	if len(facts.Mounts)+len(facts.Swaps) > 0 {
		t.Errorf("mounts %v, swaps %v: read from outside", facts.Mounts, facts.Swaps)
	}
}

// TestRecordAndReadAgain: what was recorded says the same as what it was
// recorded from, without any tool, and holds no password.
func TestRecordAndReadAgain(t *testing.T) {
	files := map[string]string{
		"proc/sys/kernel/hostname": "db017\n", "proc/sys/kernel/osrelease": "6.1.0\n", "proc/meminfo": "MemTotal: 1024 kB\n",
		"proc/mounts": "/dev/sda1 /var/lib/mysql xfs rw,noatime 0 0\n", "etc/fstab": "/dev/sda1 /var/lib/mysql xfs nobarrier 0 0\n",
		"sys/block/sda": "-> ../devices/sda", "sys/devices/sda/size": "1000\n", "sys/devices/sda/removable": "0\n", "sys/devices/sda/queue/rotational": "1\n",
		"sys/devices/sda/device/driver": "-> ../../../bus/sd", "sys/devices/sda/sda1/start": "2048\n", "dev/disk/by-id/wwn-0x1": "-> ../../sda",
		"etc/mysql/my.cnf":   "[client]\npassword = geheim\n[mysqld]\ninnodb_doublewrite = 0\nlog_error = /var/log/e.log\n",
		"var/log/e.log":      strings.Repeat("x\n", 100) + "[Note] InnoDB: Using io_uring\n",
		"proc/7/comm":        "mariadbd\n",
		"proc/7/cmdline":     "/usr/sbin/mariadbd\x00--port=3307\x00",
		"proc/7/status":      "VmRSS:\t10 kB\nTHP_enabled:\t0\n",
		"proc/7/maps":        "00 /usr/lib/libjemalloc.so.2\n",
		"proc/8/comm":        "bash\n",
		"etc/rc.local":       "echo noop > /sys/block/sda/queue/scheduler\n",
		"sys/block/md0/size": "1\n",
		"sys/block/md0/md/x": "",
		"etc/systemd/system/timers.target.wants/fstrim.timer": "-> /lib/systemd/system/fstrim.timer",
	}
	ask := func(_ context.Context, argv ...string) (string, error) {
		switch argv[0] {
		case "smartctl":
			return `{"rotation_rate":0,"smart_status":{"passed":true}}`, errors.New("exit status 64")
		case "mariadbd":
			return "mariadbd  Ver 10.11.14-MariaDB", nil
		}
		return "", fs.ErrNotExist
	}
	from := &Tree{dir: treetest.Make(t, files)}
	from.Record()
	server := Server{Name: "a", Variables: map[string]string{"datadir": "/var/lib/mysql/", "version": "10.11.14-MariaDB"}, Status: map[string]string{"x": "1"}}
	first := Read(t.Context(), from, ask, []Server{server})
	from.Keep(server)
	dir := t.TempDir()
	if n, err := from.Save(dir); err != nil || n < 10 {
		t.Fatalf("%d files saved: %v", n, err)
	}
	again := Read(t.Context(), Recorded(dir), nil, nil)
	a, b := tune.Audit(first, tune.Rules()), tune.Audit(again, tune.Rules())
	if len(a.Findings) < 4 {
		t.Errorf("only %d findings: %+v", len(a.Findings), a.Findings)
	}
	if !slices.EqualFunc(a.Findings, b.Findings, func(x, y tune.Finding) bool { return x.ID == y.ID && x.Subject == y.Subject && x.Read == y.Read }) {
		t.Errorf("recorded\n%+v\nread again\n%+v", a.Findings, b.Findings)
	}
	if !slices.Equal(a.NotApplicable, b.NotApplicable) {
		t.Errorf("recorded: not applicable\n%v\nread again\n%v", a.NotApplicable, b.NotApplicable)
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, err := os.ReadFile(path)
			if strings.Contains(string(raw), "geheim") {
				t.Errorf("%s holds a password", path)
			}
			return err
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestMissingToolsAreNoted, once each, and nothing else is wrong for it.
func TestMissingToolsAreNoted(t *testing.T) {
	dir := treetest.Make(t, map[string]string{"sys/block/sda/size": "1000", "sys/block/sdb/size": "1000", "sys/block/sda/device/vendor": "LSI"})
	facts := Read(t.Context(), &Tree{dir: dir}, func(context.Context, ...string) (string, error) { return "", fs.ErrNotExist }, nil)
	for _, tool := range []string{"smartctl", "hdparm", "storcli2", "MegaCli64", "lsblk"} {
		n := 0
		for _, u := range facts.Unread {
			if strings.HasPrefix(u.What, tool) && u.Why == "not installed" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is noted %d times, want once: %v", tool, n, facts.Unread)
		}
	}
	if len(facts.Disks) != 2 {
		t.Errorf("%d disks, want 2", len(facts.Disks))
	}
}

// TestMakersToolIsAsked: ssacli and arcconf only where a disk hangs on a driver of theirs, each controller of arcconf by its number.
func TestMakersToolIsAsked(t *testing.T) {
	for driver, want := range map[string]string{"hpsa": "ssacli", "smartpqi": "ssacli arcconf 1 arcconf 2", "aacraid": "arcconf 1 arcconf 2", "ahci": ""} {
		dir := treetest.Make(t, map[string]string{"sys/block/sda/size": "1000", "sys/block/sda/device/model": "VOLUME", "sys/block/sda/device/scsi_device/2:1:0:0": "", "sys/class/scsi_host/host2/proc_name": driver})
		var asked []string
		Read(t.Context(), &Tree{dir: dir}, func(_ context.Context, argv ...string) (string, error) {
			switch {
			case argv[0] == "ssacli" && argv[len(argv)-1] == "detail":
				asked = append(asked, "ssacli")
			case argv[0] == "arcconf":
				asked = append(asked, "arcconf", argv[2])
				return "Controllers found: 2\n", nil
			}
			return "", fs.ErrNotExist
		}, nil)
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("behind %s: asked %q, want %q", driver, got, want)
		}
	}
}

// TestKindsOfDisks: what is a disk, and what only looks like one.
func TestKindsOfDisks(t *testing.T) {
	for name, want := range map[string]tune.Kind{"sda": tune.Real, "nvme0n1": tune.Real, "vda": tune.Real, "loop3": tune.Loop, "zram0": tune.Memory, "sr0": tune.Medium, "dm-0": tune.Stacked, "md127": tune.Stacked} {
		if got := kind(tune.Disk{Name: name, Size: 1 << 30}); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := kind(tune.Disk{Name: "sda", Removable: true, Vendor: "Dell", Model: "Virtual Floppy"}); got != tune.Virtual {
		t.Errorf("a console's floppy is %q", got)
	}
}

// TestOptionsOfAProcess: a server reads the files that its command line says, what these include, and the groups that are its own.
func TestOptionsOfAProcess(t *testing.T) {
	dir := treetest.Make(t, map[string]string{
		"etc/my.cnf":              "[mysqld]\na = default\n",
		"etc/mysql/my.cnf":        "!includedir /etc/mysql/conf.d/\n!include /etc/mysql/my.cnf\n!include /etc/mysql/more.cnf\n",
		"etc/mysql/conf.d/x.cnf":  "[mysqld]\nb = included\n[mysqld7]\nb = seven\n",
		"etc/mysql/conf.d/x.save": "[mysqld]\nb = never\n",
		"etc/mysql/more.cnf":      "!include /etc/mysql/my.cnf\n[mariadb]\nc = more\n",
		"srv/own.cnf":             "[mysqld]\na = own\n",
	})
	p := &prober{Tree: Recorded(dir)}
	for line, want := range map[string]string{
		"mariadbd":                     "a=default b=included c=more",
		"mariadbd --no-defaults --d=1": "d=1",
		"mariadbd --defaults-file=/srv/own.cnf --skip-innodb-doublewrite": "a=own innodb_doublewrite=OFF",
		"mariadbd --defaults-extra-file=/srv/own.cnf":                     "a=default b=included c=more a=own",
		"mysqld --defaults-group-suffix=7 stray":                          "a=default b=included b=seven c=more",
	} {
		var got []string
		for _, o := range p.optionsOf(strings.Fields(line)) {
			got = append(got, o.Key+"="+o.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", line, strings.Join(got, " "), want)
		}
	}
}

// TestGroupsOfOtherServers: what [mysqld-5.7] holds is not what a server of 8.0 starts with.
func TestGroupsOfOtherServers(t *testing.T) {
	dir := treetest.Make(t, map[string]string{"etc/my.cnf": "[mysqld]\na=1\n[mysqld-5.7]\nb=1\n[mysqld-8.0]\nc=1\n[mariadb]\nd=1\n[mariadb-10.11]\ne=1\n[mysqld@s1]\nf=1\n[mariadbd.s1]\ng=1\n"})
	p := &prober{Tree: Recorded(dir)}
	for version, want := range map[string]string{"8.0.41": "acfz", "10.11.14-MariaDB": "adefgz", "": "abcdefgz"} {
		i := tune.Instance{Options: p.optionsOf([]string{"mysqld", "--defaults-group-suffix=@s1", "--z=1"})}
		setVersion(&i, version)
		got := ""
		for _, o := range readBy(i) {
			got += o.Key
		}
		if got != want {
			t.Errorf("%q reads %s, want %s", version, got, want)
		}
	}
}

// TestIncludedWithoutEnd: files that include each other a hundred times are read to an end.
func TestIncludedWithoutEnd(t *testing.T) {
	turns.One(t, 8)
	files := map[string]string{}
	for n := range 12 {
		files["etc/"+string(rune('a'+n))+".cnf"] = strings.Repeat("!includedir /etc/\n", 100) + "[mysqld]\nx = 1\n"
	}
	p := &prober{Tree: Recorded(treetest.Make(t, files))}
	if got := p.optionFiles([]string{"/etc/a.cnf"}); len(got) == 0 || len(got) > 1000 {
		t.Errorf("%d lines", len(got))
	}
}

// TestStatxOfAFile: whatever this kernel and filesystem answer about writes that are never torn, it is understood, and kept in a recording.
func TestStatxOfAFile(t *testing.T) {
	dir := treetest.Make(t, map[string]string{"srv/ibdata1": "x", "etc/my.cnf": "[mysqld]\ndatadir = /srv\n"})
	from := &Tree{dir: dir}
	from.Record()
	nobody := func(context.Context, ...string) (string, error) { return "", fs.ErrNotExist }
	first := Read(t.Context(), from, nobody, nil)
	if len(first.Instances) != 1 || from.saved["/commands/statx-srv.txt"] == "" {
		t.Fatalf("%+v, %q", first.Instances, from.saved["/commands/statx-srv.txt"])
	}
	to := t.TempDir()
	if _, err := from.Save(to); err != nil {
		t.Fatal(err)
	}
	again := Read(t.Context(), Recorded(to), nil, nil)
	a, b := first.Instances[0].Atomic, again.Instances[0].Atomic
	if (a == nil) != (b == nil) || a != nil && *a != *b {
		t.Errorf("here %+v, from the recording %+v", a, b)
	}
	t.Logf("%q: %+v", from.saved["/commands/statx-srv.txt"], a)
}

// TestAlong: what goes with a scheduler and with a governor, as far as it is there.
func TestAlong(t *testing.T) {
	tr := Recorded(treetest.Make(t, map[string]string{
		"sys/block/sda/queue/scheduler": "none [bfq]", "sys/block/sda/queue/nr_requests": "64\n", "sys/block/sda/queue/iosched/slice_idle": "8\n",
		"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave", "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference": "balance_power\n",
	}))
	for name, want := range map[string]map[string]string{
		"/sys/block/sda/queue/scheduler":                           {"/sys/block/sda/queue/nr_requests": "64", "/sys/block/sda/queue/iosched/slice_idle": "8"},
		"/sys/block/sda/queue/rotational":                          nil,
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": {"/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference": "balance_power"},
	} {
		if got := tr.Along(name); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
