package farm

import (
	"path"
	"strings"
	"time"
	"unicode"
)

// Backup says where backups go, how often they are made, and which of them are kept. The zero value: farm.yaml says nothing of backups.
// A zero time is the default, a negative one is off.
type Backup struct {
	// Dir is a directory for plain backups, absolute, on Host or, where that is empty, on the host of each instance.
	Dir string
	// Zstd is how hard zstd tries in Dir, 1 to 19; 0: 1.
	Zstd int
	// Restic is a repository in restic's own words. PasswordFile holds its password, EnvFile lines of NAME=VALUE for restic: both
	// absolute, on the host where restic runs, which is Host or the host of each instance.
	Restic       string
	PasswordFile string
	EnvFile      string
	Host         HostName

	Full        time.Duration // from one full backup to the next
	Incremental time.Duration // from one backup to the next
	Binlogs     time.Duration // how far the archive of binary logs may be behind
	Logical     time.Duration // from one logical backup of a pair's shards to the next; 0 is off
	Verify      time.Duration // from one proof of a pair's backups to the next
	Keep        Keep
}

// Keep says which backups stay, in restic's words: the newest so many, the newest of each of the last so many days, weeks, months and years that have
// one, and all within a time of the newest.
type Keep struct {
	Last, Daily, Weekly, Monthly, Yearly int
	Within                               time.Duration
}

// BackupDefaults are what holds for what farm.yaml does not say. A keep that is given replaces the default as a whole.
var BackupDefaults = Backup{
	Zstd: 1, Full: 7 * 24 * time.Hour, Incremental: 24 * time.Hour, Binlogs: time.Minute, Verify: 7 * 24 * time.Hour,
	Keep: Keep{Last: 2, Daily: 7, Weekly: 4, Monthly: 6, Within: 14 * 24 * time.Hour},
}

// resticBinlogs is the default of Binlogs for a repository: each pass starts restic, which reads the repository's index first.
const resticBinlogs = 5 * time.Minute

// IsPlace says whether farm.yaml has a place for backups.
func (b Backup) IsPlace() bool { return b.Dir != "" || b.Restic != "" }

// On is the host whose disk or restic takes the backups of an instance that runs on some host.
func (b Backup) On(own HostName) HostName {
	if b.Host != "" {
		return b.Host
	}
	return own
}

// Filled has the default for each value that is not said.
func (b Backup) Filled() Backup {
	d := BackupDefaults
	if b.Restic != "" {
		d.Binlogs = resticBinlogs
	}
	if b.Zstd == 0 && b.Dir != "" {
		b.Zstd = d.Zstd
	}
	for _, x := range []struct {
		is  *time.Duration
		def time.Duration
	}{{&b.Full, d.Full}, {&b.Incremental, d.Incremental}, {&b.Binlogs, d.Binlogs}, {&b.Verify, d.Verify}} {
		if *x.is == 0 {
			*x.is = x.def
		}
	}
	if b.Logical == 0 {
		b.Logical = -1
	}
	if b.Keep == (Keep{}) {
		b.Keep = d.Keep
	}
	return b
}

func (c *checker) backup() {
	b := c.farm.Backup
	if b == (Backup{}) {
		return
	}
	switch {
	case !b.IsPlace():
		c.say("backup", "backup has no place: give dir, a directory, or restic, a repository")
	case b.Dir != "" && b.Restic != "":
		c.say("backup.restic", "backup has dir and restic: give one of them")
	}
	if _, ok := c.farm.Host(b.Host); b.Host != "" && !ok {
		c.say("backup.host", "host of backup is %q, which is not a host", b.Host)
	}
	c.backupFiles(b)
	if b.Restic == "" && b.Dir != "" {
		c.backupDir(b)
	}
	c.backupTimes(b)
}

// backupFiles: what belongs to restic, and what to a directory.
func (c *checker) backupFiles(b Backup) {
	oneLine := func(text string) bool {
		return !strings.ContainsFunc(text, unicode.IsControl) && !strings.HasPrefix(text, "-")
	}
	for _, f := range []struct{ key, path string }{{"password_file", b.PasswordFile}, {"env_file", b.EnvFile}} {
		switch {
		case f.path == "":
		case b.Restic == "":
			c.say("backup."+f.key, "%s of backup is for restic: with dir leave it out", f.key)
		case !path.IsAbs(f.path) || f.path != path.Clean(f.path) || !oneLine(f.path):
			c.say("backup."+f.key, "%s of backup is %q: it must be an absolute path", f.key, f.path)
		}
	}
	if b.Restic == "" {
		return
	}
	if !oneLine(b.Restic) {
		c.say("backup.restic", "restic of backup is %q: it must be a repository in one line, such as sftp:user@host:/srv/restic", b.Restic)
	}
	if b.PasswordFile == "" {
		c.say("backup.restic", "backup has restic and no password_file: give the file with the password of the repository")
	}
	if b.Zstd != 0 {
		c.say("backup.zstd", "zstd of backup is for dir: restic compresses by itself")
	}
}

// backupDir: nobody else owns the directory.
func (c *checker) backupDir(b Backup) {
	const key = "backup.dir"
	if b.Zstd < 0 || b.Zstd > 19 {
		c.say("backup.zstd", "zstd of backup is %d: it must be 1 to 19", b.Zstd)
	}
	if !path.IsAbs(b.Dir) {
		c.say(key, "dir of backup is %q: it must be an absolute path", b.Dir)
		return
	}
	if err := CheckPath(b.Dir); err != nil {
		c.say(key, "dir of backup: %v", err)
		return
	}
	for _, h := range c.farm.Hosts {
		if b.On(h.Name) == h.Name && h.Dir != "" && path.Clean(h.Dir) == b.Dir {
			c.say(key, "dir of backup is %s, where host %s makes new instances: give backups another directory", b.Dir, h.Name)
			return
		}
	}
	for _, p := range c.farm.Pairs {
		for _, n := range p.SideNames() {
			s := p.Sides[n]
			data := path.Clean(s.Datadir)
			if !path.IsAbs(data) || b.On(s.Host) != s.Host || !IsBelow(data, b.Dir) && !IsBelow(b.Dir, data) {
				continue
			}
			c.say(key, "dir of backup is %s, and %s has its data in %s on host %s: give backups another directory", b.Dir, p.Instance(n), data, s.Host)
			return
		}
	}
}

// backupTimes: what is asked for can come about.
func (c *checker) backupTimes(b Backup) {
	f := b.Filled()
	switch {
	case f.Full < 0 && f.Incremental > 0:
		c.say("backup.full", "full of backup is off and incremental is not: a chain would grow for ever")
	case f.Full > 0 && f.Incremental >= f.Full:
		c.say("backup.incremental", "incremental of backup is %s, not less than the %s of full: write off, or a shorter time", f.Incremental, f.Full)
	}
	k := b.Keep
	for _, n := range []struct {
		key string
		v   int
	}{{"last", k.Last}, {"daily", k.Daily}, {"weekly", k.Weekly}, {"monthly", k.Monthly}, {"yearly", k.Yearly}} {
		if n.v < 0 {
			c.say("backup.keep."+n.key, "%s of keep is %d: it must be a number from 0", n.key, n.v)
		}
	}
	if k.Within < 0 {
		c.say("backup.keep.within", "within of keep is %s: it must not be negative", k.Within)
	}
}
