// main.go - a queue of Asynq: asynq worker|producer SOCKET [CONCURRENCY]
//
// The producer reads "N VERB" a line and prints the seconds that it took:
//
//	one   N tasks one after the other
//	many  N tasks by 50 goroutines: Asynq has no call for many
//	weigh the same of tasks that carry a text of 200 bytes
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

const enqueuers = 50

func enqueue(client *asynq.Client, count int, text []byte) {
	for i := 0; i < count; i++ {
		_, err := client.Enqueue(asynq.NewTask("empty", text), asynq.Retention(24*time.Hour))
		if err != nil {
			log.Fatal(err)
		}
	}
}

func enqueueMany(client *asynq.Client, count int, text []byte) {
	var group sync.WaitGroup
	for i := 0; i < enqueuers; i++ {
		share := count / enqueuers
		if i < count%enqueuers {
			share++
		}
		group.Add(1)
		go func() {
			defer group.Done()
			enqueue(client, share, text)
		}()
	}
	group.Wait()
}

func produce(redis asynq.RedisConnOpt) {
	client := asynq.NewClient(redis)
	defer client.Close()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var count int
		var verb string
		if _, err := fmt.Sscan(lines.Text(), &count, &verb); err != nil {
			log.Fatal(err)
		}
		start := time.Now()
		switch verb {
		case "weigh":
			enqueueMany(client, count, bytes.Repeat([]byte("x"), 200))
		case "many":
			enqueueMany(client, count, nil)
		default:
			enqueue(client, count, nil)
		}
		fmt.Printf("%.6f\n", time.Since(start).Seconds())
	}
}

func work(redis asynq.RedisConnOpt, concurrency int) {
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency: concurrency,
		LogLevel:    asynq.WarnLevel,
	})
	empty := func(ctx context.Context, task *asynq.Task) error {
		_, err := task.ResultWriter().Write([]byte("{}"))
		return err
	}
	fmt.Println("ready")
	if err := server.Run(asynq.HandlerFunc(empty)); err != nil {
		log.Fatal(err)
	}
}

func main() {
	redis := asynq.RedisClientOpt{Network: "unix", Addr: os.Args[2]}
	if os.Args[1] == "producer" {
		produce(redis)
		return
	}
	concurrency, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	work(redis, concurrency)
}
