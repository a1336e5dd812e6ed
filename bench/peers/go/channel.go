// SPDX-License-Identifier: MIT
// A buffered channel of objects, the pool that Go programs write themselves; by the rules of rules/lend.go. Only who must
// wait pays for a time limit. A timer for each wait was faster than one that a worker keeps and than none at all.
package main

import "time"

const unbounded = false

type lease = *object

var idle chan *object

func makePool(objects []*object) {
	idle = make(chan *object, len(objects))
	for _, object := range objects {
		idle <- object
	}
}

func take() (lease, *object) {
	select {
	case object := <-idle:
		return object, object
	default:
		object := await()
		return object, object
	}
}

func await() *object {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case object := <-idle:
		return object
	case <-limit.C:
		fail("a take waited too long")
		return nil
	}
}

func give(object lease) {
	idle <- object
}
