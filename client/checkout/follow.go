package checkout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/retry"
)

// Follow syncs at once, and then at each new state of the ref, until ctx ends. What is
// pushed during a run is one more run.
//
// Once the folder was in step, in this process or before, whatever can come back is
// waited for: the server, the repository or the branch, leave to read them, an archive
// that cannot be unpacked, room on the disk. Events tell of it. An error is returned for
// what cannot, and when ctx ends.
func Follow(ctx context.Context, c *client.Client, o Options) error {
	f, err := open(o)
	if err != nil {
		return o.failed(ctx, err)
	}
	w := &follower{folder: f, client: c, known: f.header.fits(f.options) && f.header.Ref == f.options.Ref}
	return o.failed(ctx, errors.Join(w.run(ctx), f.close()))
}

// Pauses of a Follow between runs: from leastPause, which is doubled so often at most. The
// longest is for errors behind which there may be a whole download.
const (
	leastPause     = time.Second
	pauseDoublings = 9
	longestPause   = 5 * time.Minute
)

type follower struct {
	*folder
	client   *client.Client
	failures *retry.Failures // of the runs, and of the looks between them
	known    bool            // that the server has, or had, what is followed
	gone     bool            // EventGone was told, and no EventBack since
}

// run waits for whatever comes back, for as long as it takes.
func (w *follower) run(ctx context.Context) error {
	ctx, w.failures = retry.Begin(ctx)
	for {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		code := CodeOf(err)
		if !w.comesBack(code) {
			return err
		}
		w.tellGone(err)
		most := retry.MostPause
		if code == CodeDamaged || code == CodeFailed {
			most = longestPause
		}
		least := leastPause << min(w.failures.Count(), pauseDoublings)
		if err := w.failures.Wait(ctx, least, most); err != nil {
			return err
		}
		w.renew(ctx, code)
	}
}

// follow syncs at each state, until something fails that the next state does not mend.
func (w *follower) follow(ctx context.Context) error {
	for state, err := range w.client.Watch(ctx, w.options.archive(w.options.Ref, nil)) {
		if err != nil {
			return err
		}
		_, err := w.sync(ctx, w.client, &state)
		switch {
		case err == nil:
			w.tellBack()
		case w.known && isMended(state, CodeOf(err)):
			w.tellGone(err)
		default:
			return err
		}
	}
	return ctx.Err()
}

// isMended reports whether another state of the ref may mend an error, and nothing else
// is likely to.
func isMended(state client.State, code Code) bool {
	return code == CodeUnsafe || code == CodeTooLarge || code == CodeGone && state.Missing
}

// ending are the codes of what does not come back by itself.
var ending = []Code{CodeArguments, CodeOccupied, CodeLocked, CodeState, CodeStopped}

// comesBack tells what is waited for. Before the first success it may be an argument
// that is wrong.
func (w *follower) comesBack(code Code) bool {
	if slices.Contains([]Code{CodeBusy, CodeNetwork}, code) {
		return true
	}
	return w.known && !slices.Contains(ending, code)
}

func (w *follower) tellGone(err error) {
	if !w.gone {
		w.gone = true
		w.tell(failure(EventGone, err))
	}
}

func (w *follower) tellBack() {
	w.known = true
	w.failures.Forget()
	w.options.Verify, w.options.Mine, w.options.Theirs = false, nil, nil // once, and not at every push
	if w.gone {
		w.gone = false
		w.tell(Event{Event: EventBack})
	}
}

// renew makes another client where the credentials of this one are not good any more.
func (w *follower) renew(ctx context.Context, code Code) {
	if w.options.Renew == nil || code != CodeUnauthorized && code != CodeRefused {
		return
	}
	if c, err := w.options.Renew(ctx); err == nil { // else it is asked again
		w.client = c
	}
}
