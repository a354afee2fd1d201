// Package limits keeps a server within its memory and its processors: a request reserves what it
// needs before it begins. A request that asks for more than is left waits for a bounded time in a
// bounded queue, or is refused.
//
//	l := limits.New(limits.Options{Memory: 200 << 20})
//
//	grant, err := l.Stream(ctx, "git", 2<<20)   // a [*Refusal]: say when to come again
//	defer grant.Release()
//
// There are several gates for different kinds of work: a stream lasts as long as its client likes,
// a call as long as it takes, and a body arrives as slowly as it is sent. Slow clients of one gate
// do not delay those of another.
//
// Promises:
//   - Concurrent grants never exceed the gate's memory and number.
//   - One client never has more than its share of either, nor of the queue.
//   - Among waiting clients, the one with the least running goes first. A flood of one client does
//     not delay a single request of another by more than the running requests.
//   - No request waits longer than the patience, and a request that leaves the queue leaves nothing
//     behind.
//   - While programs run for requests, the process itself has less memory.
//
// A nil [Limiter] limits nothing.
//
// # Decisions
//
// Unused shares are not lent to other clients: a stream may last for days, and the owner of the
// share would wait that long.
package limits

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/repomcp/repomcp/internal/access"
)

const (
	// DefaultPatience is how long a request waits for its turn: less than the usual timeouts of
	// clients, and long enough for short requests to end.
	DefaultPatience = 10 * time.Second
	// DefaultShare of one client, in percent. It is a half because all clients behind a proxy have
	// one address, and all without authentication one name.
	DefaultShare = 50
	// DefaultStreams is how many streams run at a time if memory does not bound them: each has a
	// snapshot open, and with it descriptors of packs.
	DefaultStreams = 2048
	// defaultQueue is how many requests wait at a gate: large enough for a burst, and small enough
	// to be served within the patience.
	defaultQueue = 256
	// callsPerProcessor is how many calls run at a time for each processor. Calls sometimes wait
	// for files, and a long one should not delay short ones.
	callsPerProcessor = 4
	// openingsPerProcessor is how many archives are examined at a time for each processor, before
	// it is known whether their bytes are sent. That takes milliseconds, so a request always gets
	// its turn.
	openingsPerProcessor = 2
	// mostOpenings may wait: as many as there may be connections.
	mostOpenings = 10_000
	// rangesPerClient is how many ranges of generated archives one client may request at a time:
	// all bytes before a range are generated for it.
	rangesPerClient = 8
	// bodies is how many requests send large bodies at a time.
	bodies = 256
)

// These are the gates' parts of the memory, of partsOfMemory.
const (
	streamParts   = 8
	callParts     = 6
	bodyParts     = 2
	partsOfMemory = streamParts + callParts + bodyParts
)

// Options of a [Limiter]. Memory is required.
type Options struct {
	// Memory is what all requests may reserve together, in bytes.
	Memory int64
	// Process is the bound of the process's whole memory, and SetProcess changes it while programs run; nil leaves
	// it alone.
	Process    int64
	SetProcess func(bytes int64)
	// Streams is how many archives and files are sent at a time; 0 means [DefaultStreams].
	Streams int
	// Calls is how many costly calls run at a time; 0 means 4 for each processor.
	Calls int
	// Share is what one client may have of each, in percent; 0 means [DefaultShare].
	Share int
	// PerRepository is how many streams, and how many calls, of one repository run at a time; 0
	// means three quarters of all.
	PerRepository int
	// Patience is how long a request waits; 0 means [DefaultPatience].
	Patience time.Duration
}

// Limiter has the gates that requests pass.
type Limiter struct {
	streams, calls, ranges, bodies, openings *gate

	programs programs
}

// New makes a limiter.
func New(o Options) *Limiter {
	processors := runtime.GOMAXPROCS(0)
	o.Streams = cmp.Or(max(o.Streams, 0), DefaultStreams)
	o.Calls = cmp.Or(max(o.Calls, 0), callsPerProcessor*processors)
	o.Share = cmp.Or(max(o.Share, 0), DefaultShare)
	o.Patience = cmp.Or(max(o.Patience, 0), DefaultPatience)
	part := func(parts int64, most int) bounds {
		memory := max(o.Memory*parts/partsOfMemory, 1)
		return bounds{
			memory: memory, running: most, queue: defaultQueue, patience: o.Patience,
			clientMemory:  max(memory*int64(o.Share)/100, 1),
			clientRunning: max(most*o.Share/100, 1), clientQueue: max(defaultQueue*o.Share/100, 1),
			perRepository: cmp.Or(max(o.PerRepository, 0), most*3/4, 1),
		}
	}
	looks := openingsPerProcessor * processors
	openings := bounds{
		memory: 1, clientMemory: 1, running: looks, queue: mostOpenings, clientRunning: looks,
		clientQueue: mostOpenings, perRepository: looks, patience: o.Patience,
	}
	parts := part(streamParts, o.Streams)
	parts.clientRunning = min(parts.clientRunning, rangesPerClient)
	return &Limiter{
		streams: newGate(part(streamParts, o.Streams)), calls: newGate(part(callParts, o.Calls)),
		bodies: newGate(part(bodyParts, bodies)), ranges: newGate(parts),
		openings: newGate(openings), programs: programs{process: o.Process, set: o.SetProcess, bound: o.Process},
	}
}

// orNone returns a limiter without gates for nil.
func (l *Limiter) orNone() *Limiter { return cmp.Or(l, &Limiter{}) }

// Stream reserves the memory for sending an archive or a file, until the grant is released.
func (l *Limiter) Stream(ctx context.Context, repository string, memory int64) (*Grant, error) {
	return l.orNone().streams.pass(ctx, work{access.ClientOf(ctx), repository, memory})
}

// Part is Stream for a range that needs all bytes before it to be generated.
func (l *Limiter) Part(ctx context.Context, repository string, memory int64) (*Grant, error) {
	turn, err := l.orNone().ranges.pass(ctx, work{client: access.ClientOf(ctx), repository: repository})
	if turn == nil {
		return nil, err
	}
	grant, err := l.Stream(ctx, repository, memory)
	if err != nil {
		turn.Release()
		return nil, err
	}
	grant.with = turn
	return grant, nil
}

// Call reserves memory for answering one request.
func (l *Limiter) Call(ctx context.Context, repository string, memory int64) (*Grant, error) {
	return l.orNone().calls.pass(ctx, work{access.ClientOf(ctx), repository, memory})
}

// Open waits for a turn to examine an archive.
func (l *Limiter) Open(ctx context.Context) (*Grant, error) {
	return l.orNone().openings.pass(ctx, work{client: access.ClientOf(ctx)})
}

// Body reserves memory for reading and parsing the body of a request.
func (l *Limiter) Body(ctx context.Context, memory int64) (*Grant, error) {
	return l.orNone().bodies.pass(ctx, work{client: access.ClientOf(ctx), memory: memory})
}

// WhenFull sets a function that is called each time a stream has to wait because others use
// everything. It must not block. Call WhenFull before the first request.
func (l *Limiter) WhenFull(do func()) {
	if l != nil {
		l.streams.whenFull = do
	}
}

// State is the present use of one gate, and its refusals.
type State struct {
	Gate            string
	Running         int
	Waiting         int
	Memory, Limit   int64 // 0 if the gate does not count memory
	RefusedByReason map[Reason]int64
}

// States lists the gates; none if nothing is limited.
func (l *Limiter) States() []State {
	if l == nil {
		return nil
	}
	return []State{
		l.streams.state("streams"), l.calls.state("calls"), l.ranges.state("parts"),
		l.bodies.state("bodies"), l.openings.state("openings"),
	}
}
