package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestValidateReportsEverything(t *testing.T) {
	job := Job{ID: "a/b", Budgets: map[string]int{"none": 0}, Lanes: []Lane{
		{Name: "x", Holds: []string{"ghost", "none", "none"}, Parts: []Part{{Subject: "", Args: json.RawMessage("{"), Steps: []Step{{Timeout: -1}}}}},
		{Name: "x"},
	}}
	err := job.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`must not contain "/"`, `budget "none" is 0`, `"ghost", which has no budget`, `holds "none" twice`,
		`part "": name is empty`, "args are not JSON", `step "": name is empty`, "negative timeout", `lane "x": name used twice`, "has 0 steps"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	big := oneLane("big", orders{Text: strings.Repeat("x", maxLaneBytes)}, "one")
	if err := big.Validate(); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a lane too large for one message: %v", err)
	}
	if err := oneLane("fine", orders{}, "one", "two?", "three!").Validate(); err != nil {
		t.Error(err)
	}
}

func TestKindOf(t *testing.T) {
	plain := errors.New("disk full")
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{plain, KindFailed},
		{Permanent(plain), KindPermanent},
		{fmt.Errorf("copy: %w", Permanent(plain)), KindPermanent},
		{fmt.Errorf("copy: %w", Unknown(plain)), KindUnknown},
		{Permanent(Unknown(plain)), KindUnknown},
		{errors.Join(Permanent(plain), Unknown(plain)), KindUnknown},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v) = %s, want %s", c.err, got, c.want)
		}
		if !errors.Is(c.err, plain) || !strings.Contains(c.err.Error(), "disk full") {
			t.Errorf("%v lost its cause or its text", c.err)
		}
	}
	if Permanent(nil) != nil || Unknown(nil) != nil {
		t.Error("nil became an error")
	}
}

func TestResultEndIsTheGravest(t *testing.T) {
	lanes := func(ends ...End) (r Result) {
		for _, e := range ends {
			r.Lanes = append(r.Lanes, LaneResult{End: e})
		}
		return r
	}
	for _, c := range []struct {
		r    Result
		want End
	}{
		{lanes(EndDone, EndDone), EndDone},
		{lanes(EndDone, EndUndone, EndNotStarted), EndUndone},
		{lanes(EndStuck, EndUndone), EndStuck},
		{lanes(EndStuck, EndUnknown, EndDone), EndUnknown},
	} {
		if got := c.r.End(); got != c.want {
			t.Errorf("%+v ends %s, want %s", c.r, got, c.want)
		}
	}
}
