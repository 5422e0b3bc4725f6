package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/report"
)

// pageOf is one page: what it shows, and the same facts as JSON.
type pageOf struct {
	path, name, file string // name is empty for pages that the rail does not list
	isLive           bool
	fill             func(s *Server, r *http.Request, p *page) error
	facts            func(s *Server, r *http.Request) (any, error)
}

func pages() []pageOf {
	return []pageOf{
		{"/{$}", "Overview", "overview.html", true, (*Server).fillOverview, (*Server).overviewFacts},
		{"/moves", "Moves", "moves.html", true, (*Server).fillMoves, (*Server).moveFacts},
		{"/rolls", "Rolls", "rolls.html", true, (*Server).fillRolls, (*Server).rollFacts},
		{"/reshape", "Reshape", "known.html", false, fillKnown(reshape), knownFacts(reshape)},
		{"/backups", "Backups", "known.html", false, fillKnown(backups), knownFacts(backups)},
		{"/sources", "Sources", "known.html", false, fillKnown(known), knownFacts(known)},
		{"/runway", "Runway", "known.html", false, fillKnown(runway), knownFacts(runway)},
		{"/load", "Load by shard", "known.html", false, (*Server).fillLoad, knownFacts(load)},
		{"/queries", "Queries over time", "known.html", false, fillKnown(queries), knownFacts(queries)},
		{"/findings", "Findings", "known.html", false, fillKnown(findings), knownFacts(findings)},
		{"/bench", "Bench", "bench.html", false, (*Server).fillBenches, (*Server).benchesFacts},
		{"/bench/show", "", "shown.html", false, (*Server).fillBench, (*Server).benchFacts},
		{"/plan", "Plan", "plan.html", false, (*Server).fillPlan, (*Server).planFacts},
		{"/proof", "Proof", "proof.html", false, (*Server).fillProof, (*Server).proofFacts},
	}
}

// api is where the facts of a page are.
func (p pageOf) api() string {
	if p.path == "/{$}" {
		return "/api/overview"
	}
	return "/api" + p.path
}

// APIPaths are where the facts of all pages are.
func APIPaths() []string {
	var out []string
	for _, p := range pages() {
		if p.facts != nil {
			out = append(out, p.api())
		}
	}
	return out
}

// link is where a page is.
func (p pageOf) link() string { return strings.TrimSuffix(p.path, "{$}") }

// page is what the templates see.
type page struct {
	Title, Verdict, Lead string
	Kicker               string
	IsBad                bool
	Farm, Dir            string
	Rail                 []place
	IsLive               bool
	JSON, Command        string
	Faults               []fault
	Reading              []string // what is being read
	Piece                report.Piece
	Text                 string

	Move     Move
	Roll     Roll
	Topology report.TopologyBoard
	Group    string // of pairs; empty: all
	Home     home
	Benches  []Bench
	Plans    []Plan
	Digests  []Kept
}

// place is an entry of the rail.
type place struct {
	Name, Link string
	IsHere     bool
}

// fault is something that could not be read, and what to do about it.
type fault struct{ Text, Hint string }

func faultOf(err error) fault { return fault{err.Error(), farm.Hint(err)} }

// missing says whether what was asked for is not there, which is a status of its own.
func missing(err error) bool { return errors.Is(err, errNone) }

var errNone = errors.New("there is no such page")

// take keeps what could not be read for the page, and says whether it could.
func (p *page) take(err error) bool {
	if err == nil {
		return true
	}
	var reading BeingRead
	if errors.As(err, &reading) {
		p.reads(reading.What)
		return false
	}
	for _, f := range p.Faults {
		if f.Text == err.Error() {
			return false // several parts need the same file
		}
	}
	p.Faults = append(p.Faults, faultOf(err))
	return false
}

// reads keeps what is being read for the page.
func (p *page) reads(what string) {
	if !slices.Contains(p.Reading, what) {
		p.Reading = append(p.Reading, what)
	}
}

func (p *page) show(x Shown) {
	p.Piece, p.Text, p.Kicker, p.Command = x.Piece, x.Text, x.Kicker, cmp.Or(x.Command, p.Command)
	p.Title, p.Verdict, p.Lead, p.IsBad = cmp.Or(x.Title, p.Title), x.Verdict, x.Lead, x.IsBad
}

// newPage is what all pages have.
func (s *Server) newPage(r *http.Request, of pageOf) *page {
	p := &page{Title: of.name, Dir: s.Dir, IsLive: of.isLive}
	if of.facts != nil {
		p.JSON = of.api()
		if r.URL.RawQuery != "" {
			p.JSON += "?" + r.URL.Query().Encode()
		}
	}
	for _, x := range pages() {
		if x.name != "" {
			p.Rail = append(p.Rail, place{x.name, x.link(), x.path == of.path || strings.HasPrefix(of.path, x.path+"/")})
		}
	}
	if f, err := s.Sources.Farm(); p.take(err) {
		p.Farm = f.Name
	}
	now := s.look(r.Context())
	if now.err == nil || of.isLive {
		p.take(now.err)
	}
	if now.rollErr == nil || of.isLive {
		p.take(now.rollErr)
	}
	p.Move, p.Roll = now.move, now.roll
	return p
}

// showPage fills and writes one page. What cannot be read is a line on it.
func (s *Server) showPage(w http.ResponseWriter, r *http.Request, of pageOf) {
	p := s.newPage(r, of)
	status := http.StatusOK
	if err := of.fill(s, r, p); err != nil {
		p.take(err)
		if missing(err) {
			status = http.StatusNotFound
		}
	}
	if len(p.Reading) > 0 {
		w.Header().Set("Refresh", "2") // of the browser itself: it needs no script
	}
	w.Header().Set("Content-Security-Policy", policy(string(p.Piece.Style)))
	s.write(w, status, of.file, p)
}

// showFacts writes the facts of a page as one JSON object, or says in one why there are none.
func (s *Server) showFacts(w http.ResponseWriter, r *http.Request, of pageOf) {
	facts, err := of.facts(s, r)
	status := http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		switch {
		case missing(err):
			status = http.StatusNotFound
		case errors.As(err, new(BeingRead)):
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "2")
		case errors.Is(err, farm.ErrInput):
			status = http.StatusUnprocessableEntity
		}
		facts = noFacts{err.Error(), farm.Hint(err)}
	}
	writeFacts(w, status, facts)
}

// noFacts is why there are none, and what to do about it.
type noFacts struct {
	Error string `json:"error"`
	Hint  string `json:"hint"`
}

func writeFacts(w http.ResponseWriter, status int, facts any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	_ = enc.Encode(facts) // whoever asked has gone
}

func (s *Server) moveFacts(r *http.Request) (any, error) {
	now := s.look(r.Context())
	return now.move.JSON, now.err
}

func (s *Server) fillProof(_ *http.Request, p *page) error {
	var err error
	p.Digests, err = s.Digests()
	p.take(err)
	shown, err := s.Proof()
	if err != nil {
		return err
	}
	if p.show(shown); shown.Verdict != "" {
		p.Verdict, p.Lead = "Queries: "+shown.Verdict+".", strings.TrimSpace(shown.Note+" "+shown.Lead)
	}
	return nil
}

func (s *Server) proofFacts(*http.Request) (any, error) {
	shown, err := s.Proof()
	if err == nil && shown.JSON == nil {
		err = &farm.Error{Op: "show comparison", Err: errNone, Hint: "make one: stowage digest compare BEFORE AFTER"}
	}
	return shown.JSON, err
}

func (s *Server) fillPlan(r *http.Request, p *page) error {
	var err error
	if p.Plans, err = s.Plans(); err != nil || len(p.Plans) == 0 {
		return err
	}
	for _, x := range p.Plans {
		if x.BeingRead != "" {
			p.reads(x.BeingRead)
		}
	}
	name, err := planOf(r, p.Plans)
	if err == nil && name == "" {
		return nil // the newest may be one that is being read
	}
	var shown Shown
	if err == nil {
		shown, err = s.Plan(name)
	}
	if missing(err) && r.URL.Query().Get("name") == "" {
		return nil // the list says what is wrong with each
	}
	if err != nil {
		return err
	}
	p.show(shown)
	return nil
}

// planOf is the plan that was asked for, or the newest that can be read. It is empty while it is not known which is the newest.
func planOf(r *http.Request, plans []Plan) (string, error) {
	name := r.URL.Query().Get("name")
	reading := slices.ContainsFunc(plans, func(p Plan) bool { return p.BeingRead != "" })
	for _, p := range plans {
		switch {
		case p.Name == name:
			return name, nil
		case name == "" && reading:
			return "", nil
		case name == "" && p.Fault == "":
			return p.Name, nil
		}
	}
	return "", &farm.Error{Op: "show plan", Subject: name, Err: errNone, Hint: "make one: stowage plan"}
}

func (s *Server) planFacts(r *http.Request) (any, error) {
	plans, err := s.Plans()
	if err != nil {
		return nil, err
	}
	name, err := planOf(r, plans)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return nil, BeingRead{"which plan is the newest"}
	}
	return s.PlanFacts(name)
}
