package limits

import "sync"

const (
	// forPrograms is the part of the process's memory that programs may take from it, one of three: with less, the
	// process could not keep its caches and running requests.
	forPrograms = 3
	// unnoticed is the part that programs take without a change, one of sixteen. A change of the bound stops all
	// goroutines, and most machines have the room.
	unnoticed = 16
)

// programs is the memory of running programs. The control group counts it together with that of the process, whose own
// bound shrinks meanwhile: otherwise the process would fill with garbage the room that a program needs.
type programs struct {
	process int64
	set     func(bytes int64)

	mu    sync.Mutex
	sum   int64
	bound int64 // of the process, as it was set
}

// add changes the sum, and the bound of the process if that matters.
func (p *programs) add(memory int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum += memory
	bound := p.process
	if p.sum > p.process/unnoticed {
		bound -= min(p.sum, p.process/forPrograms)
	}
	if bound != p.bound {
		p.bound = bound
		p.set(bound)
	}
}

// Program makes room for the memory of a program that runs beside the process, until end is called. It does not wait: a
// gate has admitted the request.
func (l *Limiter) Program(memory int64) (end func()) {
	if l == nil || l.programs.set == nil {
		return func() {}
	}
	l.programs.add(memory)
	return sync.OnceFunc(func() { l.programs.add(-memory) })
}
