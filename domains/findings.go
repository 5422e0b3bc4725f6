package domains

import (
	"context"
	"fmt"

	"stowage/farm"
	"stowage/host"
)

// findings are what must be so before a pair may be separated, all of it.
func (a *Act) findings(ctx context.Context, p *pair) []farm.Finding {
	var out []farm.Finding
	say := func(check string, s farm.Severity, subject, text, remedy string) {
		out = append(out, farm.Finding{Check: check, Severity: s, Subject: subject, Text: text, Remedy: remedy})
	}
	for _, m := range p.members {
		if m.err != nil {
			say("reachable", farm.Blocker, string(m.name), m.err.Error(), "start it, or correct farm.yaml; all servers of a pair are changed together")
		} else if !m.version.HasGTIDDomains() {
			say("flavor", farm.Note, string(m.name), "it is "+m.version.String()+", whose GTIDs have no domains", "nothing to do")
			return out
		}
	}
	if farm.Blocks(out) {
		return out
	}
	for _, m := range p.members {
		out = append(out, a.memberFindings(ctx, m)...)
	}
	return out
}

func (p *pair) isOpen() bool { return p.record != nil && p.record.State.IsOpen() }

func (a *Act) memberFindings(ctx context.Context, m *member) []farm.Finding {
	var out []farm.Finding
	name := string(m.name)
	block := func(check, text, remedy string) {
		out = append(out, farm.Finding{Check: check, Severity: farm.Blocker, Subject: name, Text: text, Remedy: remedy})
	}
	if lacking, err := m.server.Lacking(ctx); err != nil {
		block("privileges", err.Error(), farm.Hint(err))
	} else if !lacking.IsNone() {
		block("privileges", lacking.Text(), lacking.Remedy())
	}
	if !m.facts.LogBin {
		block("binary-log", "it writes no binary log", "set log_bin in the option file and restart it")
	}
	if m.ignores() && !m.facts.PassesOn {
		block("binary-log", "log_slave_updates is OFF: its own transactions do not come back to its twin by GTID", "set log_slave_updates = ON in the option file and restart it")
	}
	r := m.facts.Replication
	source := m.source()
	switch {
	case source == nil && r.Configured:
		block("topology", fmt.Sprintf("it takes the writes and is set up to replicate from %s:%d", r.Host, r.Port), "RESET SLAVE ALL there, or correct farm.yaml")
	case source == nil:
	case r.Sources > 1:
		block("topology", fmt.Sprintf("it replicates from %s", farm.Counted(r.Sources, "source")), "end the other connections first")
	case !r.Follows(source.server.Address()):
		block("topology", "it does not replicate from "+source.server.Address(), "repair replication, or correct farm.yaml")
	case r.UsingGTID == "Current_Pos" && m.ignores() && m.facts.Domain == source.facts.Domain:
		block("replication", "it replicates by MASTER_USE_GTID = current_pos, and its source writes the same domain: stopped and started, it would go on behind its own last transaction and pass over its source's",
			"go on by file and position first: STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID = no; START SLAVE")
	case r.Ailing() != nil && !(m.pair.isOpen() && r.SQLError == "" && r.IOError == ""): // or it is we who have stopped it
		block("replication", r.Ailing().Error(), "repair replication first")
	}
	if source != nil && m.pair.topology.HasOneWriter() {
		if strays, err := m.server.Strays(ctx, source.server); err != nil {
			block("strays", err.Error(), farm.Hint(err))
		} else if strays != "" {
			block("strays", "it has written transactions that its primary does not have: "+strays, "look at them with mariadb-binlog; build the replica again, or repeat them on the primary")
		}
	}
	if err := a.Edit(ctx, m.name, m.place, func(_ host.Instance, text string) string { return text }); err != nil {
		block("option-file", "its option file cannot be changed: "+err.Error(), "say where it is: sides."+string(m.side)+".config in farm.yaml")
	}
	out = append(out, m.strangers(ctx)...)
	return out
}

// strangers are replicas that farm.yaml does not know: they see two domains
// side by side, too.
func (m *member) strangers(ctx context.Context) []farm.Finding {
	readers, unnamed, err := m.server.Readers(ctx)
	if err != nil {
		return []farm.Finding{{Check: "replicas", Severity: farm.Blocker, Subject: string(m.name), Text: err.Error(), Remedy: farm.Hint(err)}}
	}
	ours := map[uint32]bool{}
	for _, x := range m.pair.members {
		ours[x.facts.ServerID] = true
	}
	var names []string
	for _, r := range readers {
		if !ours[r.ServerID] {
			names = append(names, fmt.Sprintf("server_id %d %s", r.ServerID, r.Address))
		}
	}
	if unnamed > 0 {
		names = append(names, fmt.Sprintf("%d that do not say who they are", unnamed))
	}
	if len(names) == 0 {
		return nil
	}
	return []farm.Finding{{Check: "replicas", Severity: farm.Warning, Subject: string(m.name), Text: "others read its binary log: " + farm.Some(names),
		Remedy: "a replica by GTID with slave_parallel_threads above 0 applies two domains in any order: set it to 0 there until this is done"}}
}
