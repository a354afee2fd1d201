package archive

import (
	"fmt"
	"sync"

	"github.com/repomcp/repomcp/internal/archive/gzip"
	"github.com/repomcp/repomcp/internal/archive/workers"
)

// EngineOptions of an [Engine]. The zero value is good for a server.
type EngineOptions struct {
	// Workers is how many processors archives may use together; 0 means all.
	Workers int
	// Level of compression, 1 to 9; 0 means the default.
	Level int
}

// Engine is what all archives of a process share: workers, compressors and
// buffers. Close it after the last archive.
type Engine struct {
	level      int
	sched      *workers.Scheduler
	compressor *gzip.Compressor
	runs       sync.Pool
	extra      chan struct{} // runs that archives may have beyond their own
	chunks     sync.Pool
}

// NewEngine starts the workers.
func NewEngine(o EngineOptions) (*Engine, error) {
	if o.Level == 0 {
		o.Level = gzip.DefaultLevel
	}
	if o.Level < gzip.MinLevel || o.Level > gzip.MaxLevel {
		return nil, fmt.Errorf("compression level %d is not in %d to %d", o.Level, gzip.MinLevel, gzip.MaxLevel)
	}
	sched := workers.New(o.Workers)
	held := newStock(sched.Workers() + ownRuns)
	extra := make(chan struct{}, sharedRuns*sched.Workers())
	for range cap(extra) {
		extra <- struct{}{}
	}
	return &Engine{
		extra: extra,
		level: o.Level, sched: sched, compressor: gzip.New(sched, gzip.Options{}),
		runs: sync.Pool{New: func() any { return newRun(held) }},
	}, nil
}

// takeChunk gives a buffer for a part of a large file.
func (e *Engine) takeChunk() []byte {
	if b, ok := e.chunks.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, chunkBytes)
}

func (e *Engine) giveChunk(b []byte) {
	b = b[:cap(b)]
	e.chunks.Put(&b)
}

// Close ends the workers.
func (e *Engine) Close() { e.sched.Close() }
