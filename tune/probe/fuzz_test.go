package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/tune"
)

// Whatever a tool answers, nobody sees a panic.

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"Controllers":[{"Command Status":{"Controller":0,"Status":"Success"},"Response Data":{"Basics":{"Model":"x"},"VD LIST":[{"DG/VD":"0/0","State":"Optl","Cache":"RWBD"}],"PD LIST":[{"EID:Slt":"252:0","State":"Onln","Med":"SSD"}],"Cachevault_Info":[{"State":"Optimal"}]}}]}`,
		`{"Controllers":[{"Command Status":{"Controller":"0"},"Response Data":{"Product Name":"PERC H965i","VD LIST":[{"DG/VD":"0/1","CurrentCache":"NR,WB","DefaultCache":"NR,AWB"}],"Energy Pack Info":[{"Status":"Optimal"}]}}]}`,
		`{"smartctl":{"messages":[{"string":"Unable to detect device type"}]}}`,
		`{"rotation_rate":0,"smart_status":{"passed":true},"write_cache":{"enabled":false},"nvme_smart_health_information_log":{"percentage_used":3,"critical_warning":{"value":1}}}`,
		`{"flbas":1,"lbafs":[{"ds":9,"rp":2},{"ds":12,"rp":0},{"ds":1e300}]}`,
		`{"blockdevices":[{"kname":"sda","type":"disk","size":"1000","rota":"1","rm":true,"model":null}]}`,
		`{"steps":[{"id":"LOG4K-FDS-Q1T1","iops":1e9,"lat_us":{"p50":0.1}}]}`,
		`{"Controllers":[{"Response Data":{"Basics":{"Model":"x","PCI Address":"00:02:00:00"}}},{"Response Data":{"Basics":{"Model":"x","PCI Address":"zz:1"}}}]}`,
		`{"rotation_rate":0,"power_on_time":{"hours":4800},"endurance_used":{"current_percent":40},"smart_status":{"passed":true}}`,
		`{"Controllers":[null,{"Response Data":{"VD LIST":{"0":1}}}]}`,
		"Smart Array P420i in Slot 0 (Embedded)\n   Cache Ratio: 10% Read / 90% Write\n   array A\n      Logical Drive: 1\n         Status: OK\n      physicaldrive 1I:1:1\n         Status: OK\n      physicaldrive 1I:1:2 (port 1I, OK)\n",
		"Controllers found: 1\n----------------------\nController information\n----------------------\n  Controller Model : x\nLogical device number 0\n  Write-cache mode : Enabled\n----------------------\nLogical device segment information\n----------------------\n Segment 0 : Present (0,0) A\n      Device #0\n  State : Online\n  Serial number : A\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		facts := &tune.Facts{Memory: 1 << 30}
		if cs, _, err := parseStorcli("storcli", text); err == nil {
			facts.Controllers = cs
		}
		facts.Controllers = append(facts.Controllers, parseSsacli(text, text)...)
		if c, n := parseArcconf(1, text); n > 0 {
			facts.Controllers = append(facts.Controllers, c)
		}
		if disks, err := parseLsblk(text); err == nil {
			facts.Disks = disks
		}
		if o, err := parseObject(text); err == nil {
			h, cache, _ := parseSmartctl(o, false)
			facts.Disks = append(facts.Disks, tune.Disk{Name: "sda", Kind: tune.Real, Health: h, WriteCache: cache, NVMe: parseFormats(o), Queue: map[string]string{"rotational": "1"}})
		}
		if m, _, err := ParseMeasured(text); err == nil {
			facts.Measured = map[string]tune.Measured{"sda": m}
		}
		tune.Audit(facts, tune.Rules())
	})
}

// FuzzWatch: whatever was counted, no panic, and no disk is busier than always.
func FuzzWatch(f *testing.F) {
	const looks = "at 0.000\ncpu  1 0 2 3 4 5 6 7 0 0\n 8 0 sda 5 0 80 7 0 0 0 0 0 4 9 0 0 0 0 0 0\nthreads 5 6 7\nat 1.000\ncpu  11 0 2 3 4 5 6 9 0 0\n 8 0 sda 9 0 90 8 0 0 0 0 0 999 9 0 0 0 0 0 0\nthreads 5 16 17\n"
	f.Add(looks, "64 KB")
	f.Add(looks[:90], "1.000 MB")
	f.Add("at 0\nat -1\nat 1e300\n", "9e99 MB")
	f.Fuzz(func(t *testing.T, text, strip string) {
		p := &prober{Tree: &Tree{dir: t.TempDir(), seen: text}}
		p.watch()
		p.cpu()
		if w := p.facts.Watch; w != nil {
			for name, uses := range w.Disks {
				for _, u := range uses {
					if !(u.Busy >= 0 && u.Busy <= 1 && u.IOPS >= 0 && u.Wait >= 0) {
						t.Errorf("%s: %+v", name, u)
					}
				}
			}
		}
		if n := stripSize(strip); n < 0 || n > 16<<20 {
			t.Errorf("%q is %d bytes", strip, n)
		}
		p.facts.Disks = []tune.Disk{{Name: "md0", Kind: tune.Stacked, Slaves: []string{"sda", "sdb"}}, {Name: "sda", Kind: tune.Real}, {Name: "sdb", Kind: tune.Real}}
		tune.Audit(&p.facts, tune.Rules())
	})
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"Adapter #0\nProduct Name : PERC H700\nVirtual Drive: 0 (Target Id: 0)\nRAID Level : Primary-1, Secondary-3, RAID Level Qualifier-0\nState : Optimal\nDefault Cache Policy: WriteBack, Write Cache OK if Bad BBU\nEnclosure Device ID: 32\nSlot Number: 0\nMedia Error Count: 72\nFirmware state: Online, Spun Up\n",
		"BBU status for Adapter: 0\nBatteryType: No Battery\nisSOHGood: No\n",
		"meta-data=/dev/md0 isize=512 agcount=16, agsize=1 blks\ndata = bsize=4096 blocks=26214400, imaxpct=25\n = sunit=128 swidth=256 blks\n",
		"Block count:              26214400\nBlock size:               4096\nRAID stride:              128\n",
		"/dev/sda1 /var/lib/my\\040sql xfs rw,noatime,nobarrier 0 0\n# a comment\n",
		"innodb_buffer_pool_size\t137438953472\ndatadir\t/var/lib/mysql/\nversion\t10.11.14-MariaDB\n",
		"/dev/sda:\n write-caching =  1 (on)\n",
		"99999999999999999999.1.1",
		"mask 0x17fff\nattributes 0x400000\natomic_write_unit_min 4096\natomic_write_unit_max 1048576\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		facts := &tune.Facts{Memory: 1 << 30, Kernel: tune.ParseVersion(text), Controllers: parseMegaCli(text, text, text), Fstab: parseMounts(text)}
		for _, l := range facts.Fstab {
			facts.Mounts = append(facts.Mounts, l.Mount)
		}
		facts.Filesystems = []tune.Filesystem{parseXFSInfo(text), parseDumpe2fs(text)}
		facts.Disks = []tune.Disk{{Name: "sda", Kind: tune.Real, WriteCache: parseHdparm(text), Queue: map[string]string{"scheduler": text, "rotational": "0"}}}
		variables := parseVariables(text)
		facts.Instances = []tune.Instance{{Name: "a", Variables: variables, Status: variables, Atomic: parseStatx(text), Datadir: variables["datadir"], Version: facts.Kernel}}
		for n, l := range strings.Split(text, "\n") {
			facts.Lines = append(facts.Lines, tune.Line{File: "f", Number: n + 1, Text: l})
		}
		tune.Audit(facts, tune.Rules())
	})
}

// FuzzOptionFile: whatever an option file holds, itself included, it is read to its end, and soon.
func FuzzOptionFile(f *testing.F) {
	for _, seed := range []string{
		"[client]\npassword = x\n[mysqld]\ninnodb-buffer-pool-size = 4G # half\nskip-innodb_doublewrite\nloose_x\n",
		"[mysqld1]\ndatadir=/a\n[mysqld2]\ndatadir='/b c'\n[mariadbd.shard7]\ndatadir=\"/d\"\n",
		"!include my.cnf\n!include ./my.cnf\n!includedir .\n[mysqld]\na=1\n",
		"[mysqld\n]\n=\n[]\n!include\n!includedir \n",
		"\xff\x00[server-8.0]\nlog_error = stderr",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	file := filepath.Join(dir, "etc/my.cnf")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// As a server reads it: what is included has a whole path.
		text = strings.ReplaceAll(text, "!include my.cnf", "!include /etc/my.cnf")
		text = strings.ReplaceAll(text, "!includedir .", "!includedir /etc")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &prober{Tree: Recorded(dir)}
		facts := &tune.Facts{Instances: p.configured(), Memory: 1 << 30, Kernel: tune.ParseVersion("6.1")}
		for i := range facts.Instances {
			facts.Instances[i].Version, facts.Instances[i].MariaDB = tune.ParseVersion("10.11.14"), i%2 == 0
		}
		p.optionsOf(strings.Split(text, "\n"))
		tune.Audit(facts, tune.Rules())
	})
}
