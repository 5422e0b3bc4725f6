package backup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/backup/catalogue"
	"stowage/backup/dump"
	"stowage/farm"
	"stowage/mysql/rows"
)

// shardsFor are the shards that a logical backup of a pair has, by name, and about how many bytes that is.
func shardsFor(pair *farm.Pair, asked []farm.ShardName) (names []farm.ShardName, bytes int64) {
	for _, s := range pair.Shards {
		if asked == nil || slices.Contains(asked, s.Name) {
			names = append(names, s.Name)
			bytes += int64(s.Needs[farm.Disk])
		}
	}
	slices.Sort(names)
	return names, bytes
}

// logicalTurns says of each pair whether a logical backup is due.
func (a *Act) logicalTurns(w Wish, orders []order, all []catalogue.Backup) []catalogue.Turn {
	out := make([]catalogue.Turn, len(orders))
	for n, o := range orders {
		out[n] = catalogue.NextLogical(w.Now, a.Farm.Backup, a.Farm.Name, o.Backup.Pair, o.Backup.Shards, all)
	}
	return out
}

// databasesOf are those of a logical backup; nil: it is physical.
func databasesOf(b catalogue.Backup) []string {
	if b.IsPhysical() {
		return nil
	}
	out := make([]string, len(b.Shards))
	for n, s := range b.Shards {
		out[n] = string(s)
	}
	return out
}

// undumpable asks what of the shards a dump could not bring back.
func (t *taking) undumpable(ctx context.Context) (out []farm.Finding, err error) {
	names := databasesOf(t.order.Backup)
	if len(names) == 0 {
		return t.finding(farm.Blocker, "farm.yaml has no shard of this pair, so there is nothing to dump", "stowage inventory accept notes the shards; or take a physical backup: stowage backup run"), nil
	}
	for _, name := range names {
		there, err := t.server.HasSchema(ctx, name)
		if err != nil {
			return out, err
		}
		if !there {
			out = append(out, t.finding(farm.Blocker, "it has no database "+name+", which farm.yaml names as a shard", "stowage inventory says where it is; or name other shards: --shards")...)
		}
	}
	unfit, err := rows.UnfitForDump(ctx, t.server, names)
	for _, u := range unfit {
		out = append(out, t.finding(farm.Blocker, fmt.Sprintf("a logical backup cannot contain %s: %s", u.Table, u.Why), u.Remedy)...)
	}
	return out, err
}

// mostShown is for how many databases the commands are written out.
const mostShown = 100

// howToLoad says how the shards of a logical backup become databases again without Stowage: for whoever opens its directory in bad times.
func howToLoad(b catalogue.Backup, databases []dump.Database) string {
	var t strings.Builder
	vendor, client, names := flavorOf(b).Vendor, "mariadb", "binary"
	if flavorOf(b).ClonesItself() {
		client, names = "mysql", "utf8mb4" // MySQL takes the name of a database at login for latin1 otherwise
	}
	fmt.Fprintf(&t, "%s: logical backup of %s on %s, %s/%s of farm %s, %s %s, as of %s.\n\n", b.ID, farm.Counted(len(b.Shards), "shard"), b.Instance, b.Pair, b.Side, b.Farm, vendor, b.Version, b.At.Format("2006-01-02 15:04:05 UTC"))
	t.WriteString("To make a database of a shard by hand, with zstd, tar and the client of any " + vendor + " server of that version\nor a later one, from the directory of this file. The database may have another name. Events are enabled as\nthey were; the server needs max_allowed_packet=1G for long rows.\n")
	for _, d := range databases[:min(len(databases), mostShown)] {
		name := strings.ReplaceAll(d.Name, "`", "``")
		fmt.Fprintf(&t, "\n  %s -e 'CREATE DATABASE `%s` CHARACTER SET %s COLLATE %s'\n", client, quoted(name), d.Charset, d.Collation)
		fmt.Fprintf(&t, "  zstd -dc %s.zst | tar -xO --wildcards '%s/*' | %s --binary-mode --comments --default-character-set=%s --max-allowed-packet=1G '%s'\n", dump.Part, d.Dir, client, names, quoted(d.Name))
	}
	if more := len(databases) - mostShown; more > 0 {
		fmt.Fprintf(&t, "\nThe other %d in the same way; dump.json in the archive names them with their directories.\n", more)
	}
	t.WriteString("\nOne table: tar takes 'SHARD/2-rows/TABLE.*' instead; its definition is in SHARD/1-tables.sql. accounts.sql has the accounts\nof the server; it replaces those of the server that reads it.\n")
	if b.GTID != "" {
		fmt.Fprintf(&t, "All rows are at GTID position %s", b.GTID)
		if b.File != "" {
			fmt.Fprintf(&t, ", which is %s:%d in the binary log of %s", b.File, b.Offset, b.Instance)
		}
		t.WriteString(".\n")
	}
	t.WriteString("options.cnf is what the server was started with. The sums of the files are in manifest.json.\n")
	return t.String()
}

// quoted is a text within the single quotes of a shell.
func quoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// NewestWith is the newest backup of a pair or an instance that a shard can be taken out of as it was at the end of the backup: a physical one, or a logical one that has it.
func NewestWith(all []catalogue.Backup, of, shard string) (found catalogue.Backup, ok bool) {
	found, ok = Newest(all, of, Until{})
	if found.ID == of {
		return found, ok
	}
	for _, b := range all {
		if (string(b.Instance) == of || string(b.Pair) == of) && b.Damaged == "" && b.HasAll([]farm.ShardName{farm.ShardName(shard)}) && (!ok || b.At.After(found.At)) {
			found, ok = b, true
		}
	}
	return found, ok
}

// ToProve are the backups of a pair that are worth a proof: the newest physical one, and the newest logical one where farm.yaml asks for such, or there is no other.
func ToProve(f *farm.Farm, pair farm.PairName, all []catalogue.Backup) (out []catalogue.Backup) {
	if b, ok := Newest(all, string(pair), Until{}); ok {
		out = append(out, b)
	}
	if len(out) > 0 && f.Backup.Logical <= 0 {
		return out
	}
	its := slices.DeleteFunc(catalogue.Of(all, f.Name, pair), func(b catalogue.Backup) bool { return b.IsPhysical() || b.Damaged != "" })
	if len(its) > 0 {
		out = append(out, slices.MaxFunc(its, func(a, b catalogue.Backup) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) }))
	}
	return out
}
