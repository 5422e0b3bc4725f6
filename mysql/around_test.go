package mysql

import (
	"slices"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/schema"
)

func objectNames(objects []schema.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Name)
	}
	return out
}

// TestAround finds what names a table, in its database and in others, and nothing that names another.
func TestAround(t *testing.T) {
	t.Parallel()
	mariadbtest.OnEach(t, func(t *testing.T, l mariadbtest.Line) {
		i := l.Start(t, "around")
		s := open(t, i)
		i.Exec(t, "CREATE DATABASE `shard-1`", "CREATE DATABASE other", "USE `shard-1`",
			"CREATE TABLE `t é` (id INT PRIMARY KEY, v INT)", "CREATE TABLE log (id INT PRIMARY KEY, v INT)", "CREATE TABLE longer_log (id INT PRIMARY KEY)",
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES `t é` (id))",
			"CREATE TABLE other.far (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES `shard-1`.`t é` (id))",
			"CREATE TRIGGER on_t BEFORE INSERT ON `t é` FOR EACH ROW SET NEW.v = 1",
			"CREATE TRIGGER on_log AFTER INSERT ON log FOR EACH ROW UPDATE `t é` SET v = 2 WHERE id = NEW.id",
			"CREATE VIEW seen AS SELECT id FROM `t é`",
			"CREATE VIEW other.seen AS SELECT v FROM `shard-1`.log",
			"CREATE PROCEDURE counts() SELECT COUNT(*) FROM log",
			"CREATE PROCEDURE nothing() SELECT 'longer_log' FROM longer_log",
			"CREATE PROCEDURE other.own() SELECT 1 FROM log",
			"CREATE EVENT cleans ON SCHEDULE EVERY 1 DAY DO DELETE FROM log")
		all, err := s.Around(t.Context(), map[string][]string{"shard-1": {"t é", "log", "child"}})
		if err != nil {
			t.Fatal(err)
		}
		a := all["shard-1"]["t é"]
		if got := objectNames(a.Triggers); !slices.Equal(got, []string{"shard-1.on_log", "shard-1.on_t"}) {
			t.Errorf("triggers %q", got)
		}
		if !slices.Equal(objectNames(a.Views), []string{"shard-1.seen"}) || len(a.Routines) != 0 || len(a.Events) != 0 || a.Table != "shard-1.t é" {
			t.Errorf("%+v", a)
		}
		if !slices.Equal(a.ReferencedBy, []string{"other.far", "shard-1.child"}) {
			t.Errorf("foreign keys %q", a.ReferencedBy)
		}
		if a.MySQL != l.MySQL || a.MinimalImages || a.MapsByName || a.RunsTriggers {
			t.Errorf("habits %+v", a)
		}
		log := all["shard-1"]["log"]
		if !slices.Equal(objectNames(log.Views), []string{"other.seen"}) || !slices.Equal(objectNames(log.Routines), []string{"shard-1.counts"}) || !slices.Equal(objectNames(log.Events), []string{"shard-1.cleans"}) ||
			!slices.Equal(objectNames(log.Triggers), []string{"shard-1.on_log"}) || log.ReferencedBy != nil {
			t.Errorf("%+v", log)
		}
		if c := all["shard-1"]["child"]; c.Triggers != nil || c.Views != nil || c.ReferencedBy != nil {
			t.Errorf("%+v", c)
		}
		i.Exec(t, "SET GLOBAL binlog_row_image = MINIMAL")
		if all, err = s.Around(t.Context(), map[string][]string{"shard-1": {"log"}}); err != nil || !all["shard-1"]["log"].MinimalImages {
			t.Errorf("%+v %v", all, err)
		}
	})
}

func TestMapsByName(t *testing.T) {
	for version, want := range map[string]bool{"10.11.19-MariaDB": false, "12.2.1-MariaDB": false, "12.3.1-MariaDB": true, "13.0.1-MariaDB": true, "9.7.0": false} {
		if got := parseFlavor(version).mapsByName(); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
}
