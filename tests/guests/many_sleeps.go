// Many short sleeps, for the benchmark: many_sleeps_go COUNT.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	start := time.Now()
	for i := 0; i < count; i++ {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(time.Since(start))
}
