package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/inventory/claims"
	"stowage/inventory/graph"
	"stowage/inventory/shardload"
)

// KnowFacts are what is known of a farm by asking and measuring. What is nil is left out.
type KnowFacts struct {
	Farm      *farm.Farm
	Made      time.Time
	Sources   *claims.Report // the newest inventory check, and the graph of its sources
	Graph     *graph.Graph
	Rows      []capacity.Row
	Series    []capacity.Series // that the rows were made of
	Histories []History         // the Prometheus servers that were asked for series
	Inventory *inventory.Inventory
	Trend     *digest.Trend
	Load      *shardload.Report // the newest measurement of load
	// Accepted are the figures of farm.yaml that were measured (measured.json). A figure that somebody has changed since is typed.
	Accepted map[farm.ShardName]farm.Resources
	// Group is a rack, or a host type, of which the page on load lists the shards; empty: all. Page is the address of that page, to which groups lead as ?group=NAME;
	// empty: on paper, they lead nowhere.
	Group, Page string
	Findings    []Found
	Backups     *BackupFacts
	Reshapes    []ReshapeFacts // one for each spec
}

// History is a Prometheus that was asked for series of hosts.
type History struct {
	Name         string
	Series, Used int    // that it has of the farm; of these, that forecasts are made of
	Said         string // why it was not used, or what it has that farm.yaml does not
}

// Found is a finding, and where it is from.
type Found struct {
	farm.Finding
	From string // "inventory", "tune"
}

// KnowDocument is one page about the farm: what sources say, days that are left, load, queries, tenants, backups, findings. The same facts make the same page.
type KnowDocument struct {
	Title, Verdict, Lead string
	IsBad                bool
	Tiles                []tile
	Sections             []planSection
}

// Piece is the document, to be framed by another page. One without sections has no body.
func (d *KnowDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.IsBad, Style: template.CSS(own(planPages, "planpage/plan.css"))}
	if len(d.Sections) == 0 {
		return p, nil
	}
	err := p.fill(planPages, []string{"planpage/sections.html"}, "review", d)
	return p, err
}

// knowSections are the sections of a report on what is known, each one page of KnowDocument. found are the findings that nobody has
// accepted; the report has a section of its own that lists them.
func knowSections(f *KnowFacts, found []farm.Finding, looked bool) []planSection {
	if f == nil {
		return nil
	}
	k := *f
	if looked {
		k.Findings = []Found{}
		for _, x := range found {
			k.Findings = append(k.Findings, Found{x, "inventory"})
		}
	}
	var out []planSection
	for _, x := range []struct {
		id, name string
		d        *KnowDocument
	}{{"sources", "Sources", NewSourcesDocument(k)}, {"runway", "Runway", NewRunwayDocument(k)}, {"load", "Load by shard", NewLoadDocument(k)}, {"queries", "Queries over time", NewQueriesDocument(k)}, {"reshape", "Reshape", NewReshapeDocument(k)}, {"backups", "Backups", NewBackupsDocument(k)}, {"rules", "Findings by rule and host", NewFindingsDocument(k)}} {
		for i, s := range x.d.Sections {
			switch {
			case i == 0:
				s.Text = append([]string{strings.TrimSpace(x.d.Verdict + " " + x.d.Lead)}, s.Text...)
				s.ID, s.Name = x.id, x.name
			case x.id == "rules":
				continue // each finding stands in the section of the report
			default:
				s.ID, s.Name = x.id+"-"+s.ID, x.name+": "+s.Name
			}
			out = append(out, s.onPaper())
		}
	}
	return out
}

// onPaper cuts long tables: a report is read, and a page of serve is searched.
func (s planSection) onPaper() planSection {
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		t := &s.Tables[i]
		if n := len(t.Rows); n > mostOpen {
			t.Rows, t.Folded = t.Rows[:mostOpen], true
			t.Caption += fmt.Sprintf(" (%d of %s; stowage serve has all)", mostOpen, whole(float64(n)))
		}
	}
	return s
}

// mostOpen is how many rows of a table are shown without being asked for.
const mostOpen = 60

// fold closes a long table.
func (t planTable) fold() planTable {
	t.Folded = len(t.Rows) > mostOpen
	return t
}
