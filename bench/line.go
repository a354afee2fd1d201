//go:build linux

package main

import (
	"context"
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

// lane is one direction of a line, which all connections share.
type lane struct {
	mu   sync.Mutex
	free time.Time // when what was sent last has left
}

// openLine listens for a proxy that is as far away as oneWay, and as narrow as lineRate
// in either direction. The round trip that opens a connection is paid with its first
// bytes. Windows that grow are not imitated.
func openLine(ctx context.Context, to string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(hostname(), "0"))
	if err != nil {
		return nil, err
	}
	var up, down lane
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go up.carry(out, in, time.Now().Add(3*oneWay))
			go down.carry(in, out, time.Now())
		}
	}()
	return listener, nil
}

// leave is when so many bytes, which are here now, have left.
func (l *lane) leave(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / lineRate * float64(time.Second)))
	return l.free
}

// carry copies one direction to its end. Nothing comes before the earliest time.
func (l *lane) carry(to, from net.Conn, earliest time.Time) {
	way := make(chan func() error, underWay)
	go func() {
		defer close(way)
		for err := error(nil); err == nil; {
			bytes, n := make([]byte, packet), 0
			n, err = from.Read(bytes)
			due := l.leave(n).Add(oneWay)
			way <- func() error {
				time.Sleep(max(time.Until(due), time.Until(earliest)))
				_, err := to.Write(bytes[:n])
				return err
			}
		}
	}()
	for deliver := range way {
		if deliver() != nil {
			_ = from.Close() // what still comes is lost
		}
	}
	_ = to.(*net.TCPConn).CloseWrite() // the other end may have closed it
}
