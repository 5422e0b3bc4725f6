package move

import (
	"context"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/swing"
)

// peer is one server that questions are asked about: what findings call it, how it is reached, and what it said of itself.
// Questions about peers know nothing of sides, pairs or roles: every runbook can ask them.
type peer struct {
	name   string
	server *mysql.Server
	facts  mysql.Facts
}

// askPeer reads what all questions look at.
func askPeer(ctx context.Context, name string, server *mysql.Server) (peer, error) {
	f, err := server.Preflight(ctx)
	return peer{name, server, f}, err
}

// asked is the peer, for questions that acts share.
func (p peer) asked() swing.Peer { return swing.Peer{Name: p.name, Server: p.server, Facts: p.facts} }

func (p peer) is(variable string) string { return p.facts.Variables[variable] }

// word is the server's own word for a variable of semi-synchronous replication.
func (p peer) word(variable string) string { return mysql.OwnWord(p.facts.Variables, variable) }

func warning(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Warning, Subject: subject, Text: text, Remedy: remedy}
}

func remark(subject, text, remedy string) farm.Finding {
	return farm.Finding{Severity: farm.Note, Subject: subject, Text: text, Remedy: remedy}
}

// naming is the finding with all the names of which its text has the first few.
func naming(f farm.Finding, names []string) []farm.Finding {
	if len(names) > farm.FewNames {
		f.Names = names
	}
	return []farm.Finding{f}
}

// differ says of which variables two servers think differently.
func differ(a, b peer, variables ...string) []string {
	var out []string
	for _, v := range variables {
		if a.is(v) != b.is(v) {
			out = append(out, fmt.Sprintf("%s is %q on %s and %q on %s", v, a.is(v), a.name, b.is(v), b.name))
		}
	}
	return out
}

// askLayout asks what a physical copy of source brings along that a server with target's options could not live with.
func askLayout(source, target peer) []farm.Finding {
	var out []farm.Finding
	for _, d := range differ(source, target, "innodb_page_size", "lower_case_table_names", "innodb_data_file_path") {
		out = append(out, blocker(target.name, d, "the new instance gets the files of one and the option file of the other: make the two agree, side by side"))
	}
	for _, d := range differ(source, target, "innodb_undo_tablespaces", "innodb_checksum_algorithm", "innodb_log_file_size") {
		out = append(out, warning(target.name, d, "the new instance starts with the option file of the server it replaces; make the two agree"))
	}
	return out
}

// askCharsets asks whether statements mean the same on two servers that take each other's clients.
func askCharsets(a, b peer) []farm.Finding {
	var out []farm.Finding
	for _, d := range differ(a, b, "character_set_server", "collation_server") {
		out = append(out, warning(a.name, d, "tables that are made without naming a character set differ by the server they are made on: make the two agree"))
	}
	return out
}

func askSQLMode(a, b peer) []farm.Finding {
	var out []farm.Finding
	for _, d := range differ(a, b, "sql_mode", "explicit_defaults_for_timestamp") {
		out = append(out, warning(a.name, d, "clients meet other rules while the other server serves them: make the two agree"))
	}
	return out
}

// askTimeZones asks what NOW() and CONVERT_TZ answer on one server and on the other.
func askTimeZones(ctx context.Context, a, b peer) ([]farm.Finding, error) {
	var out []farm.Finding
	for _, d := range differ(a, b, "time_zone", "system_time_zone") {
		out = append(out, warning(a.name, d, "clients that set no time zone get other times of day from the other server: set default_time_zone to the same on both"))
	}
	for _, p := range []peer{a, b} {
		if zone := p.is("system_time_zone"); p.is("time_zone") == "SYSTEM" && zone != "UTC" && zone != "GMT" {
			out = append(out, remark(p.name, "its time zone is the host's: "+zone, "the new host must have the same; better: default_time_zone in the option file"))
		}
	}
	na, err := a.server.TimeZoneNames(ctx)
	if err != nil {
		return nil, err
	}
	nb, err := b.server.TimeZoneNames(ctx)
	if err != nil {
		return nil, err
	}
	if (na == 0) != (nb == 0) {
		out = append(out, warning(a.name, fmt.Sprintf("%s knows %d named time zones, %s %d", a.name, na, b.name, nb),
			"CONVERT_TZ answers NULL where they are missing: mariadb-tzinfo-to-sql /usr/share/zoneinfo | mariadb mysql"))
	}
	return out, nil
}

// Clocks further apart than this are told, and much further apart refused: times that clients compare, history rows of
// versioned tables, events and the age of binary logs all hang on them.
const (
	skewTold    = time.Second
	skewRefused = time.Minute
)

// askClocks compares the servers' clocks with each other and with ours.
func askClocks(ctx context.Context, peers ...peer) ([]farm.Finding, error) {
	var out []farm.Finding
	ahead := make([]time.Duration, len(peers))
	for i, p := range peers {
		by, uncertain, err := p.server.Skew(ctx)
		if err != nil {
			return nil, err
		}
		ahead[i] = by
		if f, found := skewFinding(p.name, "ours", by, uncertain); found {
			out = append(out, f)
		}
		for k := range i {
			if f, found := skewFinding(p.name, "that of "+peers[k].name, by-ahead[k], uncertain); found {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func skewFinding(name, other string, by, uncertain time.Duration) (farm.Finding, bool) {
	size := max(by, -by) - uncertain
	if size < skewTold {
		return farm.Finding{}, false
	}
	word := "ahead of"
	if by < 0 {
		word = "behind"
	}
	f := warning(name, fmt.Sprintf("its clock is %v %s %s", max(by, -by).Round(time.Millisecond), word, other), "run chrony or ntpd on all hosts, and wait until it has slewed")
	if size >= skewRefused {
		f.Severity = farm.Blocker
	}
	return f, true
}

// askDurability asks whether a server keeps what it acknowledges when its power fails.
func askDurability(p peer) []farm.Finding {
	if p.is("sync_binlog") == "1" && p.is("innodb_flush_log_at_trx_commit") == "1" {
		return nil
	}
	return []farm.Finding{warning(p.name, fmt.Sprintf("sync_binlog is %s and innodb_flush_log_at_trx_commit %s", p.is("sync_binlog"), p.is("innodb_flush_log_at_trx_commit")),
		"a host that loses power loses acknowledged writes; set both to 1, or know that this is meant")}
}

// askSemiSync: commits wait for an acknowledgement that nobody gives while the replicas are pointed elsewhere.
func askSemiSync(p peer) []farm.Finding {
	if p.is("rpl_semi_sync_master_enabled") != "ON" {
		return nil
	}
	return []farm.Finding{warning(p.name, fmt.Sprintf("semi-synchronous replication is on: commits wait up to %s ms whenever no replica acknowledges", p.is("rpl_semi_sync_master_timeout")),
		"its replica is pointed elsewhere during the move: set "+p.word("rpl_semi_sync_master_timeout")+" well below what clients bear, or switch it off for the move")}
}

// askPlugins names the libraries that the new server must find on its host.
func askPlugins(ctx context.Context, p peer) ([]farm.Finding, error) {
	names, err := p.server.Plugins(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return naming(warning(p.name, "it has loaded plugins: "+farm.Some(names), "install the same libraries on the target host: the new instance does not start without them"), names), nil
}

// askEncryption asks whether the new server needs keys that a copy of the data does not bring.
func askEncryption(ctx context.Context, p peer) ([]farm.Finding, error) {
	if !p.facts.Flavor.HasGTIDDomains() {
		return nil, nil
	}
	n, err := p.server.EncryptedTablespaces(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []farm.Finding{warning(p.name, fmt.Sprintf("%d of its tablespaces are encrypted", n),
		"put the keys (file_key_management_filename, or access to the key server) on the target host: the new instance cannot read its data without them")}, nil
}

// askFiles: a copy leaves what is elsewhere, and two servers with one such option would write into the same files.
func askFiles(ctx context.Context, p peer) ([]farm.Finding, error) {
	outside, err := p.server.OutsideDatadir(ctx, p.facts.Variables)
	if err != nil || len(outside) == 0 {
		return nil, err
	}
	return naming(blocker(p.name, "files lie outside of its data directory: "+farm.Some(outside),
		"use names relative to datadir for these options, and move such tables with ALTER TABLE ... TABLESPACE or by a dump"), outside), nil
}
