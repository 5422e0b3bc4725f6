package workspace

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

const day = 24 * time.Hour

func TestBackupIsReadAndWritten(t *testing.T) {
	for text, want := range map[string]farm.Backup{
		"dir: /srv/backup": {Dir: "/srv/backup"},
		"dir: /srv/backup, host: h2, zstd: 3, full: 1w, incremental: 1d, binlogs: 1m, verify: off, keep: {last: 2, daily: 7, weekly: 4, monthly: 6, yearly: 0, within: 14d}": {
			Dir: "/srv/backup", Host: "h2", Zstd: 3, Full: 7 * day, Incremental: day, Binlogs: time.Minute, Verify: -1,
			Keep: farm.Keep{Last: 2, Daily: 7, Weekly: 4, Monthly: 6, Within: 14 * day},
		},
		`restic: "sftp:b@h:/r", password_file: /etc/p, env_file: /etc/e, full: off, incremental: off`: {
			Restic: "sftp:b@h:/r", PasswordFile: "/etc/p", EnvFile: "/etc/e", Full: -1, Incremental: -1,
		},
	} {
		f, _, err := parseFarm("farm.yaml", []byte(fuzzedFarm+"backup: {"+text+"}\n"))
		if err != nil || f.Backup != want {
			t.Errorf("%s: %+v, %v", text, f, err)
			continue
		}
		written := renderFarm(f, map[string]farm.Kind{"seats": farm.KindPlain})
		if back, _, err := parseFarm("farm.yaml", written); err != nil || back.Backup != want {
			t.Errorf("%s is written as %s, which reads as %+v, %v", text, written, back, err)
		}
	}
}

func TestBackupIsRefusedByLine(t *testing.T) {
	line := strings.Count(fuzzedFarm, "\n") + 1
	for text, want := range map[string]string{
		"":              "backup has no place",
		`dir: ""`:       "backup has no place",
		"full: 1d":      "backup has no place",
		"directory: /x": `unknown key "directory" in backup`,
		"dir: /srv/b, restic: x, password_file: /p": "backup has dir and restic",
		"dir: backup":                                   `dir of backup is "backup": it must be an absolute path`,
		"dir: /etc/backup":                              "a directory of the system",
		"dir: /1/backup":                                "p1a has its data in /1 on host h1",
		"dir: /srv/b, host: h9":                         `host of backup is "h9", which is not a host`,
		"dir: /srv/b, zstd: 20":                         "zstd of backup must be a whole number from 1 to 19, not 20",
		"dir: /srv/b, password_file: /p":                "password_file of backup is for restic",
		"restic: x":                                     "backup has restic and no password_file",
		"restic: x, password_file: p":                   `password_file of backup is "p": it must be an absolute path`,
		"restic: -x, password_file: /p":                 "it must be a repository in one line",
		"restic: x, password_file: /p, zstd: 1":         "zstd of backup is for dir",
		"dir: /srv/b, full: 1":                          "full of backup must be a time with its unit",
		"dir: /srv/b, full: 1d":                         "incremental of backup is 24h0m0s, not less than the 24h0m0s of full",
		"dir: /srv/b, full: off":                        "a chain would grow for ever",
		"dir: /srv/b, keep: {}":                         "keep of backup keeps nothing",
		"dir: /srv/b, keep: {last: 0}":                  "keep of backup keeps nothing",
		"dir: /srv/b, keep: {last: -1}":                 "last of keep must be a whole number from 0",
		"dir: /srv/b, keep: {within: 65535w}":           "within of keep must be a time",
		"dir: /srv/b, keep: {hourly: 1}":                `unknown key "hourly" in keep of backup`,
		"dir: /srv/b, verify: 1d, dir: /srv/c":          `key "dir" is there twice in backup`,
		"dir: /srv/b, incremental: 8d, keep: {last: 1}": "incremental of backup is 192h0m0s",
	} {
		_, _, err := parseFarm("farm.yaml", []byte(fuzzedFarm+"backup: {"+text+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "farm.yaml:"+strconv.Itoa(line)) {
			t.Errorf("%s: %v, want %s in line %d", text, err, want, line)
		}
	}
}

// TestBackupBesideData: a directory on a host of its own may have any path; where instances are made it may not be.
func TestBackupBesideData(t *testing.T) {
	text := strings.Replace(fuzzedFarm, "hosts:\n", "hosts:\n  - {name: h3, type: t, address: 10.0.0.3, dir: /srv/mysql}\n", 1)
	for backup, fine := range map[string]bool{
		"{dir: /1/backup, host: h3}": true, "{dir: /1/backup, host: h2}": false, "{dir: /srv/mysql, host: h3}": false, "{dir: /srv/mysql, host: h1}": true, "{dir: /srv/mysql}": false,
	} {
		if _, _, err := parseFarm("farm.yaml", []byte(text+"backup: "+backup+"\n")); (err == nil) != fine {
			t.Errorf("%s: %v", backup, err)
		}
	}
}
