package fastopen

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// queue is how many connections may wait that have sent bytes and not yet shown that
// they receive any: those beyond are opened as ever.
const queue = 256

// dial is the Control of a [net.Dialer] whose first bytes travel with the packet that
// opens the connection. To a server that was never met this asks for its cookie.
// That nobody listens is then an error of the first read or write.
func dial(_, _ string, socket syscall.RawConn) error {
	return set(socket, unix.TCP_FASTOPEN_CONNECT, 1)
}

// Listen is the Control of a [net.ListenConfig] that takes such bytes.
func Listen(_, _ string, socket syscall.RawConn) error {
	return set(socket, unix.TCP_FASTOPEN, queue)
}

// set leaves a socket as it is that has no such option: one of an old kernel, or no TCP.
func set(socket syscall.RawConn, option, value int) error {
	return socket.Control(func(descriptor uintptr) {
		_ = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_TCP, option, value) // likewise
	})
}
