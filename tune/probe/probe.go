package probe

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"stowage/tune"
)

// Asker runs a program of the machine that only reads, and returns what it
// printed, also when it ended with an error: smartctl's exit code is a set of
// flags. A program that is not there gives fs.ErrNotExist.
type Asker func(ctx context.Context, argv ...string) (string, error)

// Server is what a running instance said about itself; names in small letters.
type Server struct {
	Name              string
	Variables, Status map[string]string
	Files             []tune.FileUse // while somebody watched
}

// prober gathers facts from one tree.
type prober struct {
	*Tree
	ctx   context.Context
	ask   Asker // nil: a recording
	facts tune.Facts
	looks []look // of somebody who watched
}

func chosen(text string) string { return tune.Chosen(text) }

// Read gathers everything that can be read. ask is nil for a recorded tree;
// servers are the instances that were asked, which a tree may hold as well.
func Read(ctx context.Context, t *Tree, ask Asker, servers []Server) *tune.Facts {
	p := &prober{Tree: t, ctx: ctx, ask: ask}
	p.watch()
	p.system()
	p.disks()
	p.arrays()
	p.mounts()
	p.health()
	p.geometry()
	p.controllers()
	p.drives()
	p.lines()
	p.instances(append(p.recordedServers(), servers...))
	p.atomic()
	p.measured()
	return &p.facts
}

// unread notes a source that did not speak.
func (p *prober) unread(what, why string) {
	p.facts.Unread = append(p.facts.Unread, tune.Unread{What: what, Why: why})
}

// command is what a tool printed: commands/FILE of a recording, or the first
// of some programs that is installed. FILE names the tool and what it was
// asked about: "smartctl-sda.json".
func (p *prober) command(file string, programs ...[]string) (string, bool) {
	if p.ask == nil {
		return p.read("/commands/" + file)
	}
	var missing []string
	for _, argv := range programs {
		out, err := p.ask(p.ctx, argv...)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, argv[0])
			continue
		}
		if strings.TrimSpace(out) == "" {
			if err != nil {
				p.unread(strings.Join(argv, " "), err.Error())
			}
			continue
		}
		p.keep("/commands/"+file, out)
		return out, true
	}
	if len(missing) == len(programs) {
		p.missing(strings.Join(missing, ", "))
	}
	return "", false
}

// missing notes, once, that no such program is installed.
func (p *prober) missing(programs string) {
	for _, u := range p.facts.Unread {
		if u.What == programs {
			return
		}
	}
	p.unread(programs, "not installed")
}
