// SPDX-License-Identifier: MIT
// The rules of rules/lend.h in Go. It is compiled together with a contestant, which brings
//
//	lease                 what a holder needs to give back
//	makePool(objects)     makes the one pool and puts these in
//	take() (lease, *object)
//	give(lease)
//	unbounded             a constant: take makes an object where the others wait
//
// as plain functions, not behind an interface, so that the compiler can put them into the loop. A worker is a goroutine, as Go
// programs have them, and GOMAXPROCS stays at its default. Of an unbounded pool the objects that it made are counted too; that
// there are no more than SIZE cannot be checked of it, nor that none was dropped.
package main

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const lengthSteps = 32 // for each power of two, as in lengths.h

// 128 bytes: the allocator's class of that size is aligned to it.
type object struct {
	uses, index uint64
	_           [112]byte
}

type plan struct {
	threads, size int
	work, length  time.Duration
	steps         uint64 // of work
	asleep, waits bool
}

type worker struct {
	pairs, clashes, noise       uint64
	start, end, longest, waited time.Duration
	lengths                     []uint32
	_                           [48]byte // and its neighbours' are two cache lines away
}

var (
	base     = time.Now()
	patience = 5 * time.Second
	fault    = os.Getenv("BENCH_BROKEN") // a planted bug: share, lose or more
	registry sync.Mutex
	objects  []*object // all there ever were
	over     struct {
		_    [128]byte
		flag uint32
		_    [124]byte
	}
)

func fail(text string, words ...interface{}) {
	fmt.Fprintf(os.Stderr, text+"\n", words...)
	os.Exit(1)
}

func makeObject() *object {
	registry.Lock()
	defer registry.Unlock()
	made := &object{index: uint64(len(objects))}
	objects = append(objects, made)
	return made
}

//go:noinline
func spin(steps, noise uint64) uint64 {
	for ; steps > 0; steps-- {
		noise = (noise ^ noise>>29) * 6364136223846793005
	}
	return noise
}

// ---- The run ----

func (w *worker) wait(took time.Duration) {
	w.waited += took
	if took > w.longest {
		w.longest = took
	}
	length := uint64(took)
	if took <= 0 {
		length = 1
	}
	power := 63 - bits.LeadingZeros64(length)
	w.lengths[power*lengthSteps+int(length<<5>>power&(lengthSteps-1))]++
}

func (w *worker) run(plan plan) {
	var asked time.Duration
	pairs, clashes, noise := uint64(0), uint64(0), w.noise
	w.start = time.Since(base)
	for atomic.LoadUint32(&over.flag) == 0 || pairs == 0 {
		if plan.waits {
			asked = time.Since(base)
		}
		lease, object := take()
		if plan.waits {
			w.wait(time.Since(base) - asked)
		}
		uses := object.uses + 1
		object.uses = uses
		if plan.asleep {
			time.Sleep(plan.work)
		} else if plan.steps > 0 {
			noise = spin(plan.steps, noise)
		}
		if atomic.LoadUint64(&object.uses) != uses {
			clashes++
		}
		give(lease)
		pairs++
	}
	w.end = time.Since(base)
	w.pairs, w.clashes, w.noise = pairs, clashes, noise
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// The workers, and the processor time they used.
func measure(plan plan) ([]*worker, float64) {
	var ready, done sync.WaitGroup
	start, workers := make(chan struct{}), make([]*worker, plan.threads)
	ready.Add(plan.threads)
	done.Add(plan.threads)
	for i := range workers {
		w := &worker{noise: uint64(i) + 1}
		if workers[i] = w; plan.waits {
			w.lengths = make([]uint32, 64*lengthSteps)
		}
		go func() {
			ready.Done()
			<-start
			w.run(plan)
			done.Done()
		}()
	}
	ready.Wait()
	cpu := cpuSeconds()
	close(start)
	time.Sleep(plan.length)
	atomic.StoreUint32(&over.flag, 1)
	time.AfterFunc(patience, func() { fail("a take waited too long") }) // for those without a limit of their own
	done.Wait()
	return workers, cpuSeconds() - cpu
}

// ---- The check and the answer ----

// Every object is there once, and whoever wants one more must wait.
func callRoll(size int) {
	seen, asked := map[uint64]bool{}, int32(0)
	for i := 0; i < size; i++ {
		_, object := take()
		if seen[object.index] {
			fail("the pool lends object %d twice", object.index)
		}
		seen[object.index] = true
	}
	if unbounded {
		return
	}
	go func() {
		atomic.StoreInt32(&asked, 1)
		take()
		fail("the pool lends more objects than were put in")
	}()
	for atomic.LoadInt32(&asked) == 0 {
		time.Sleep(500 * time.Microsecond)
	}
	time.Sleep(5 * time.Millisecond)
}

func percentile(workers []*worker, part float64, all worker) float64 {
	wanted, seen := part*float64(all.pairs), uint64(0)
	for i := range workers[0].lengths {
		for _, w := range workers {
			seen += uint64(w.lengths[i])
		}
		if end := float64(uint64(1)<<(i/lengthSteps)) * (1 + float64(i%lengthSteps+1)/lengthSteps); float64(seen) > wanted {
			if end < float64(all.longest) {
				return end / 1e3
			}
			break
		}
	}
	return float64(all.longest) / 1e3
}

func report(plan plan, workers []*worker, cpu float64) {
	all, uses, smallest, largest := *workers[0], uint64(0), workers[0].pairs, workers[0].pairs
	for _, w := range workers[1:] {
		all.pairs += w.pairs
		all.clashes += w.clashes
		all.waited += w.waited
		all.start, all.end, all.longest = shorter(all.start, w.start), longer(all.end, w.end), longer(all.longest, w.longest)
		if w.pairs < smallest {
			smallest = w.pairs
		} else if w.pairs > largest {
			largest = w.pairs
		}
	}
	for _, object := range objects {
		uses += object.uses
	}
	if uses != all.pairs || all.clashes != 0 {
		fail("objects were shared: %d uses in %d pairs, %d seen by their holder", uses, all.pairs, all.clashes)
	}
	callRoll(plan.size)
	elapsed, pairs := float64(all.end-all.start), float64(all.pairs)
	mean := pairs / float64(plan.threads)
	fmt.Printf("ns=%.2f smallest_share=%.3f largest_share=%.3f", elapsed/pairs, float64(smallest)/mean, float64(largest)/mean)
	if plan.waits {
		fmt.Printf(" wait_p50_us=%.3f wait_p99_us=%.3f wait_max_ms=%.3f wait_mean_us=%.3f", percentile(workers, 0.5, all),
			percentile(workers, 0.99, all), float64(all.longest)/1e6, float64(all.waited)/1e3/pairs)
	}
	fmt.Printf(" pairs=%d elapsed_ms=%.1f cpus=%.2f\n", all.pairs, elapsed/1e6, cpu/elapsed*1e9)
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func longer(a, b time.Duration) time.Duration {
	return a + b - shorter(a, b)
}

// ---- Arguments ----

func number(text string, least, most float64) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < least || value > most {
		fail("%s is not a number from %.0f to %.0f", text, least, most)
	}
	return value
}

func stepsPerUs() float64 {
	if given := os.Getenv("BENCH_STEPS_PER_US"); given != "" {
		return number(given, 1, 1e6)
	}
	best, noise := time.Hour, uint64(1)
	for round := 0; round < 100; round++ {
		start := time.Now()
		noise = spin(100000, noise)
		best = shorter(best, time.Since(start))
	}
	return 100000 * 1000 / float64(best)
}

func parse(words []string) (p plan) {
	if len(words) < 4 {
		fail("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]")
	}
	p.threads, p.size = int(number(words[0], 1, 1024)), int(number(words[1], 1, 1e6))
	p.work, p.length = time.Duration(number(words[2], 0, 1e9)), time.Duration(number(words[3], 0.001, 1e6)*1e9)
	for _, word := range words[4:] {
		if word != "waits" && word != "asleep" {
			fail("%s is none of: waits, asleep", word)
		}
		p.waits, p.asleep = p.waits || word == "waits", p.asleep || word == "asleep"
	}
	if p.work > 0 && !p.asleep {
		p.steps = uint64(float64(p.work)*stepsPerUs()/1000 + 0.5)
	}
	return p
}

// What the pool gets: every object once, unless a bug is planted.
func prepared(size int) []*object {
	for i := 0; i < size; i++ {
		makeObject()
	}
	initial := append([]*object(nil), objects...)
	if fault != "" {
		patience = 300 * time.Millisecond
	}
	switch fault {
	case "share":
		initial[size-1] = initial[0]
	case "lose":
		initial = initial[1:]
	case "more":
		initial = append(initial, makeObject())
	}
	return initial
}

func main() {
	plan := parse(os.Args[1:])
	makePool(prepared(plan.size))
	workers, cpu := measure(plan)
	report(plan, workers, cpu)
	os.Exit(0) // somebody may be waiting for one more object
}
