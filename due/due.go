package due

import "time"

// Task comes back after an interval. Zero or less: never.
type Task struct {
	Name  string
	Every time.Duration
}

// Why says how a task stands.
type Why string

const (
	Off  Why = "off"        // it has no interval
	Not  Why = "not due"    // it was done in this interval
	Due  Why = "due"        // it was not
	Late Why = "late"       // intervals went by without it
	Back Why = "clock back" // it was done at a time that is still to come
)

// Turn is a task as it is at one moment.
type Turn struct {
	Task
	Why  Why
	Next time.Time // when it is due; now for those that are, zero for those that never are
}

// IsDue says whether the task is to be done.
func (t Turn) IsDue() bool { return t.Why == Due || t.Why == Late || t.Why == Back }

// Of is the turn of a task that was last done at some time; zero: never.
func (t Task) Of(done, now time.Time) Turn {
	if t.Every <= 0 {
		return Turn{Task: t, Why: Off}
	}
	this := t.begin(now)
	switch last := t.begin(done); {
	case done.IsZero() || last.Equal(this.Add(-t.Every)):
		return Turn{t, Due, now}
	case last.Before(this):
		return Turn{t, Late, now}
	case last.After(this):
		return Turn{t, Back, now}
	}
	return Turn{t, Not, this.Add(t.Every)}
}

// begin is when the interval began that a time is in.
func (t Task) begin(at time.Time) time.Time {
	length := int64(t.Every / time.Second)
	past := at.Unix() % length
	if past < 0 {
		past += length
	}
	return time.Unix(at.Unix()-past, 0).UTC()
}
