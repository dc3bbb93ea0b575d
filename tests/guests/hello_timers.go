// A static Go program with sleeps, tickers and a timeout. EXPECT in box_runtimes.sh.
package main

import (
	"fmt"
	"time"
)

func main() {
	start := time.Now()
	fmt.Println(start.UTC().Format(time.RFC3339))
	time.Sleep(24 * time.Hour)
	ticker := time.NewTicker(time.Hour)
	for i := 0; i < 3; i++ {
		fmt.Println((<-ticker.C).UTC().Format(time.RFC3339))
	}
	ticker.Stop()
	select {
	case <-make(chan int):
	case <-time.After(90 * time.Second):
		fmt.Println("timeout")
	}
	fmt.Println(time.Since(start))
}
