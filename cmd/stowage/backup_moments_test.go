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
