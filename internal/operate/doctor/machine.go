package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
)

const (
	// skew is the tolerated difference of clocks: links and tokens tolerate a minute.
	skew = 30 * time.Second
	// mostSkew is the difference at which links of one machine are invalid on the other.
	mostSkew = 5 * time.Minute
	// watchesEach is the approximate number of watched folders per mirror.
	watchesEach = 4
	// spareDescriptors are needed for other purposes than packs and connections.
	spareDescriptors = 64
	// leastMemory is that of a container of 256 MiB, which holds a crowd of downloads and searches. One of 128 MiB does
	// not: the program and its workers leave too little of it.
	leastMemory = 256 << 20 / 10 * 9
)

// machine holds the limits of the process.
type machine struct {
	descriptors int64 // 0: unknown
	memory      int64 // of the container; 0: no limit
	tasks       int   // threads and processes
	watches     int64 // of inotify; 0: unknown
	free        func(dir string) (int64, error)
}

func thisMachine() machine {
	return machine{
		descriptors: descriptorLimit(), memory: limits.ContainerMemory(), tasks: limits.Tasks(), watches: watchLimit(),
		free: freeBytes,
	}
}

// watchLimit returns the number of inotify watches per user (inotify(7)).
func watchLimit() int64 {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_watches") // absent on other systems
	limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit
}

func (e *examination) checkDescriptors(context.Context) {
	limit := e.machine.descriptors
	if limit == 0 {
		return
	}
	connections := int64(e.Connections)
	if connections == 0 {
		connections = min(limit, int64(e.machine.tasks)) / 2
	}
	left := limit - connections - spareDescriptors
	switch packs := int64(e.mirrors.packs); {
	case left <= 0:
		e.fault("--max-connections", fmt.Sprintf("%d connections leave none of %d descriptors for packs", connections,
			limit),
			"raise LimitNOFILE")
	case packs > left:
		e.warn("", fmt.Sprintf("%d packs, and %d of %d descriptors for them: they are opened again and again", packs,
			left, limit), "raise LimitNOFILE, or repack the mirrors")
	default:
		e.ok(fmt.Sprintf("%d, for %d packs and as many as %d connections", limit, packs, connections))
	}
}

func (e *examination) checkTasks(context.Context) {
	switch tasks := e.machine.tasks; {
	case tasks == math.MaxInt:
	case e.Connections > tasks/2:
		e.warn("--max-connections", fmt.Sprintf("%d requests that wait for a disk need a thread each, and the server "+
			"ends where it gets none of %d", e.Connections, tasks),
			"raise TasksMax of the unit or the container's limit of pids")
	default:
		e.ok(fmt.Sprintf("%d threads and processes", tasks))
	}
}

func (e *examination) checkMemory(context.Context) {
	limit, budget := e.machine.memory, e.Budget
	if limit > 0 && budget >= limit {
		e.warn("", "the server keeps within "+size(budget)+", which is not below the container's limit of "+size(limit),
			fmt.Sprintf("leave out --memory-budget and GOMEMLIMIT, or set them to %dMiB", limit/10*9>>20))
	}
	if budget < leastMemory {
		e.warn("", "the server keeps within "+size(budget)+", which is too little for many requests at a time",
			"give it "+size(leastMemory)+", or a container of 256 MiB")
	}
	if e.Memory > budget/2 {
		e.warn("", "--history-cache, --index-memory and --search-cache may take "+size(e.Memory)+" of "+size(budget),
			"lower them")
	}
	if e.quiet() {
		e.ok("the server keeps within " + size(budget))
	}
}

func (e *examination) checkWatches(context.Context) {
	if e.machine.watches == 0 || e.Watched == 0 {
		return
	}
	need := watchesEach * int64(min(e.Watched, e.mirrors.count))
	if e.machine.watches < need {
		e.warn("fs.inotify.max_user_watches", fmt.Sprintf("%d are fewer than the %d that watching all mirrors takes; "+
			"the others are looked at twice a second", e.machine.watches, need), "raise it with sysctl, or use "+
			"--no-file-events")
		return
	}
	e.ok(fmt.Sprintf("%d watches", e.machine.watches))
}

func (e *examination) checkClocks(context.Context) {
	for name, r := range e.clocks {
		off := r.ours.Sub(r.theirs)
		word := "ahead of"
		if off < 0 {
			off, word = -off, "behind"
		}
		text := fmt.Sprintf("this machine is %v %s %s", off.Round(time.Second), word, name)
		switch {
		case off > mostSkew:
			e.fault("", text, "synchronise both with NTP: links and signed URLs are refused")
		case off > skew:
			e.warn("", text, "synchronise both with NTP")
		}
	}
	if e.quiet() && len(e.clocks) > 0 {
		e.ok(fmt.Sprintf("within %v of %s", skew, counted(len(e.clocks), "other machine", "other machines")))
	}
}

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// withoutURL removes a signed URL from an error: it is a secret until it expires.
func withoutURL(err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
