package rows

import (
	"context"
	"slices"
	"strings"

	"stowage/mysql"
)

// unfitMySQL lists what a dump of a database would lose on MySQL: tables in other directories or tablespaces, libraries, and hidden keys.
func unfitMySQL(ctx context.Context, s mysql.Door, schema string) ([]UnfitTable, error) {
	flavor, err := s.Flavor(ctx)
	if err != nil || flavor.HasGTIDDomains() {
		return nil, err
	}
	tables, err := CopyTables(ctx, s.Server, schema)
	if err != nil {
		return nil, err
	}
	texts, err := tableTexts(ctx, s, schema, tables)
	if err != nil {
		return nil, err
	}
	hides, err := s.Records(ctx, "SHOW VARIABLES WHERE Variable_name = 'show_gipk_in_create_table_and_information_schema' AND Value = 'OFF'")
	if err != nil {
		return nil, err
	}
	var out []UnfitTable
	for n, t := range tables {
		if t.KeyName == "" && len(hides) > 0 {
			out = append(out, UnfitTable{t.nameNow(), "it may have a generated invisible primary key, which the server does not show", "SET GLOBAL show_gipk_in_create_table_and_information_schema = ON"})
		}
		if why := liesElsewhere(texts[n]); why != "" {
			out = append(out, UnfitTable{t.nameNow(), why, physicalHas})
		}
	}
	libraries, err := librariesIn(ctx, s, schema)
	for _, name := range libraries {
		out = append(out, UnfitTable{name, "it is a library", physicalHas})
	}
	return out, err
}

// liesElsewhere says where a table's rows are that are in no file of its own in the data directory; "" where they are.
func liesElsewhere(text string) string {
	before := 0
	for at := 0; at < len(text); at++ {
		if !strings.ContainsRune("'`\"", rune(text[at])) {
			continue
		}
		word, end := mysql.QuotedWord(text, at)
		option := strings.TrimRight(text[before:at], " =")
		switch {
		case strings.HasSuffix(option, " DATA DIRECTORY"):
			return "its rows are in directory " + word
		case strings.HasSuffix(option, " TABLESPACE") && !slices.Contains([]string{"innodb_file_per_table", "innodb_system"}, word):
			return "its rows are in tablespace " + word
		}
		before, at = end, end-1
	}
	return ""
}

// librariesIn are the libraries of a database, which servers have since 9.2.
func librariesIn(ctx context.Context, s mysql.Door, schema string) ([]string, error) {
	there, err := s.Records(ctx, "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = 'LIBRARIES'")
	if err != nil || len(there) == 0 {
		return nil, err
	}
	records, err := s.Records(ctx, "SELECT LIBRARY_NAME AS name FROM information_schema.LIBRARIES WHERE LIBRARY_SCHEMA = ?", schema)
	return mysql.Column(records, "name"), err
}
