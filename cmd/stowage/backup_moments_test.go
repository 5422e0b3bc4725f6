package main

import (
	"strings"
	"testing"
	"time"

	"stowage/backup"
	"stowage/backup/catalogue"
)

// TestMomentsOfBackupsAreThoseOfRestore: what `backup list` and `backup status` print is what `restore --at` reads. It is not parallel: it changes the zone of all.
func TestMomentsOfBackupsAreThoseOfRestore(t *testing.T) {
	was := time.Local
	time.Local = time.FixedZone("elsewhere", 5*3600)
	defer func() { time.Local = was }()
	at := time.Date(2026, 11, 20, 3, 12, 0, 0, time.UTC)
	b := catalogue.Backup{ID: "x/1-full", At: at}
	age := 1.0
	var list, status strings.Builder
	if err := (backupList{Backups: []backupRow{{Backup: b}}}).text(&list); err != nil {
		t.Fatal(err)
	}
	if err := (backupStatus{Report: catalogue.Report{Pairs: []catalogue.PairStatus{{Pair: "x", Newest: &b, Age: &age, Upto: &at}}}}).text(&status); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{list.String(), status.String()} {
		const printed = "2026-11-20 08:12:00"
		if read, err := momentOf(printed); !strings.Contains(text, printed) || err != nil || !read.Equal(at) {
			t.Errorf("restore reads %s as %v, %v; printed was\n%s", printed, read, err, text)
		}
	}
}

// TestNoBackupOrDamagedOnes: a pair whose backups are damaged is not one that was never backed up.
func TestNoBackupOrDamagedOnes(t *testing.T) {
	t.Parallel()
	all := []catalogue.Backup{{ID: "xa/1-full", Pair: "x", Instance: "xa", Kind: catalogue.Full, Damaged: "base.xb: sum differs"}}
	for of, want := range map[string]string{"x": "each backup of it is damaged", "xa": "each backup of it is damaged", "y": "it has no backup"} {
		if err := noBackup(all, of, backup.Until{}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", of, err, want)
		}
	}
}

// TestMomentThatClocksShowTwiceOrNever: a restore an hour too late brings back what was just dropped. It is not parallel: it changes the zone of all.
func TestMomentThatClocksShowTwiceOrNever(t *testing.T) {
	was := time.Local
	defer func() { time.Local = was }()
	for _, x := range []struct{ zone, text, want string }{
		{"Europe/Berlin", "2026-10-25 02:30:00", "twice; write which is meant: 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"},
		{"Europe/Berlin", "2026-10-25T02:59", "is not a moment"},
		{"Europe/Berlin", "2026-10-25 01:59:59", ""},
		{"Europe/Berlin", "2026-10-25 03:00:00", ""},
		{"Europe/Berlin", "2026-10-25T02:30:00+01:00", ""},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", ""},
		{"Europe/Berlin", "2026-03-29 02:30", "left out"},
		{"Europe/Berlin", "2026-03-29 03:00", ""},
		{"America/New_York", "2026-11-01 01:30:00", "2026-11-01T01:30:00-04:00 or 2026-11-01T01:30:00-05:00"},
		{"America/New_York", "2026-11-01 02:00:00", ""},
		{"America/New_York", "2026-11-01 01:30:00.5", "twice"},
		{"Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-05T01:45:00+11:00 or 2026-04-05T01:45:00+10:30"},
		{"Australia/Lord_Howe", "2026-04-05 02:00:00", ""},
		{"Asia/Kolkata", "2026-10-25 02:30:00", ""},
	} {
		zone, err := time.LoadLocation(x.zone)
		if err != nil {
			t.Skipf("NOT TESTED: this machine does not know zones: %v", err)
		}
		time.Local = zone
		_, err = momentOf(x.text)
		if isRefused := err != nil; isRefused != (x.want != "") || isRefused && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s in %s: %v, want %q", x.text, x.zone, err, x.want)
		}
	}
}
