package report

import (
	"fmt"
)

// groupPicture is a large farm by its racks or host types: a bar each, of servers by what they do.
type groupPicture struct {
	ID            string
	Width, Height float64
	Desc          string
	Rows          []groupRow
}

type groupRow struct {
	X, Y, TX, TY, Y0 float64
	Name, Link       string
	Title            string
	Bars             []planBar
	Words            string
	WX               float64
}

const (
	groupWide, groupTall, groupGap = 378.0, 22.0, 20.0
	groupName, groupBar            = 108.0, 150.0
)

// newGroupPicture draws groups in three columns, each bar as long as its group is large beside the largest of all, which has so many servers.
func newGroupPicture(id string, groups []topologyGroup, most int, page string) *groupPicture {
	const columns = 3
	rows := (len(groups) + columns - 1) / columns
	p := &groupPicture{ID: id, Width: planWidth, Height: groupTall*float64(rows) + 4, Desc: "Servers by what they do, one bar a group. The same as a table: below."}
	for i, g := range groups {
		x, y := round1(2+float64(i/rows)*(groupWide+groupGap)), round1(2+float64(i%rows)*groupTall)
		n := g.counts()
		r := groupRow{X: x, Y: y, TX: x, TY: round1(y + 14), WX: round1(x + groupName + groupBar + 8), Name: shortened(g.name, 16), Link: groupPage(page, g.name)}
		r.Title = fmt.Sprintf("%s: %s, %s", g.name, count(len(g.pairs), "pair"), n.words())
		at := x + groupName
		for s := range n {
			if n[s] == 0 {
				continue
			}
			wide := groupBar * float64(n[s]) / float64(most)
			r.Bars = append(r.Bars, planBar{X: round1(at), Y: round1(y + 3), W: round1(max(wide, 2)), H: groupTall - 8, Class: stands[s].class})
			at += max(wide, 2)
		}
		r.Words = whole(float64(len(g.pairs)))
		if n := n.marked(); n > 0 {
			r.Words += ", " + whole(float64(n)) + " to look at"
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

func (g topologyGroup) counts() (n standCounts) {
	for _, p := range g.pairs {
		for i, k := range p.counts() {
			n[i] += k
		}
	}
	return n
}

func (n standCounts) sum() int {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return sum
}

// marked is how many servers there is something to say about.
func (n standCounts) marked() int { return n.sum() - n[standFollows] - n[standServes] }

func (n standCounts) words() string {
	text := ""
	for i, k := range n {
		if k > 0 {
			text += fmt.Sprintf("%s%s %s", map[bool]string{true: ", "}[text != ""], whole(float64(k)), stands[i].word)
		}
	}
	return text
}

func groupTable(groups []topologyGroup, label string) planTable {
	head := []string{label, "#pairs", "#servers"}
	for _, s := range stands {
		head = append(head, "#"+s.word)
	}
	t := planTable{Caption: asTable(groups[0].name, groups[len(groups)-1].name), Head: columns(head...)}
	for _, g := range groups {
		n := g.counts()
		row := []string{g.name, whole(float64(len(g.pairs))), whole(float64(n.sum()))}
		for _, k := range n {
			row = append(row, whole(float64(k)))
		}
		t.Rows = append(t.Rows, cells(row...))
	}
	return t
}
