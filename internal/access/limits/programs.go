package limits

import "sync"

const (
	// forPrograms is the part of the process's memory that programs may take from it, one of three: with less, the
	// process could not keep its caches and running requests.
	forPrograms = 3
	// unnoticed is the part that programs take without a change, one of sixteen: most machines have the room.
	unnoticed = 16
)

// programs is the memory of running programs. The control group counts it together with that of the process, whose own
// bound shrinks meanwhile: otherwise the process would fill with garbage the room that a program needs.
type programs struct {
	process int64
	set     func(bytes int64)

	mu       sync.Mutex
	sum      int64
	bound    int64 // of the process, as it was set
	changing bool
}

// add changes the sum. The bound follows beside the request: a change waits for the garbage collector, and a program
// that ends at once, such as that of a fetch with nothing new, needs none.
func (p *programs) add(memory int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum += memory
	if !p.changing && p.wanted() != p.bound {
		p.changing = true
		go p.change()
	}
}

// change sets the bound until it is the wanted one.
func (p *programs) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for bound := p.wanted(); bound != p.bound; bound = p.wanted() {
		p.bound = bound
		p.mu.Unlock()
		p.set(bound)
		p.mu.Lock()
	}
	p.changing = false
}

// wanted is what the process may take beside the present programs. The caller holds mu.
func (p *programs) wanted() int64 {
	if p.sum <= p.process/unnoticed {
		return p.process
	}
	return p.process - min(p.sum, p.process/forPrograms)
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
