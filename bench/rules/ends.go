// SPDX-License-Identifier: MIT
// The rules of rules/ends.h in Go. It is compiled together with a contestant, which brings
//
//	server                a constant: pq or redis
//	begin()               makes the one pool, of asked.connections
//	take() (lease, error)
//
// A worker is a goroutine, as Go programs have them, and GOMAXPROCS stays at its default.
package main

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	waitLimit    = 1 * time.Second // as advised, for a connection of the pool
	connectLimit = 1 * time.Second // for connecting
	answerLimit  = 2 * time.Second // for an answer

	bin         = 25 * time.Millisecond
	pause       = 20 * time.Millisecond
	stuckAfter  = 5 * time.Second
	lengthSteps = 32 // for each power of two, as in lengths.h
)

// Whoever has one has a connection. What failed is noticed by the pool or its driver.
type lease interface {
	ask() (string, error)
	give()
}

type plan struct {
	host, port, mode     string
	threads, connections int
	warm, length         time.Duration
}

type lengths [64 * lengthSteps]uint32

type worker struct {
	asked               uint64
	longest             time.Duration
	waits, calls, turns lengths
	since               int64 // in an outage: when the turn began, or 0
}

const (
	warming = iota
	measuring
	done
)

var (
	asked  plan
	opened bool // all connections are
	right  = map[string]string{"pq": "1", "redis": "value"}[server]
	base   = time.Now()
	phase  int32
)

func fail(text string, words ...interface{}) {
	fmt.Fprintf(os.Stderr, text+"\n", words...)
	os.Exit(1)
}

func expectFine(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func expectRight(answer string) {
	if answer != right {
		fail("an answer was wrong: %s instead of %s", answer, right)
	}
}

// A limit where limits are advised, and none elsewhere: a context that can end costs a goroutine for every wait and question.
func within(limit time.Duration) (context.Context, context.CancelFunc) {
	if asked.mode == "advised" {
		return context.WithTimeout(context.Background(), limit)
	}
	return context.Background(), func() {}
}

// ---- On a good day ----

func (l *lengths) add(took time.Duration) {
	length := uint64(1)
	if took > 0 {
		length = uint64(took)
	}
	power := 63 - bits.LeadingZeros64(length)
	l[power*lengthSteps+int(length<<5>>power&(lengthSteps-1))]++
}

func (w *worker) work() {
	overAt := time.Since(base)
	for now := int32(warming); now != done; {
		askedAt := overAt
		lease, err := take()
		expectFine(err)
		hadAt := time.Since(base)
		answer, err := lease.ask()
		expectFine(err)
		answeredAt := time.Since(base)
		expectRight(answer)
		lease.give()
		overAt = time.Since(base)
		switch now = atomic.LoadInt32(&phase); now {
		case warming:
			continue
		case measuring:
			w.asked++
		} // and the last turn is timed too, or nobody would see the wait of one that starved
		w.waits.add(hadAt - askedAt)
		w.calls.add(answeredAt - hadAt)
		w.turns.add(overAt - askedAt)
		if hadAt-askedAt > w.longest {
			w.longest = hadAt - askedAt
		}
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// What is in a count is at most that long.
func lengthEnd(count int) float64 {
	return float64(uint64(1)<<(count/lengthSteps)) * (1 + float64(count%lengthSteps+1)/lengthSteps)
}

func percentile(all []uint64, part float64) float64 {
	total, seen := uint64(0), uint64(0)
	for _, count := range all {
		total += count
	}
	for i, count := range all {
		if seen += count; float64(seen) > part*float64(total) {
			return lengthEnd(i) / 1e3
		}
	}
	return 0
}

func report(workers []*worker, elapsed time.Duration, cpu float64) {
	waits, calls, turns := make([]uint64, 64*lengthSteps), make([]uint64, 64*lengthSteps), make([]uint64, 64*lengthSteps)
	total, least, longest := uint64(0), workers[0].asked, time.Duration(0)
	for _, w := range workers {
		if total += w.asked; w.asked < least {
			least = w.asked
		}
		if w.longest > longest {
			longest = w.longest
		}
		for i := range waits {
			waits[i] += uint64(w.waits[i])
			calls[i] += uint64(w.calls[i])
			turns[i] += uint64(float64(w.turns[i]) * lengthEnd(i)) // time in turns of that length
		}
	}
	if total == 0 {
		fail("nothing was answered")
	}
	fmt.Printf("elapsed_ms=%.3f asked=%d per_s=%.1f wait_p50_us=%.2f wait_p99_us=%.2f wait_p999_us=%.2f wait_max_ms=%.3f "+
		"turn_p50_ms=%.4f turn_p99_ms=%.4f call_p50_us=%.2f call_p99_us=%.2f cpu_s=%.3f smallest_share=%.3f\n", elapsed.Seconds()*1e3, total,
		float64(total)/elapsed.Seconds(), percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 0.999),
		float64(longest)/1e6, percentile(turns, 0.5)/1e3, percentile(turns, 0.99)/1e3, percentile(calls, 0.5), percentile(calls, 0.99), cpu,
		float64(least)*float64(len(workers))/float64(total))
}

func runHealthy() {
	var all sync.WaitGroup
	workers := make([]*worker, asked.threads)
	all.Add(len(workers))
	for i := range workers {
		w := &worker{}
		workers[i] = w
		go func() { w.work(); all.Done() }()
	}
	time.Sleep(asked.warm)
	cpu, begun := cpuSeconds(), time.Now()
	atomic.StoreInt32(&phase, measuring)
	time.Sleep(asked.length)
	atomic.StoreInt32(&phase, done)
	elapsed := time.Since(begun)
	cpu = cpuSeconds() - cpu
	all.Wait()
	report(workers, elapsed, cpu)
}

// ---- In an outage ----

func turn() bool {
	lease, err := take()
	if err != nil {
		return false
	}
	answer, err := lease.ask()
	if err == nil {
		expectRight(answer)
	}
	lease.give()
	return err == nil
}

func noteLongest(longest *int64, turn int64) {
	for most := atomic.LoadInt64(longest); turn > most; most = atomic.LoadInt64(longest) {
		atomic.CompareAndSwapInt64(longest, most, turn)
	}
}

func runInOutage() {
	bins := int((asked.length + bin - 1) / bin)
	counts := map[bool][]int32{true: make([]int32, bins), false: make([]int32, bins)} // by whether it was answered
	workers, longest := make([]worker, asked.threads), int64(0)
	fmt.Println("ready")
	begun := time.Since(base)
	for i := range workers {
		since := &workers[i].since
		go func() {
			for {
				before := time.Since(base)
				atomic.StoreInt64(since, int64(before))
				answered := turn()
				after := time.Since(base)
				atomic.StoreInt64(since, 0)
				noteLongest(&longest, int64(after-before))
				if at := int((after - begun) / bin); at < bins {
					atomic.AddInt32(&counts[answered][at], 1)
				}
				time.Sleep(pause)
			}
		}()
	}
	time.Sleep(asked.length)
	stuck, now, line := 0, int64(time.Since(base)), strings.Builder{}
	for i := range workers {
		if since := atomic.LoadInt64(&workers[i].since); since != 0 {
			if noteLongest(&longest, now-since); now-since > int64(stuckAfter) {
				stuck++
			}
		}
	}
	for i := 0; i < bins; i++ {
		fmt.Fprintf(&line, "a%d=%d f%d=%d ", i, atomic.LoadInt32(&counts[true][i]), i, atomic.LoadInt32(&counts[false][i]))
	}
	fmt.Printf("%slongest_ms=%.1f stuck=%d\n", line.String(), float64(atomic.LoadInt64(&longest))/1e6, stuck)
}

// ---- Both ----

func number(text string, least, most float64) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < least || value > most {
		fail("%s is not a number from %.0f to %.0f", text, least, most)
	}
	return value
}

func seconds(text string) time.Duration {
	return time.Duration(number(text, 0, 1e6) * 1e9)
}

func parse(words []string) (p plan) {
	if len(words) < 7 {
		fail("usage: %s %s HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS | outage=default|advised]", words[0], server)
	}
	if words[1] != server {
		fail("%s knows nothing but %s", words[0], server)
	}
	p.host, p.port, p.length = words[2], words[3], seconds(words[6])
	p.threads, p.connections = int(number(words[4], 1, 1000)), int(number(words[5], 1, 1000))
	for _, word := range words[7:] {
		switch {
		case strings.HasPrefix(word, "warm="):
			p.warm = seconds(word[len("warm="):])
		case word == "outage=default" || word == "outage=advised":
			p.mode = word[len("outage="):]
		default:
			fail("%s is none of: warm=SECONDS, outage=default, outage=advised", word)
		}
	}
	if os.Getenv("BENCH_BROKEN") == "answer" {
		right = map[string]string{"pq": "2", "redis": "other"}[server]
	}
	return p
}

// However the pool makes them, whoever has them all at once has had them opened.
func openAll() {
	leases := make([]lease, asked.connections)
	for i := range leases {
		var err error
		leases[i], err = take()
		expectFine(err)
		answer, err := leases[i].ask()
		expectFine(err)
		expectRight(answer)
	}
	for _, lease := range leases {
		lease.give()
	}
	opened = true
}

func main() {
	asked = parse(os.Args)
	begin()
	openAll()
	if asked.mode == "" {
		runHealthy()
	} else {
		runInOutage()
	}
	os.Exit(0) // turns may be stuck
}
