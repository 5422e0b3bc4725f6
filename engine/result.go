package engine

// End is how a lane ended.
type End string

const (
	EndDone       End = "done"        // every step of every part
	EndUndone     End = "undone"      // a step failed; its part is as it was before. Earlier parts stay done
	EndStuck      End = "stuck"       // a step failed past the point of no return, or its undo failed: a person must act
	EndUnknown    End = "unknown"     // nobody knows whether a step took effect: a person must look
	EndNotStarted End = "not-started" // another lane failed first
)

var severities = map[End]int{EndDone: 0, EndNotStarted: 1, EndUndone: 2, EndStuck: 3, EndUnknown: 4}

// severity orders ends for Result.End; a table, so that no code compares ends by position.
func (e End) severity() int {
	return severities[e]
}

// LaneResult tells how one lane ended and, unless it is done, where and why. Part and Step name the step that failed.
type LaneResult struct {
	Name  string `json:"name"`
	End   End    `json:"end"`
	Part  string `json:"part,omitempty"`
	Step  string `json:"step,omitempty"`
	Kind  Kind   `json:"kind,omitempty"`
	Error string `json:"error,omitempty"` // the text of the step's error, unchanged
	// UndoStep and UndoError are set when undoing failed in turn; State is then what the part's steps had handed on, as JSON: a Part
	// with Back that ends with UndoStep goes on from there.
	UndoStep  string `json:"undo_step,omitempty"`
	UndoError string `json:"undo_error,omitempty"`
	State     string `json:"state,omitempty"`
}

// Result has one entry per lane, in the order of the job's lanes.
type Result struct {
	Format int          `json:"format"`
	Lanes  []LaneResult `json:"lanes"`
}

// MayBegin reports whether another lane may begin: none has failed, or no more than so many, each by a failure of its own.
func (r Result) MayBegin(spares int) bool { return r.tally().mayBegin(spares) }

// OwnFailures counts the lanes that IsOwnFailure is true of.
func (r Result) OwnFailures() int { return r.tally().own }

func (r Result) tally() (t tally) {
	for _, lane := range r.Lanes {
		t.add(lane)
	}
	return t
}

// IsOwnFailure reports whether the lane was undone because one of its own steps failed: nobody asked for it, and nothing of it is left half-way.
func (l LaneResult) IsOwnFailure() bool {
	return l.End == EndUndone && (l.Kind == KindFailed || l.Kind == KindPermanent || l.Kind == KindTimeout)
}

// End is the most severe end of any lane: unknown, stuck, undone, not-started, done.
func (r Result) End() End {
	worst := EndDone
	for _, lane := range r.Lanes {
		if lane.End.severity() > worst.severity() {
			worst = lane.End
		}
	}
	return worst
}
