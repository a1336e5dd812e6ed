// SPDX-License-Identifier: MIT
// jackc/puddle, the pool under pgx, by the rules of rules/lend.go. All resources are there before the start. TryAcquire comes
// first, and only who must wait pays for a context with a deadline: that was faster than Acquire alone, with or without one.
package main

import (
	"context"

	"github.com/jackc/puddle"
)

const unbounded = false

type lease = *puddle.Resource

var pool *puddle.Pool

func makePool(objects []*object) {
	next := 0
	construct := func(context.Context) (interface{}, error) {
		next++
		return objects[next-1], nil
	}
	pool = puddle.NewPool(construct, func(interface{}) {}, int32(len(objects)))
	for range objects {
		if err := pool.CreateResource(context.Background()); err != nil {
			fail(err.Error())
		}
	}
}

func take() (lease, *object) {
	resource, err := pool.TryAcquire(context.Background())
	if err != nil {
		resource = await()
	}
	return resource, resource.Value().(*object)
}

func await() lease {
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resource, err := pool.Acquire(limit)
	if err != nil {
		fail("a take waited too long")
	}
	return resource
}

func give(resource lease) {
	resource.Release()
}
