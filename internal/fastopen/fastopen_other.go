//go:build !linux

package fastopen

import "syscall"

// dial is the Control of a [net.Dialer]; here it changes nothing.
func dial(_, _ string, _ syscall.RawConn) error { return nil }

// Listen is the Control of a [net.ListenConfig]; here it changes nothing.
func Listen(_, _ string, _ syscall.RawConn) error { return nil }
