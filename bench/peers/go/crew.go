// SPDX-License-Identifier: MIT
// Two ways of Go, by the rules of rules/tasks.h: "channels", two workers that read
// from a channel with room for 1,024 tasks, where a worker cannot submit without
// waiting for itself; and "goroutines", one for each task. GOMAXPROCS is 2. Rounds
// and checks are in rules/tasks.go.
package main

import (
	"runtime"
	"time"
)

var (
	queue  chan *note // nil: goroutines
	answer = make(chan struct{}, 1)
)

func work() {
	for n := range queue {
		n.ran()
	}
}

func answering() {
	for n := range queue {
		n.ran()
		answer <- struct{}{}
	}
}

// From outside.
func submit(number int) {
	if queue != nil {
		queue <- &notes[number]
	} else {
		go (&notes[number]).ran()
	}
}

func result() {
	if queue != nil {
		queue <- &notes[0]
	} else {
		go func() { notes[0].ran(); answer <- struct{}{} }()
	}
	<-answer
}

func chain(number int) {
	notes[number].ran()
	if number == 0 {
		began = time.Now()
	}
	if number+1 < chained {
		go chain(number + 1)
	} else {
		over <- time.Since(began)
	}
}

func pair(number int) {
	ping, pong := make(chan struct{}), make(chan struct{})
	notes[number].ran()
	go func() {
		<-ping
		notes[number+pairs].ran()
		pong <- struct{}{}
	}()
	ping <- struct{}{}
	<-pong
	notes[number].ran()
	leave()
}

func leaf(number int) {
	notes[number].ran()
	leave()
}

func yieldOften(number int) {
	for i := 0; i < yields; i++ {
		notes[number].ran()
		runtime.Gosched()
	}
	notes[number].ran()
	leave()
}

func root(count int, child func(int)) {
	notes[0].ran()
	began = time.Now()
	for i := 1; i <= count; i++ {
		go child(i)
	}
}

func inside() {
	notes[0].ran()
	began = time.Now()
	done := make(chan struct{})
	for i := 1; i <= children; i++ {
		n := &notes[i]
		go func() { n.ran(); done <- struct{}{} }()
		<-done
	}
	over <- time.Since(began)
}

func start(cell string) {
	switch cell {
	case "chain":
		go chain(0)
	case "pairs":
		remain = pairs
		go root(pairs, pair)
	case "spawn":
		remain = spawned
		go root(spawned, leaf)
	case "yield":
		remain = yielding
		go root(yielding, yieldOften)
	default:
		go inside()
	}
}
