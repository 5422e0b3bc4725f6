package files

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	egnyte "stowage/examples/egnyte-files"
	"stowage/internal/mariadbtest"
)

const shard = "fs_0001"

// small is a plan of 20 tenants or so.
var small = Plan{Seed: 7, Versions: 6000, Smallest: 100}

func generated(t *testing.T, i *mariadbtest.Instance, p Plan) (*sql.DB, []Tenant) {
	t.Helper()
	db := i.DB(t, mariadbtest.Stowage, "")
	tenants, err := Generate(t.Context(), db, shard, p)
	if err != nil {
		t.Fatal(err)
	}
	return db, tenants
}

// carried is what a fill-in does, written by hand: columns, flags, and one UPDATE.
func carried(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	i.Exec(t, "USE "+shard,
		"ALTER TABLE tenants ADD latest_entry_migrated TINYINT NOT NULL DEFAULT 0, ADD latest_entry_active TINYINT NOT NULL DEFAULT 0",
		Columns, FillIn, "UPDATE tenants SET latest_entry_migrated = 1, latest_entry_active = 1")
}

func TestGenerateIsTheSameTwiceAndScattered(t *testing.T) {
	i := mariadbtest.Start(t, "generated")
	_, tenants := generated(t, i, small)
	sum := func() string {
		return i.Value(t, "SELECT GROUP_CONCAT(n ORDER BY n) FROM (SELECT BIT_XOR(CRC32(CONCAT_WS('|', version_id, tenant_id, file_id, version_no, size, HEX(hash), author, made, deleted_at))) AS n FROM "+shard+".versions"+
			" UNION ALL SELECT BIT_XOR(CRC32(CONCAT_WS('|', file_id, tenant_id, folder_id, name, created))) FROM "+shard+".files"+
			" UNION ALL SELECT BIT_XOR(CRC32(CONCAT_WS('|', folder_id, tenant_id, parent_id, path))) FROM "+shard+".folders) AS sums")
	}
	first := sum()
	definition := i.Value(t, "SELECT GROUP_CONCAT(INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE ORDER BY 1) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ?", shard)
	i.Exec(t, "DROP DATABASE "+shard)
	if generated(t, i, small); sum() != first {
		t.Error("the same plan made other rows")
	}
	i.Exec(t, "DROP DATABASE "+shard, "CREATE DATABASE "+shard, "USE "+shard)
	i.Exec(t, append([]string{"USE " + shard}, Statements(egnyte.Schema)...)...)
	if plain := i.Value(t, "SELECT GROUP_CONCAT(INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE ORDER BY 1) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ?", shard); plain != definition {
		t.Errorf("Generate left the indexes %s, and schema.sql has %s", definition, plain)
	}
	i.Exec(t, "DROP DATABASE "+shard)
	other := small
	if other.Seed++; true {
		generated(t, i, other)
	}
	if sum() == first {
		t.Error("another seed made the same rows")
	}
	if len(tenants) < 10 {
		t.Errorf("only %d tenants", len(tenants))
	}
	in := i.DB(t, mariadbtest.Stowage, shard)
	for what, query := range map[string]string{
		"rows without a parent":             "SELECT COUNT(*) FROM versions LEFT JOIN files USING (file_id, tenant_id) LEFT JOIN folders USING (folder_id, tenant_id) LEFT JOIN tenants USING (tenant_id) WHERE tenants.tenant_id IS NULL OR folders.folder_id IS NULL OR files.file_id IS NULL",
		"versions of one file side by side": "SELECT COUNT(*) FROM versions AS a JOIN versions AS b ON b.version_id = a.version_id + 1 AND b.file_id = a.file_id",
	} {
		var n int
		if err := in.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
	var versions int64
	if err := in.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM versions").Scan(&versions); err != nil || versions < small.Versions*9/10 || versions > small.Versions*11/10 {
		t.Errorf("%d versions, want about %d (%v)", versions, small.Versions, err)
	}
}

// TestCheckFindsWhatIsPlanted: nothing where the columns are right, and each kind of wrong value where one is planted.
func TestCheckFindsWhatIsPlanted(t *testing.T) {
	i := mariadbtest.Start(t, "checked")
	db, tenants := generated(t, i, small)
	if c, err := Look(t.Context(), db, shard); err != nil || c.Tenants != 0 || len(c.Mismatches) > 0 {
		t.Fatalf("before there are flags: %+v, %v", c, err)
	}
	carried(t, i)
	c, err := Look(t.Context(), db, shard)
	if err != nil || int(c.Tenants) != len(tenants) || c.Versions < 5000 || c.Files < 500 {
		t.Fatalf("it looked at %d tenants, %d files and %d versions: %v", c.Tenants, c.Files, c.Versions, err)
	}
	if len(c.Mismatches) > 0 {
		t.Fatalf("the columns are right, and it found %v", c.Mismatches[0])
	}
	for _, plant := range []struct{ name, statement, column string }{
		{"a newer version that nobody carried", "INSERT INTO versions SELECT 1 << 40, tenant_id, file_id, 500, 1, REPEAT('x', 32), 1, NOW(6), NULL FROM files WHERE file_id = 3", "latest_version_id"},
		{"the latest deleted", "UPDATE versions JOIN files ON version_id = latest_version_id SET deleted_at = NOW(6) WHERE files.file_id = 5", "latest_version_id"},
		{"an old value of the size", "UPDATE files SET latest_size = latest_size + 1 WHERE file_id = 7", "latest_size"},
		{"a hash of another file", "UPDATE files SET latest_hash = REPEAT('y', 32) WHERE file_id = 9", "latest_hash"},
		{"the number alone", "UPDATE files SET latest_version_no = latest_version_no + 1 WHERE file_id = 11", "latest_version_no"},
		{"all versions gone", "DELETE FROM versions WHERE file_id = 13", "latest_version_id"},
		{"nothing carried", "UPDATE files SET latest_version_id = NULL, latest_version_no = NULL, latest_size = NULL, latest_hash = NULL WHERE file_id = 15", "latest_hash"},
	} {
		i.Exec(t, "USE "+shard, plant.statement)
		found, err := Check(t.Context(), db, shard)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(m Mismatch) bool { return m.Column == plant.column && m.Has != m.Want }) {
			t.Errorf("%s: found %v", plant.name, found)
		}
		// The tenant is not looked at while its flag is off.
		i.Exec(t, "USE "+shard, "UPDATE tenants SET latest_entry_active = 0")
		if found, err := Check(t.Context(), db, shard); err != nil || len(found) > 0 {
			t.Errorf("%s: no tenant is active, and it found %v, %v", plant.name, found, err)
		}
		i.Exec(t, "USE "+shard, FillIn, "UPDATE tenants SET latest_entry_active = 1")
		if found, err := Check(t.Context(), db, shard); err != nil || len(found) > 0 {
			t.Fatalf("%s was put right, and it found %v, %v", plant.name, found, err)
		}
	}
}

// TestAllFormsReadTheSame: each query of the application gives the same rows, and the flag chooses between them.
func TestAllFormsReadTheSame(t *testing.T) {
	i := mariadbtest.Start(t, "read")
	db, tenants := generated(t, i, small)
	tenant := tenants[1].ID
	if form, err := Read(t.Context(), db, shard, tenant, "correlated", func(Latest) error { return nil }); err != nil || form != "correlated" {
		t.Errorf("without flags it read by %q: %v", form, err)
	}
	carried(t, i)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := run(t.Context(), conn, "USE "+shard); err != nil {
		t.Fatal(err)
	}
	var first []string
	for _, form := range egnyte.Forms {
		rows := digestOf(t.Context(), t, conn, form, tenant)
		if first == nil {
			first = rows
		}
		if len(rows) < 5 || !slices.Equal(rows, first) {
			t.Errorf("%s gives %d rows, grouped %d, or other ones", form, len(rows), len(first))
		}
	}
	if form, err := Read(t.Context(), db, shard, tenant, "grouped", func(Latest) error { return nil }); err != nil || form != "denormalised" {
		t.Errorf("of an active tenant it read by %q: %v", form, err)
	}
	if form, err := Read(t.Context(), db, shard, 4_000_000, "grouped", func(Latest) error { return nil }); err != nil || form != "none" {
		t.Errorf("of a tenant that is not there it read by %q: %v", form, err)
	}
}

func digestOf(ctx context.Context, t *testing.T, conn *sql.Conn, form string, tenant uint32) []string {
	t.Helper()
	var rows []string
	if err := ReadBy(ctx, conn, form, tenant, func(l Latest) error {
		h := sha256.Sum256([]byte(fmt.Sprint(l)))
		rows = append(rows, hex.EncodeToString(h[:]))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}
