package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server with ten times its possible load keeps four fifths of its throughput, and slow readers do
// not delay others.
func TestOverloadKeepsGoodput(t *testing.T) {
	if os.Getenv("REPOMCP_SOAK") != "1" {
		t.Skip("it measures, and wants a quiet machine: set REPOMCP_SOAK=1")
	}
	p := start(t, blamedRoot(t, "repo", "long.txt"), "--log-level", "error")
	peak := max(p.goodput(8, 10*time.Second), p.goodput(16, 10*time.Second))
	over := p.goodput(160, 10*time.Second)
	t.Logf("%d archives in 10 s at the peak, %d at ten times the load", peak, over)
	if over < peak*8/10 {
		t.Error("that is less than 80 percent")
	}
	alone := p.latency(1000)
	ctx, cancel := context.WithCancel(t.Context())
	c := newRush(rushOrders{URL: p.url, Repository: "repo", Refs: []string{"main"}})
	var slow sync.WaitGroup
	for i := range 200 {
		slow.Go(func() { c.run(ctx, "slow", i, c.download("tar.gz")) })
	}
	time.Sleep(5 * time.Second) // the buffers of all connections fill
	beside := p.latency(1000)
	cancel()
	slow.Wait()
	t.Logf("the slowest of 100 small files: %v alone, %v beside 200 slow readers (%v)", alone, beside,
		c.report.Statuses)
	if beside > max(2*alone, 5*time.Millisecond) {
		t.Error("that is more than twice as long")
	}
}

// goodput is how many archives so many clients get whole in a time, one after the other.
func (p *process) goodput(clients int, duration time.Duration) (whole int64) {
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var n, number atomic.Int64
	var all sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				url := fmt.Sprintf("%s/archive/repo/main.tar.gz?prefix=%d/&path=long.txt", p.url, number.Add(1))
				if status, err := readWhole(ctx, client, url); err == nil && status == http.StatusOK {
					n.Add(1)
				}
			}
		})
	}
	all.Wait()
	return n.Load()
}

// latency is the 99th percentile of the time in which a small file comes.
func (p *process) latency(times int) time.Duration {
	took := make([]time.Duration, times)
	for i := range took {
		start := time.Now()
		if status, err := readWhole(context.Background(), p.client, p.url+"/raw/repo/main/long.txt"); err != nil ||
			status != http.StatusOK {
			p.tb.Fatal(status, err)
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[times*99/100]
}

// readWhole reads a whole reply.
func readWhole(ctx context.Context, client *http.Client, url string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	reply, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reply.Body.Close() }()
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, err
}
