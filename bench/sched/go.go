// SPDX-License-Identifier: MIT
// Go beside us: its scheduler's yield, spawn and timers. It has no virtual time (1.19).
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

func best(rounds int, f func() float64) float64 {
	b := 0.0
	for i := 0; i < rounds; i++ {
		if v := f(); i == 0 || v < b {
			b = v
		}
	}
	return b
}

func main() {
	runtime.GOMAXPROCS(1)
	for _, tasks := range []int{10, 1000} {
		yields := 1000000 / tasks
		fmt.Printf("step_%d_fifo_ns %.1f\n", tasks, best(5, func() float64 {
			var wg sync.WaitGroup
			wg.Add(tasks)
			t := time.Now()
			for i := 0; i < tasks; i++ {
				go func() {
					for k := 0; k < yields; k++ {
						runtime.Gosched()
					}
					wg.Done()
				}()
			}
			wg.Wait()
			return float64(time.Since(t).Nanoseconds()) / float64(tasks*yields)
		}))
	}
	fmt.Printf("spawn_run_join_ns %.1f\n", best(5, func() float64 {
		t := time.Now()
		for i := 0; i < 100000; i++ {
			done := make(chan int)
			go func() { done <- 1 }()
			<-done
		}
		return float64(time.Since(t).Nanoseconds()) / 100000
	}))
	all := make([]*time.Timer, 1000000)
	for i := range all {
		all[i] = time.NewTimer(time.Duration(3600+i%977) * time.Second)
	}
	fmt.Printf("timer_insert_1m_ns %.1f\n", best(5, func() float64 {
		more := make([]*time.Timer, 100000)
		t := time.Now()
		for i := range more {
			more[i] = time.NewTimer(time.Duration(3600+i%977) * time.Second)
		}
		ns := float64(time.Since(t).Nanoseconds()) / 100000
		for _, m := range more {
			m.Stop()
		}
		return ns
	}))
}
