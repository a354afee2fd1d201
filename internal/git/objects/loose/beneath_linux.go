package loose

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// beneath reads small files below a root with few system calls: one openat2(2) finds a name of any
// depth and refuses names that lead out of the root, while [os.Root] opens and closes each folder
// on the way. No descriptor outlives the call, so the poller need not register it. beneath only
// reports success; after any failure the os.Root has to be asked for the reason. On kernels before
// 5.6, and in sandboxes that forbid the system call, it reads nothing.
type beneath struct {
	folder *os.File
	conn   syscall.RawConn
}

func newBeneath(root *os.Root) *beneath {
	folder, err := root.Open(".")
	if err != nil {
		return &beneath{}
	}
	conn, err := folder.SyscallConn()
	if err != nil {
		_ = folder.Close()
		return &beneath{}
	}
	return &beneath{folder: folder, conn: conn}
}

func (b *beneath) close() error {
	if b.folder == nil {
		return nil
	}
	return b.folder.Close()
}

// readFile reads a regular file of at most limit bytes whole into *buf, which grows if necessary.
func (b *beneath) readFile(name string, buf *[]byte, limit int64) (content []byte, ok bool) {
	if b.conn == nil {
		return nil, false
	}
	// Control keeps the folder open while its descriptor is used.
	err := b.conn.Control(func(root uintptr) {
		content, ok = readBeneath(int(root), name, buf, limit)
	})
	return content, ok && err == nil
}

func readBeneath(root int, name string, buf *[]byte, limit int64) ([]byte, bool) {
	fd, err := unix.Openat2(root, name, &unix.OpenHow{
		// Opening a named pipe would wait for a writer without O_NONBLOCK.
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, false
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > limit {
		return nil, false
	}
	if int64(cap(*buf)) < stat.Size {
		*buf = make([]byte, stat.Size)
	}
	content := (*buf)[:stat.Size]
	n, err := unix.Pread(fd, content, 0)
	return content, err == nil && n == len(content)
}
