package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"stowage/report"
	"stowage/serve"
)

// seen remembers what was made of files for as long as they stay as they are, by size and time of change. What failed is made again.
type seen[T any] struct {
	age    time.Duration // it is made again after so long, though files stay as they are; 0: never
	mu     sync.Mutex
	made   map[string]madeOf[T]
	making map[string]*making[T]
}

type madeOf[T any] struct {
	stamp string
	value T
}

// making is a value that is being made.
type making[T any] struct {
	stamp string
	done  chan struct{} // closed when the rest is there
	value T
	err   error
}

// of is what read makes of files; the first of them names it.
func (s *seen[T]) of(read func() (T, error), files ...string) (T, error) {
	m := s.begin(read, files, false)
	<-m.done
	return m.value, m.err
}

// soon is of for pages: what is not made within a second goes on being made, one at a time. Whoever asks gets what was made of the files as they were before, or
// is told that what is being read.
func (s *seen[T]) soon(what string, read func() (T, error), files ...string) (T, error) {
	m := s.begin(read, files, true)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-m.done:
		return m.value, m.err
	case <-wait.C:
		s.mu.Lock()
		before, ok := s.made[files[0]]
		s.mu.Unlock()
		if ok {
			return before.value, nil
		}
		var none T
		return none, serve.BeingRead{What: what + sizeOf(files[0])}
	}
}

// patience is how long a page waits for what takes long to read: its first picture is to be there within two seconds.
const patience = time.Second

// begin makes a value, unless it is there or being made; with join also unless it is being made of files as they were before. What is made takes no longer than
// reading the files, and ends with it.
func (s *seen[T]) begin(read func() (T, error), files []string, join bool) *making[T] {
	stamp, name := stampOf(files), files[0]
	if s.age > 0 {
		stamp += time.Now().Truncate(s.age).String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.made[name]; ok && have.stamp == stamp {
		m := &making[T]{done: make(chan struct{}), value: have.value}
		close(m.done)
		return m
	}
	if m, ok := s.making[name]; ok && (join || m.stamp == stamp) {
		return m
	}
	m := &making[T]{stamp: stamp, done: make(chan struct{})}
	if s.making == nil {
		s.making, s.made = map[string]*making[T]{}, map[string]madeOf[T]{}
	}
	s.making[name] = m
	go func() {
		m.value, m.err = read()
		s.mu.Lock()
		if m.err == nil {
			s.made[name] = madeOf[T]{stamp, m.value}
		}
		if s.making[name] == m {
			delete(s.making, name)
		}
		s.mu.Unlock()
		close(m.done)
	}()
	return m
}

// put remembers what was made of files before.
func (s *seen[T]) put(value T, files ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = map[string]madeOf[T]{files[0]: {stampOf(files), value}}
}

func stampOf(files []string) string {
	stamp := ""
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			stamp += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp
}

// sizeOf is how large a file is, in words behind its name.
func sizeOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return ", " + report.Size(info.Size())
}
