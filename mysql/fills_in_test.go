package mysql

import "testing"

func TestReplaces(t *testing.T) {
	for text, want := range map[string]bool{
		"REPLACE INTO `files` VALUES (...)": true, "REPLACE `fs1` . `files` SET `size` = ?": true, "REPLACE INTO `copies` SELECT * FROM `files`": false, "REPLACE INTO `copies` ( `files` ) VALUES (?)": false,
		"LOAD DATA INFILE ? REPLACE INTO TABLE `files` ( `size` )": true,
	} {
		if replaces(text, "files") != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// The statement of a fill-in, as performance_schema keeps it, is none that fails with the triggers.
func TestFillsIn(t *testing.T) {
	const fill = "UPDATE `fs1` . `files` `p` LEFT JOIN `fs1` . `versions` `c` ON `c` . `version_id` = ( SELECT `x` . `version_id` FROM `fs1` . `versions` `x` LIMIT ? ) SET `p` . `latest` = `c` . `size` WHERE `p` . `file_id` = ?"
	if !fillsIn(fill, "versions", "files") || !writesAndNames(fill, "versions", "files") {
		t.Error("a fill-in is taken for a client's statement")
	}
	if text := "UPDATE `versions` `v` JOIN `files` `f` USING ( `file_id` ) SET `v` . `size` = ?"; fillsIn(text, "versions", "files") || !writesAndNames(text, "versions", "files") {
		t.Error("a client's statement is taken for a fill-in")
	}
}
