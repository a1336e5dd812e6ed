// SPDX-License-Identifier: MIT
// Rounds, checks, arguments and what is printed; see peers/go/crew.go.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	workers   = 2
	slots     = 8192
	times     = 12 // that each is used in a round
	submitted = slots * times
	chained   = 1000
	pairs     = 1000
	spawned   = 10000
	yielding  = 200
	yields    = 1000
	children  = 10000
	count     = 10001 // tasks there are
	look      = 50 * time.Microsecond
	patience  = 5 * time.Second
)

type note struct {
	runs uint32
	_    [60]byte
}

var (
	cell   string
	notes  [count]note
	due    [count]uint32
	began  time.Time
	over   = make(chan time.Duration, 1)
	remain int64
)

func (n *note) ran() { atomic.StoreUint32(&n.runs, n.runs+1) }

func leave() {
	if atomic.AddInt64(&remain, -1) == 0 {
		over <- time.Since(began)
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

func expect(first, count int, runs uint32) {
	for i := first; i < first+count; i++ {
		due[i] += runs
	}
}

// What a round lets run, and how many operations that is.
func expectRound() int {
	switch cell {
	case "chain":
		expect(0, chained, 1)
		return chained - 1
	case "pairs":
		expect(0, 1+2*pairs, 1)
		expect(1, pairs, 1)
		return pairs
	case "spawn":
		expect(0, 1+spawned, 1)
		return spawned
	case "yield":
		expect(0, 1+yielding, 1)
		expect(1, yielding, yields)
		return yielding * yields
	case "inside":
		expect(0, 1+children, 1)
		return children
	}
	expect(0, slots, times)
	return submitted
}

func awaitRuns() {
	until := time.Now().Add(patience)
	for i := range notes {
		for atomic.LoadUint32(&notes[i].runs) < due[i] {
			if time.Now().After(until) {
				fail("a task never ran")
			}
			time.Sleep(look)
		}
		if atomic.LoadUint32(&notes[i].runs) > due[i] {
			fail("a task ran twice")
		}
	}
}

func submitRound(producers int) time.Duration {
	ready, starts, before := make(chan struct{}), make(chan time.Time, producers), due[0]
	expectRound()
	produce := func(number int) {
		<-ready
		starts <- time.Now()
		for sent := before; sent < before+times; sent++ {
			for i := slots * number / producers; i < slots*(number+1)/producers; i++ {
				for atomic.LoadUint32(&notes[i].runs) < sent {
					time.Sleep(look)
				}
				submit(i)
			}
		}
	}
	if producers == 2 {
		go produce(1)
	}
	close(ready)
	produce(0)
	first := <-starts
	if producers == 2 {
		if other := <-starts; other.Before(first) {
			first = other
		}
	}
	awaitRuns()
	return time.Since(first) * 1000 / submitted
}

func innerRound() time.Duration {
	operations := expectRound()
	start(cell)
	select {
	case took := <-over:
		awaitRuns()
		return took * 1000 / time.Duration(operations)
	case <-time.After(patience):
		fail("a round never ended: a task never ran")
	}
	return 0
}

func resultRound() time.Duration {
	if cell == "idle10" {
		time.Sleep(10 * time.Millisecond)
	}
	due[0]++
	begin := time.Now()
	result()
	took := time.Since(begin)
	if atomic.LoadUint32(&notes[0].runs) != due[0] {
		fail("task 0 ran never or twice")
	}
	return took * 1000
}

// In picoseconds an operation.
func rounds(seconds float64) (samples []time.Duration) {
	for begin := time.Now(); len(samples) < 3 || time.Since(begin).Seconds() < seconds; {
		switch cell {
		case "submit1":
			samples = append(samples, submitRound(1))
		case "submit2":
			samples = append(samples, submitRound(2))
		case "result", "idle10":
			samples = append(samples, resultRound())
		default:
			samples = append(samples, innerRound())
		}
	}
	return samples
}

func processCPU() float64 {
	var used syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 2, uintptr(unsafe.Pointer(&used)), 0) // CLOCK_PROCESS_CPUTIME_ID
	return float64(used.Nano()) / 1e6
}

func main() {
	if len(os.Args) != 4 || (os.Args[1] != "channels" && os.Args[1] != "goroutines") {
		fail("usage: channels|goroutines CELL SECONDS")
	}
	cell = os.Args[2]
	seconds, _ := strconv.ParseFloat(os.Args[3], 64)
	runtime.GOMAXPROCS(workers)
	if os.Args[1] == "channels" {
		queue = make(chan *note, 1024)
		for i := 0; i < workers; i++ {
			if cell == "result" || cell == "idle10" {
				go answering()
			} else {
				go work()
			}
		}
	}
	if cell == "idle" {
		submitRound(1)
		used := processCPU()
		time.Sleep(time.Duration(seconds * 1e9))
		fmt.Printf("cpu_ms=%.4f elapsed_ms=%.1f\n", processCPU()-used, 1e3*seconds)
		return
	}
	rounds(0.05)
	begin := time.Now()
	samples := rounds(seconds)
	elapsed := time.Since(begin)
	awaitRuns()
	sort.Slice(samples, func(a, b int) bool { return samples[a] < samples[b] })
	at := func(part int) float64 { return float64(samples[(len(samples)-1)*part/100]) / 1000 }
	fmt.Printf("ns=%.2f ns_min=%.2f ns_max=%.2f p99_ns=%.2f rounds=%d elapsed_ms=%.1f\n", at(50), at(0), at(100), at(99),
		len(samples), elapsed.Seconds()*1000)
}
