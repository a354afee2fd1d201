// Package limits keeps a server within its memory and its processors: what a request
// needs is reserved before it begins, and who asks for more than is left waits for a
// bounded time in a bounded queue, or is refused.
//
//	l := limits.New(limits.Options{Memory: 200 << 20})
//
//	grant, err := l.Stream(ctx, "git", 2<<20)   // a [*Refusal]: say when to come again
//	defer grant.Release()
//
// There are several gates, because what passes them is not alike: a stream lasts as
// long as its client likes, a call as long as it takes, and a body comes as slowly as
// it is sent. Slow clients of one gate do not keep those of another waiting.
//
// Promises:
//   - What was granted at a time never exceeds the gate's memory and number.
//   - One client never has more than its share of either, nor of the queue. What a
//     share leaves is for others, and is not lent out: a stream may last for days.
//   - Of those who wait, the client goes first that has least at the time. A flood of
//     one client does not delay the single request of another by more than what runs.
//   - Nobody waits longer than the patience, and who leaves the queue leaves nothing.
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
	// DefaultPatience is how long a request waits for its turn: less than the time
	// after which clients give up, and long enough for what is short to end.
	DefaultPatience = 10 * time.Second
	// DefaultShare of one client, in percent. It is a half, for all clients behind a
	// proxy have one address, and those without authentication one name.
	DefaultShare = 50
	// DefaultStreams is how many streams run at a time where memory does not bound
	// them: each has a snapshot open, and with it descriptors of packs.
	DefaultStreams = 2048
	// defaultQueue is how many requests wait at a gate: what a burst is, and no more
	// than can be served within the patience.
	defaultQueue = 256
	// callsPerProcessor is how many calls run at a time for each processor. They
	// wait for files now and then, and a long one should not hold up short ones.
	callsPerProcessor = 4
	// openingsPerProcessor is how many archives are looked at for each processor,
	// before it is known whether a byte of them is sent: it takes milliseconds, and is
	// refused to nobody who waits.
	openingsPerProcessor = 2
	// mostOpenings wait: as many as there may be connections.
	mostOpenings = 10_000
	// rangesPerClient is how many parts of generated archives one client has made at a
	// time: all that comes before a part is generated for it.
	rangesPerClient = 8
	// bodies is how many requests send large bodies at a time.
	bodies = 256
)

// The parts of the memory that the gates have, of partsOfMemory.
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
	// Streams is how many archives and files are sent at a time; 0 means
	// [DefaultStreams].
	Streams int
	// Calls is how many costly calls run at a time; 0 means 4 for each processor.
	Calls int
	// Share is what one client may have of each, in percent; 0 means [DefaultShare].
	Share int
	// PerRepository is how many streams, and how many calls, of one repository run at
	// a time; 0 means three quarters of all.
	PerRepository int
	// Patience is how long a request waits; 0 means [DefaultPatience].
	Patience time.Duration
}

// Limiter has the gates that requests pass.
type Limiter struct {
	streams, calls, ranges, bodies, openings *gate
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
		openings: newGate(openings),
	}
}

// orNone has no gates where nothing is limited.
func (l *Limiter) orNone() *Limiter { return cmp.Or(l, &Limiter{}) }

// Stream reserves the memory that the bytes of an archive or a file take on their way,
// until the grant is released.
func (l *Limiter) Stream(ctx context.Context, repository string, memory int64) (*Grant, error) {
	return l.orNone().streams.pass(ctx, work{access.ClientOf(ctx), repository, memory})
}

// Part is Stream of a part of what has to be generated up to there.
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

// Call reserves what answering one request takes.
func (l *Limiter) Call(ctx context.Context, repository string, memory int64) (*Grant, error) {
	return l.orNone().calls.pass(ctx, work{access.ClientOf(ctx), repository, memory})
}

// Open waits for a turn to look at an archive.
func (l *Limiter) Open(ctx context.Context) (*Grant, error) {
	return l.orNone().openings.pass(ctx, work{client: access.ClientOf(ctx)})
}

// Body reserves what the body of a request takes while it is read and understood.
func (l *Limiter) Body(ctx context.Context, memory int64) (*Grant, error) {
	return l.orNone().bodies.pass(ctx, work{client: access.ClientOf(ctx), memory: memory})
}

// WhenFull has a function called each time that a stream has to wait because others
// have all there is. It must not wait. Call it before the first request.
func (l *Limiter) WhenFull(do func()) {
	if l != nil {
		l.streams.whenFull = do
	}
}

// State is what one gate has at the moment, and has refused.
type State struct {
	Gate            string
	Running         int
	Waiting         int
	Memory, Limit   int64 // 0 where memory has no part in it
	RefusedByReason map[Reason]int64
}

// States lists the gates; none where nothing is limited.
func (l *Limiter) States() []State {
	if l == nil {
		return nil
	}
	return []State{
		l.streams.state("streams"), l.calls.state("calls"), l.ranges.state("parts"),
		l.bodies.state("bodies"), l.openings.state("openings"),
	}
}
