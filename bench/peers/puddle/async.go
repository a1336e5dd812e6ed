// SPDX-License-Identifier: MIT
// jackc/puddle, the pool under pgx, by the rules of rules/serve.h. A client is
// a goroutine, as Go programs have them, and Acquire blocks it; GOMAXPROCS stays
// at its default. Takes have no deadline: with one puddle starts another
// goroutine for every wait. A round of tests takes out what is idle by
// AcquireAllIdle, which is there for that.
package main

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/puddle"
)

const (
	steps  = 32 // of wait lengths, for each power of two
	shards = 16 // of their counts
)

type object struct {
	holder uint64
	uses   uint64
	lent   uint64
	_      [104]byte
}

type client struct {
	pairs uint64
	max   time.Duration
}

var (
	size, hold, think, open, test, every, uses uint64
	stuck                                      bool
	opened                                     int64
	waits                                      [shards][64 * steps]uint64
	allUses                                    uint64
	over                                       int32
	base                                       = time.Now()
	end                                        time.Duration // when the run was over
	pool                                       *puddle.Pool
)

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

func construct(context.Context) (interface{}, error) {
	time.Sleep(time.Duration(open))
	if atomic.AddInt64(&opened, 1) > int64(size) {
		fail("more objects were opened than the pool may have")
	}
	return new(object), nil
}

func take() *puddle.Resource {
	resource, err := pool.Acquire(context.Background())
	if err != nil {
		fail(err.Error())
	}
	return resource
}

func (c *client) count(number uint64, wait time.Duration) {
	if wait > c.max {
		c.max = wait
	}
	length := uint64(1)
	if wait > 0 {
		length = uint64(wait)
	}
	power := 63 - bits.LeadingZeros64(length)
	step := 0
	if power >= 5 {
		step = int(length>>(power-5)) & (steps - 1)
	}
	atomic.AddUint64(&waits[number%shards][power*steps+step], 1)
}

func (c *client) run(number uint64) {
	for atomic.LoadInt32(&over) == 0 {
		asked := time.Since(base)
		resource := take()
		if now := time.Since(base); atomic.LoadInt32(&over) == 0 {
			c.count(number, now-asked)
		} else {
			c.count(number, end-asked)
		}
		object := resource.Value().(*object)
		if atomic.SwapUint64(&object.holder, number+1) != 0 {
			fail("objects were shared: a client got one that another held")
		}
		object.uses++
		object.lent++
		for stuck && number == 0 && atomic.LoadInt32(&over) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if hold > 0 {
			time.Sleep(time.Duration(hold))
		}
		discard := uses > 0 && object.lent >= uses
		if atomic.SwapUint64(&object.holder, 0) != number+1 {
			fail("objects were shared: one changed hands while a client held it")
		}
		if discard {
			atomic.AddUint64(&allUses, object.uses)
			resource.Destroy()
		} else {
			resource.Release()
		}
		if atomic.LoadInt32(&over) == 0 {
			c.pairs++
			time.Sleep(time.Duration(think))
		}
	}
}

func rounds() {
	for {
		time.Sleep(time.Duration(every))
		for _, resource := range pool.AcquireAllIdle() {
			resource := resource
			go func() { time.Sleep(time.Duration(test)); resource.ReleaseUnused() }()
		}
	}
}

// Every object can be lent at once, and not one more.
func callRoll(pairs uint64) {
	resources := make([]*puddle.Resource, size)
	for i := range resources {
		resources[i] = take()
		allUses += resources[i].Value().(*object).uses
	}
	more := int32(0)
	go func() { take(); atomic.StoreInt32(&more, 1) }()
	time.Sleep(5 * time.Millisecond)
	if more != 0 || allUses < pairs {
		fail("the pool lends more objects than were put in, or uses are missing")
	}
}
