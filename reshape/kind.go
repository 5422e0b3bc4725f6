package reshape

import (
	"context"
	"sync"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/mysql/latest"
	"stowage/swing"
)

// Name is the name of the kind.
const Name = "reshape"

// The steps.
const (
	StepColumns  = "columns"
	StepKeep     = "keep"
	StepIndex    = "index"
	StepFill     = "fill"
	StepVerify   = "verify"
	StepShadow   = "shadow"
	StepActivate = "activate"
)

// Act is the carrying out of runs of kind reshape in a session, and what is done with flags outside of them.
type Act struct {
	*act.Act
	// Tell hears what a tenant waits for outside of a run. May be nil.
	Tell func(text string)

	mu     sync.Mutex // guards shapes: several pairs are at work
	shapes map[string]latest.Shape
}

// NewAct makes reshaping what an act carries out, in a session that is prepared.
func NewAct(bare *act.Act) *Act {
	a := &Act{Act: bare, shapes: map[string]latest.Shape{}}
	a.Kind = Kind(a)
	return a
}

// Kind is reshaping. That of an Act that is nil can be looked at and not carried out.
func Kind(a *Act) act.Kind {
	return act.Kind{Name: Name, Part: "pair", Ungated: true, Again: "remedy the cause and repeat: stowage reshape; finished tenants stay as they are",
		Stuck: "tenants are read as their flags say; remedy the cause, then: stowage resume", Runbooks: []act.Runbook{
			act.NewRunbook(Name, steps, func(c engine.Call, s act.Step, beat func(string)) (*work, error) { return a.work(c, s, beat) }),
		}}
}

var steps = []swing.Step[*work]{
	{
		Name: "preflight", Needs: "the pair serves", Effect: "none", Known: "preflight finds no blocker; the definitions of the tables are kept", Timeout: 10 * time.Minute,
		Do: act.Method((*work).preflight),
	},
	{
		Name: StepColumns, Needs: "the server adds a column at once", Effect: "each server of the pair has the carried columns, NULL in every row, and the flags, 0 for every tenant; outside of the binary log",
		Known: "each server defines them", Undone: "those that the reshape added are dropped", Timeout: time.Hour,
		Do: act.Method((*work).columns), Undo: act.Method((*work).columnsBack),
	},
	{
		Name: StepKeep, Needs: "each server has the columns", Effect: "triggers keep carried columns current in the client's own transaction, wherever it is served; none where the application writes them",
		Known: "each server defines them", Undone: "they are dropped", Timeout: time.Hour,
		Do: act.Method((*work).keep), Undo: act.Method((*work).keepBack),
	},
	{
		Name: StepIndex, Needs: "each server has the columns", Effect: "indexes of the spec are built while clients write", Known: "each server has them", Undone: "they are dropped with the columns", Timeout: 15 * 24 * time.Hour,
		Do: act.Method((*work).index), Undo: func(context.Context, *work) error { return nil },
	},
	{
		Name: StepFill, Needs: "what writes children keeps the columns current", Effect: "carried columns of the wave's tenants say what their children say; written where the tenant is served, under locks",
		Known: "no parent is left", Undone: "nothing: no flag says that they are to be read", Timeout: 15 * 24 * time.Hour,
		Do: act.Method((*work).fill), Undo: func(context.Context, *work) error { return nil },
	},
	{
		Name: StepVerify, Needs: "the tenant's rows are filled in", Effect: "its flag says migrated", Known: "all its rows were compared in the transaction that set the flag", Undone: "the flag is 0", Timeout: 15 * 24 * time.Hour,
		Do: act.Method((*work).verify), Undo: act.Method((*work).verifyBack),
	},
	{
		Name: StepShadow, Needs: "its flag says migrated", Effect: "none", Known: "of a sample of the wave's tenants both queries gave the same rows, in one view; how long each took is kept", Timeout: 15 * 24 * time.Hour,
		Do: act.Method((*work).shadow), Undo: func(context.Context, *work) error { return nil },
	},
	{
		Name: StepActivate, Needs: "its flag says migrated, and both queries give the same", Effect: "its flag says active: the application reads the carried columns",
		Known: "all its rows were compared in the transaction that set the flag", Undone: "the flag is 0", Timeout: 15 * 24 * time.Hour,
		Do: act.Method((*work).activate), Undo: act.Method((*work).activateBack),
	},
}
