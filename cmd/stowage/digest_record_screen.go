package main

import (
	"fmt"
	"sync"
	"time"

	"stowage/farm"
	"stowage/record"
)

// recordingScreen adds up how far many windows are and says so on one line
// every five seconds.
type recordingScreen struct {
	a    *app
	stop chan struct{}
	done chan struct{}

	mu           sync.Mutex
	bytes        map[farm.InstanceName]int64
	began, ended int
	wanted       int
}

func (a *app) showRecording(n int, f *recordFlags) *recordingScreen {
	s := &recordingScreen{a: a, stop: make(chan struct{}), done: make(chan struct{}), bytes: map[farm.InstanceName]int64{}, wanted: n}
	a.say("recording %s for %v from the %s; Ctrl-C ends the window early and keeps what was recorded", farm.Counted(n, "instance"), f.For, f.from)
	go s.run()
	return s
}

func (s *recordingScreen) run() {
	defer close(s.done)
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	start := time.Now()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.say(time.Since(start))
		}
	}
}

func (s *recordingScreen) say(since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for _, n := range s.bytes {
		sum += n
	}
	waiting := ""
	if n := s.wanted - s.began; n > 0 {
		waiting = fmt.Sprintf(", %d not yet", n)
	}
	s.a.say("  %.0f s: %s being recorded%s, %d ended, %s", since.Seconds(), farm.Counted(s.began-s.ended, "instance"), waiting, s.ended, farm.RoundQuantity(float64(sum), farm.KindBytes))
}

// add takes the progress of one window.
func (s *recordingScreen) add(p record.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[p.Instance] = max(p.Bytes, s.bytes[p.Instance])
	if p.Began {
		s.began++
	}
	if p.Ended && s.began > s.ended {
		s.ended++
	}
	if p.Ended && p.Stopped.IsEarly() {
		s.a.say("  %s: ended early: %s", p.Instance, p.Stopped)
	}
}

func (s *recordingScreen) close() {
	close(s.stop)
	<-s.done
}
