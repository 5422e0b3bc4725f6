package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// What is late ends with the others, and is never longer than asked.
func TestWindowOfALateAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			left, whole time.Duration
			late        bool
			want        time.Duration
		}{
			{30 * time.Second, 30 * time.Second, false, 30 * time.Second},
			{12 * time.Second, 30 * time.Second, true, 12 * time.Second},
			{-time.Second, 30 * time.Second, true, shortestWindow},
			{-time.Second, 50 * time.Millisecond, true, 50 * time.Millisecond},
		} {
			if got := windowUntil(time.Now().Add(c.left), c.whole, c.late); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
	})
}
