// SPDX-License-Identifier: MIT
// sync.Pool, by the rules of rules/lend.go: unbounded. It keeps objects by processor, makes another where a pool of a fixed
// size waits, and drops what lies there at a collection: a cache, not a limit.
package main

import "sync"

const unbounded = true

type lease = *object

var cache = sync.Pool{New: func() interface{} { return makeObject() }}

func makePool(objects []*object) {
	for _, object := range objects {
		cache.Put(object)
	}
}

func take() (lease, *object) {
	object := cache.Get().(*object)
	return object, object
}

func give(object lease) {
	cache.Put(object)
}
