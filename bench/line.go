package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// oneWay is half of what a round trip takes, and lineRate in bytes a second.
	oneWay   = 20 * time.Millisecond
	lineRate = 100e6 / 8
	// packet is the unit of delay and rate, underWay how many a direction holds:
	// more than the rate lets come in a round trip.
	packet, underWay = 16 << 10, 64
)

// line is a proxy that is as far away as oneWay, and as narrow as lineRate in either
// direction, for all connections together. That a connection costs a round trip to
// begin is paid with its first bytes. Windows that grow are not imitated.
type line struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup
	up, down lane
}

// lane is one direction.
type lane struct {
	mu   sync.Mutex
	free time.Time // when what was sent last has left
}

// leave is when so many bytes, given now, have left.
func (l *lane) leave(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / lineRate * float64(time.Second)))
	return l.free
}

func openLine(ctx context.Context, to string) (*line, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(hostname(), "0"))
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, to: to}
	l.running.Go(func() { l.accept(ctx) })
	return l, nil
}

func (l *line) port() string {
	_, port, _ := net.SplitHostPort(l.listener.Addr().String())
	return port
}

// close waits for connections, which end with the servers or the clients.
func (l *line) close() {
	_ = l.listener.Close()
	l.running.Wait()
}

func (l *line) accept(ctx context.Context) {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		out, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		l.running.Go(func() { l.up.carry(out, in, 2*oneWay) })
		l.running.Go(func() { l.down.carry(in, out, 0) })
	}
}

// carried are bytes on their way.
type carried struct {
	bytes []byte
	due   time.Time
}

// carry copies one direction to its end. What comes first is later by a delay.
func (l *lane) carry(to, from net.Conn, delay time.Duration) {
	way, began := make(chan carried, underWay), time.Now()
	go func() {
		defer close(way)
		for {
			bytes := make([]byte, packet)
			n, err := from.Read(bytes)
			due := l.leave(n).Add(oneWay)
			if early := began.Add(delay + oneWay); due.Before(early) {
				due = early
			}
			way <- carried{bytes[:n], due}
			if err != nil {
				return
			}
		}
	}()
	var err error
	for c := range way {
		if time.Sleep(time.Until(c.due)); err == nil {
			_, err = to.Write(c.bytes)
		}
		if err != nil {
			_ = from.Close()
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok && !errors.Is(err, io.EOF) {
		_ = half.CloseWrite()
	}
}
