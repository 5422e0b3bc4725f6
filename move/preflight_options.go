package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/placement"
	"stowage/swing"
)

// askOptionFiles asks about the option files that a move reads and writes: that
// of the instance that is replaced, with which the new one will start, and that
// of the server beside it.
func askOptionFiles(ctx context.Context, r *replacement, old, twin peer) ([]farm.Finding, error) {
	out, err := askOptionFile(ctx, old, r.oldHost, r.old, string(r.order.Move.From.Host), farm.Blocker)
	if err != nil || old.server.Address() == twin.server.Address() {
		return out, err
	}
	// It is not the twin's file that the new instance starts with.
	more, err := askOptionFile(ctx, twin, r.twinHost, r.twin, string(r.order.Twin.Host), farm.Warning)
	return append(out, more...), err
}

// surveyOptions asks of the instance that is replaced alone.
func (r *replacement) surveyOptions(ctx context.Context) ([]farm.Finding, error) {
	old, err := askPeer(ctx, string(r.order.Move.Instance), r.Leaves)
	if err != nil {
		return nil, err
	}
	out, err := askOptionFile(ctx, old, r.oldHost, r.old, string(r.order.Move.From.Host), farm.Blocker)
	for n := range out {
		out[n].Check = "option-file"
	}
	return out, err
}

// askOptionFile asks whether an option file is there, is its server's and no
// other's, and says what the server runs with. A difference is as severe as told.
func askOptionFile(ctx context.Context, p peer, h host.Host, i host.Instance, where string, difference farm.Severity) ([]farm.Finding, error) {
	key := "config of " + p.name + " in farm.yaml"
	start, err := h.Options(ctx, i)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return []farm.Finding{blocker(p.name, fmt.Sprintf("its option file %s does not exist on host %s", i.Config, where), hintOr(err, "correct "+key))}, nil
	case err != nil:
		return []farm.Finding{blocker(p.name, fmt.Sprintf("its option file %s cannot be read, on host %s: %v", i.Config, where, err), hintOr(err, "correct "+key))}, nil
	}
	if out := whoseFile(p, start, i, where, key); len(out) > 0 {
		return out, nil
	}
	var out []farm.Finding
	for _, text := range start.Skipped {
		out = append(out, farm.Finding{Severity: farm.Warning, Subject: p.name, Text: "its server ignores an option file that it should read: " + text,
			Remedy: "chmod so that the account can read it and others cannot write it, or remove the include: the new instance starts without these options"})
	}
	differ, err := askSettings(ctx, p, start, i, difference)
	return append(out, differ...), err
}

// whoseFile are reasons not to write into a file, and not to believe it.
func whoseFile(p peer, start host.Start, i host.Instance, where, key string) (out []farm.Finding) {
	say := func(remedy, format string, args ...any) {
		out = append(out, blocker(p.name, fmt.Sprintf(format, args...), remedy))
	}
	if start.Contained != 0 {
		say("start it outside of the container, from a unit of the host, with the same data directory; then run this again",
			"its server, pid %d on host %s, runs in a container: its option files are not those of the host, where a move would write and start", start.Contained, where)
		return out
	}
	if start.PID == 0 {
		say("correct datadir and host of "+p.name+" in farm.yaml; Stowage must run there as root, or as the server's account",
			"it answers at %s, and no server process on host %s works in %s", p.server.Address(), where, i.Datadir)
		return out
	}
	if !start.Reads(i.Config) {
		say("correct "+key, "its server, pid %d, does not read %s: it reads %s%s", start.PID, i.Config, namesOr(start.Files, "no file"), because(start.Skipped))
		return out
	}
	if start.Suffix != i.GroupSuffix {
		say("group_suffix of "+p.name+" in farm.yaml: "+quotedOr(start.Suffix, "none"), "farm.yaml has group_suffix %s, and its server, pid %d, runs with %s",
			quotedOr(i.GroupSuffix, "none"), start.PID, quotedOr(start.Suffix, "none"))
		return out
	}
	if own := i.Group(""); i.GroupSuffix != "" && !slices.ContainsFunc(start.Groups, func(g string) bool { return strings.HasSuffix(g, i.GroupSuffix) }) {
		say("group_suffix of "+p.name+" in farm.yaml is the part of its group's name after mysqld", "no file that its server reads has a group [%s]: group_suffix %s is unknown there", own, i.GroupSuffix)
	}
	if len(start.Sharers) > 0 {
		say("give each its own group and group_suffix ([mysqld1] and 1), or an option file of its own", "other servers read the same group of %s on host %s, and would start with what a move writes there: %s",
			i.Config, where, strings.Join(start.Sharers, "; "))
	}
	if start.Unwritable != "" {
		say("let Stowage replace the file, or name another that the server reads: "+key, "its option file cannot be changed: %s", start.Unwritable)
	}
	if start.Fence != "" {
		say(key+" must be the file that the server reads last", "a fence that is written to %s would not hold: %s", i.Config, start.Fence)
	}
	return out
}

func hintOr(err error, text string) string {
	if hint := farm.Hint(err); hint != "" {
		return hint
	}
	return text
}

func namesOr(files []string, none string) string {
	if len(files) == 0 {
		return none
	}
	return strings.Join(files, ", ")
}

// because are files that a server passes over, as the end of a sentence.
func because(skipped []string) string {
	if len(skipped) == 0 {
		return ""
	}
	return ", and ignores " + strings.Join(skipped, ", ")
}

func quotedOr(text, none string) string {
	if text == "" {
		return none
	}
	return fmt.Sprintf("%q", text)
}

// optionOf are variables that have another name in option files.
var optionOf = map[string]string{"time_zone": "default_time_zone"}

// otherNames are options that have two names.
var otherNames = map[string]string{"log_slave_updates": "log_replica_updates"}

// onlyMySQL are compared here besides: without them a copy does not replicate.
var onlyMySQL = []string{"gtid_mode", "enforce_gtid_consistency"}

// notFromFiles are compared, and follow from something else.
var notFromFiles = []string{"version"}

// askSettings holds what a server runs with against what its files say: a copy
// starts from the files, and is refused where it differs from this server.
func askSettings(ctx context.Context, p peer, start host.Start, i host.Instance, severity farm.Severity) ([]farm.Finding, error) {
	names := slices.DeleteFunc(append(swing.Compared(), onlyMySQL...), func(n string) bool { return slices.Contains(notFromFiles, n) })
	origins, err := p.server.VariablesWithOrigin(ctx, names...)
	if err != nil {
		return nil, err
	}
	var out []farm.Finding
	for _, name := range names {
		x, known := origins[name]
		if !known {
			continue
		}
		option := name
		if o, other := optionOf[name]; other {
			option = o
		}
		text, at, set := start.Value(option)
		if !set && otherNames[option] != "" {
			text, at, set = start.Value(otherNames[option])
		}
		next := text
		switch {
		case name == "log_bin": // the option has a file's name
			if next = x.Default; set {
				next = "ON"
			}
			if set && (text == "OFF" || text == "0") {
				next = "OFF"
			}
		case name == "collation_server" && !set:
			if _, _, follows := start.Value("character_set_server"); follows {
				continue // from the character set
			}
			next = x.Default
		case name == "time_zone" && !set:
			next = "SYSTEM"
		case !set && x.From == "AUTO":
			continue // the server chose it
		case !set:
			next = x.Default
		}
		if x.IsSame(next, x.Now) {
			continue
		}
		if at == "" {
			at = "no option file sets it"
		}
		out = append(out, farm.Finding{Severity: severity, Subject: p.name,
			Text:   fmt.Sprintf("%s is %s, and it would start with %s (%s), and so would the new instance", name, quotedOr(x.Now, "empty"), quotedOr(x.Means(next), "empty"), at),
			Remedy: fmt.Sprintf("write %s = %s into [%s] of %s if that is meant, else SET GLOBAL %s", option, x.Now, i.Group(""), i.Config, name)})
	}
	return out, nil
}

// askWayBack: what has retired goes back by a new move, to where its host makes
// instances.
func askWayBack(m *Mover, mv placement.Move) ([]farm.Finding, error) {
	if m.Workspace == nil {
		return nil, nil
	}
	f, err := m.Workspace.Farm()
	if err != nil {
		return nil, err
	}
	if h, there := f.Host(mv.From.Host); !there || h.Dir != "" {
		return nil, nil
	}
	return []farm.Finding{warning(string(mv.Instance), fmt.Sprintf("host %s has no dir in farm.yaml: once %s has retired there, stowage undo finds no place for the way back", mv.From.Host, mv.Instance),
		"dir of host "+string(mv.From.Host)+" in farm.yaml, a directory with room in which instances may be made; then plan again")}, nil
}
