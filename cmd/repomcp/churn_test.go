package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// rewrite does to the mirror what leaves all that is served there, every 50 ms.
func (m *churnedMirror) rewrite(ctx context.Context) (rounds int) {
	for ; ctx.Err() == nil; rounds++ {
		begun := time.Now()
		m.push(rounds%2 == 0)
		m.git(m.dir, "branch", "-f", "other", "main")
		m.git(m.dir, "-c", "pack.threads=1", "repack", "-adq")
		m.git(m.dir, "branch", "-D", "other")
		m.git(m.dir, "gc", "-q", "--prune=now")
		time.Sleep(time.Until(begun.Add(50 * time.Millisecond)))
	}
	return rounds
}

// TestStreamsOverAMirrorThatIsRewritten takes archives of a branch that is force-pushed
// and pruned away meanwhile: none is refused, broken or wrong.
func TestStreamsOverAMirrorThatIsRewritten(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := newSoak(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rounds := make(chan int, 1)
	go func() { rounds <- s.mirrors[1].rewrite(ctx) }()
	var running sync.WaitGroup
	for i := range 5 {
		running.Go(func() {
			c := &asking{soak: s, ctx: ctx, m: s.mirrors[1], random: rand.New(rand.NewPCG(uint64(i), 3))}
			for range gittest.Volume(12, 100) {
				c.least = int(c.m.published.Load())
				if err := c.archive(); err != nil {
					s.problem("%v", err)
				}
				s.count("archives")
			}
		})
	}
	running.Wait()
	stop()
	for _, p := range s.problems {
		t.Error(p)
	}
	n := <-rounds
	t.Logf("%d archives while the mirror was rewritten %d times, %d problems", s.counts["archives"], n,
		s.counts["problems"])
	if n == 0 {
		t.Error("nothing was rewritten")
	}
}

// TestClientsThatResetLeaveNothing has clients break off in the middle of downloads.
func TestClientsThatResetLeaveNothing(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root, _ := bulkyRoot(t)
	p, admin := startWithAdmin(t, root)
	s := &soak{t: t, p: p, admin: admin, counts: make(map[string]int)}
	p.client = &http.Client{Transport: &http.Transport{IdleConnTimeout: time.Second}}
	reset := func(clients int) {
		var running sync.WaitGroup
		for i := range clients {
			running.Go(func() {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }() // it is reset
				path := []string{"/raw/repo/main/large", "/archive/repo/main.tar", "/archive/repo/main.tar.gz"}[i%3]
				_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
				if _, failed := io.CopyN(io.Discard, conn, 1<<20); err != nil || failed != nil {
					t.Errorf("%s: %v, %v", path, err, failed)
				}
				if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
					t.Error(err)
				}
			})
			if i%20 == 19 {
				running.Wait()
			}
		}
		running.Wait()
	}
	reset(20)
	before := s.measure()
	reset(gittest.Volume(100, 1000))
	begun := time.Now()
	gittest.Await(t, "no stream is in flight", func() bool { return p.number(t, admin, "repomcp_streams_in_flight") == 0 })
	ended := time.Since(begun)
	after := s.measure()
	t.Logf("the work ended after %v; before: %v; after: %v", ended, before, after)
	if ended > 5*time.Second || after.goroutines > before.goroutines+4 || after.descriptors > before.descriptors+4 {
		t.Error("something is left behind")
	}
	for _, problem := range s.problems {
		t.Error(problem)
	}
}
