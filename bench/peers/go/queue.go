// SPDX-License-Identifier: MIT
// Go's buffered channel, by the rules of rules/transfer.h. The workers are
// goroutines, as Go programs have them; GOMAXPROCS stays at its default.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sequenceBits = 48
	producersMax = 64
	warmUpRounds = 16
	ackSpin      = time.Millisecond
)

var base = time.Now() // durations since then are on the monotonic clock

type result struct {
	start, end    time.Duration
	sum, disorder uint64
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		fail(err.Error())
	}
	return value
}

func produce(queue chan<- uint64, number, quota uint64) {
	first := number << sequenceBits
	for sequence := uint64(1); sequence <= quota; sequence++ {
		queue <- first | sequence
	}
}

func consume(queue <-chan uint64, quota uint64) (sum, disorder uint64) {
	var newest [producersMax]uint64
	for ; quota > 0; quota-- {
		element := <-queue
		before := &newest[(element>>sequenceBits)%producersMax]
		sum += element
		if element <= *before {
			disorder++
		}
		*before = element
	}
	return
}

func transfer(queue chan uint64, producers, consumers, elements uint64) {
	total := producers * elements
	results := make([]result, producers+consumers)
	var ready, done sync.WaitGroup
	line := make(chan struct{})
	ready.Add(len(results))
	done.Add(len(results))
	worker := func(mine *result, work func() (uint64, uint64)) {
		go func() {
			ready.Done()
			<-line
			start := time.Since(base)
			sum, disorder := work()
			*mine = result{start, time.Since(base), sum, disorder}
			done.Done()
		}()
	}
	for i := uint64(0); i < producers; i++ {
		i := i
		worker(&results[i], func() (uint64, uint64) { produce(queue, i, elements); return 0, 0 })
	}
	for i := uint64(0); i < consumers; i++ {
		quota := (total + consumers - 1 - i) / consumers // the first ones take what does not divide
		worker(&results[producers+i], func() (uint64, uint64) { return consume(queue, quota) })
	}
	ready.Wait()
	close(line)
	done.Wait()

	var sum, disorder, expected uint64
	sort.Slice(results, func(a, b int) bool { return results[a].end < results[b].end })
	end := results[len(results)-1].end
	sort.Slice(results, func(a, b int) bool { return results[a].start < results[b].start })
	start := results[0].start
	for _, r := range results {
		sum += r.sum
		disorder += r.disorder
	}
	for p := uint64(0); p < producers; p++ {
		expected += (p<<sequenceBits)*elements + elements*(elements+1)/2
	}
	if sum != expected || disorder != 0 {
		fail("elements were lost or doubled, or overtook an older one of the same producer")
	}
	fmt.Printf("elapsed_ns=%d elements=%d\n", end-start, total)
}

func wake(queue chan uint64, rounds int, pause time.Duration) {
	all := rounds + warmUpRounds
	took := make([]int, all)
	var acknowledged int64
	go func() {
		for i := range took {
			stamp := <-queue
			took[i] = int(time.Since(base)) - int(stamp)
			atomic.StoreInt64(&acknowledged, int64(i+1))
		}
	}()
	for i := range took {
		for until := time.Since(base) + pause; time.Since(base) < until; {
		}
		stamp := time.Since(base)
		queue <- uint64(stamp)
		for atomic.LoadInt64(&acknowledged) <= int64(i) {
			if time.Since(base) > stamp+ackSpin {
				runtime.Gosched()
			}
		}
	}
	took = took[warmUpRounds:]
	sort.Ints(took)
	fmt.Printf("p50_ns=%d p99_ns=%d max_ns=%d rounds=%d\n", took[rounds/2], took[rounds*99/100], took[rounds-1], all)
}

func main() {
	words := os.Args[1:]
	if len(words) == 6 && words[0] == "transfer" && words[1] == "bounded" {
		transfer(make(chan uint64, number(words[2])), number(words[3]), number(words[4]), number(words[5]))
	} else if len(words) == 5 && words[0] == "wake" && words[1] == "bounded" {
		pause := time.Duration(number(words[4])) * time.Microsecond
		wake(make(chan uint64, number(words[2])), int(number(words[3])), pause)
	} else {
		fail("usage: transfer bounded CAPACITY PRODUCERS CONSUMERS ELEMENTS | wake bounded CAPACITY ROUNDS PAUSE-US")
	}
}
