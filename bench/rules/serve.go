// SPDX-License-Identifier: MIT
// Arguments, the run and what is printed; see peers/puddle/async.go.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/puddle"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func statusOf(field string) float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, field) {
			value, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return value
		}
	}
	return -1
}

func percentile(part float64, max time.Duration) float64 {
	var sums [64 * steps]uint64
	var total, seen uint64
	for _, shard := range waits {
		for length, count := range shard {
			sums[length] += count
			total += count
		}
	}
	for length, count := range sums {
		seen += count
		if seen > 0 && float64(seen) >= part*float64(total) {
			ns := float64(uint64(1)<<(length/steps)) * (1 + float64(length%steps+1)/steps)
			if ns < float64(max) {
				return ns / 1e3
			}
			break
		}
	}
	return float64(max) / 1e3
}

func start(count uint64, done *sync.WaitGroup) []*client {
	clients := make([]*client, count)
	for i := range clients {
		clients[i] = &client{}
	}
	done.Add(len(clients))
	for i := range clients {
		i := i
		go func() { clients[i].run(uint64(i)); done.Done() }()
	}
	return clients
}

func run(count uint64, length time.Duration) {
	var done sync.WaitGroup
	pool = puddle.NewPool(construct, func(interface{}) { atomic.AddInt64(&opened, -1) }, int32(size))
	for i := uint64(0); open == 0 && i < size; i++ {
		pool.CreateResource(nil)
	}
	if test > 0 {
		go rounds()
	}
	cpu, begin := cpuSeconds(), time.Now()
	clients := start(count, &done)
	time.Sleep(length)
	cpu = cpuSeconds() - cpu
	threads, rss := statusOf("Threads:"), statusOf("VmRSS:")
	end = time.Since(base)
	atomic.StoreInt32(&over, 1)
	elapsed := time.Since(begin)
	time.AfterFunc(5*time.Second, func() { fail("a take was never served: an object was lost") })
	done.Wait()
	var pairs, starved uint64
	var max time.Duration
	for i, c := range clients {
		if pairs += c.pairs; c.pairs == 0 && !(stuck && i == 0) {
			starved++
		}
		if c.max > max {
			max = c.max
		}
	}
	callRoll(pairs)
	fmt.Printf("pairs=%d ns=%.2f per_s=%.0f wait_p50_us=%.3f wait_p99_us=%.3f wait_max_us=%.3f starved=%d threads=%.0f rss_kib=%.0f "+
		"cpu_s=%.4f cpu_us=%.3f elapsed_ms=%.1f\n", pairs, float64(elapsed)/float64(pairs), float64(pairs)/elapsed.Seconds(),
		percentile(0.5, max), percentile(0.99, max), float64(max)/1e3, starved, threads, rss, cpu,
		1e6*cpu/float64(pairs), float64(elapsed)/1e6)
}

func pending(count int) {
	var done sync.WaitGroup
	pool = puddle.NewPool(construct, func(interface{}) {}, 1)
	kept := take()
	runtime.GC()
	before := statusOf("VmRSS:")
	for i := 0; i < count; i++ {
		done.Add(1)
		go func() { take().Release(); done.Done() }()
	}
	time.Sleep(300 * time.Millisecond)
	after, begin := statusOf("VmRSS:"), time.Now()
	kept.Release()
	done.Wait()
	fmt.Printf("pending_bytes=%.1f request_bytes=0 serve_ns=%.1f\n", (after-before)*1024/float64(count),
		float64(time.Since(begin))/float64(count))
}

func number(text string) (value uint64) {
	if _, err := fmt.Sscan(text, &value); err != nil {
		fail(err.Error())
	}
	return
}

func main() {
	words := os.Args[1:]
	if size = 1; len(words) == 2 && words[0] == "pending" {
		pending(int(number(words[1])))
		return
	}
	names := map[string]*uint64{"think": &think, "open": &open, "test": &test, "every": &every, "uses": &uses}
	for _, word := range words[4:] {
		if pair := strings.SplitN(word, "=", 2); len(pair) == 2 && names[pair[0]] != nil {
			*names[pair[0]] = number(pair[1])
		} else if stuck = word == "stuck"; !stuck {
			fail(word + " is not known")
		}
	}
	size, hold = number(words[1]), number(words[2])
	seconds, _ := strconv.ParseFloat(words[3], 64)
	run(number(words[0]), time.Duration(seconds*1e9))
}
