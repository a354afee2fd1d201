package checkout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/retry"
)

// Follow syncs at once, and then at each new state of the ref, until ctx ends. Pushes during a run
// cause one more run.
//
// Once the folder was in step, in this process or before, Follow waits for everything that may
// recover: the server, the repository or the branch, permissions, an archive that cannot be
// unpacked, disk space. Events report it. Follow returns an error for permanent failures, such as the
// end of a program that serves, and when ctx ends.
func Follow(ctx context.Context, c *client.Client, o Options) error {
	f, err := open(o)
	if err != nil {
		return o.failed(ctx, err)
	}
	w := &follower{folder: f, client: c, known: f.header.fits(f.options) && f.header.Ref == f.options.Ref}
	return o.failed(ctx, errors.Join(w.run(ctx), f.close()))
}

// These are the pauses of a Follow between runs: leastPause, doubled at most so often. The longest
// is for errors that may cost a whole download each, and for programs that hold a file.
const (
	leastPause     = time.Second
	pauseDoublings = 9
	longestPause   = 5 * time.Minute
)

type follower struct {
	*folder
	client   *client.Client
	failures *retry.Failures // of the runs, and of the looks between them
	known    bool            // the server has, or had, the followed ref
	held     int             // runs in a row that other programs have kept from something
	gone     bool            // EventGone was reported, and no EventBack since
}

// run waits for recovery for as long as it takes.
func (w *follower) run(ctx context.Context) error {
	ctx, w.failures = retry.Begin(ctx)
	for {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // the programs may have ended
			continue
		}
		if err := w.pause(ctx, err); err != nil {
			return err
		}
	}
}

// pause waits until after an error, unless that is permanent.
func (w *follower) pause(ctx context.Context, err error) error {
	if errors.Is(err, errElsewhere) {
		return w.failures.Wait(ctx, 0, retry.MostPause)
	}
	code := CodeOf(err)
	if !w.comesBack(code) || errors.Is(err, client.ErrProgramEnded) {
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
	return nil
}

// errElsewhere says that a run got another commit than the state before it names: there was a push in
// between, or, behind a balancer, another server answered, whose mirror has the push later. Only a
// look that finds the commit of the run ends that.
var errElsewhere = errors.New("the server's state and its archive are of different commits")

// follow syncs at each state, until a failure that the next state cannot repair, or until it is time to try again what
// other programs have kept a run from.
func (w *follower) follow(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	again := time.AfterFunc(longestPause, stop)
	again.Stop()
	for state, err := range w.client.Watch(watching, w.options.archive(w.options.Ref, nil)) {
		if err != nil && watching.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		result, err := w.sync(ctx, w.client, &state)
		if err == nil {
			w.known = true
			w.options.Verify, w.options.Mine, w.options.Theirs = false, nil, nil // once, and not at every push
			err = w.planAgain(again, result)
		}
		switch {
		case err == nil && !w.isAt(state):
			return errElsewhere
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

// planAgain sets the time for another run, if programs have kept the last one from something.
func (w *follower) planAgain(again *time.Timer, last Result) error {
	held, err := w.isHeld(last)
	if !held || err != nil {
		again.Stop()
		w.held = 0
		return err
	}
	again.Reset(min(leastPause<<min(w.held, pauseDoublings), longestPause))
	w.held++
	return nil
}

// isHeld reports whether a run has left something to a later one, because programs had files open, held them back, or
// had locked the index of a clone.
func (w *follower) isHeld(last Result) (held bool, err error) {
	if w.options.isCheckout() {
		return slices.Contains([]string{ReasonInUse, ReasonHeld, ReasonLocked}, last.Behind), nil
	}
	if w.header.Kept == 0 {
		return false, nil
	}
	err = w.each(func(r record) error {
		held = held || r.flag == postponed || r.flag == leaving
		return nil
	})
	return held, err
}

// isAt reports whether the last run led to a state.
func (w *follower) isAt(state client.State) bool {
	return state.Commit == "" || w.answered == "" || w.answered == state.Commit
}

// isMended reports whether only another state of the ref is likely to repair an error.
func isMended(state client.State, code Code) bool {
	return code == CodeUnsafe || code == CodeTooLarge || code == CodeGone && state.Missing
}

// ending are the codes of permanent errors.
var ending = []Code{CodeArguments, CodeOccupied, CodeLocked, CodeState, CodeStopped}

// comesBack reports whether an error may be temporary. Before the first success it may be a wrong
// argument.
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
	w.failures.Forget()
	if w.gone {
		w.gone = false
		w.tell(Event{Event: EventBack})
	}
}

// renew makes another client if the credentials of the present one are no longer accepted.
func (w *follower) renew(ctx context.Context, code Code) {
	if w.options.Renew == nil || code != CodeUnauthorized && code != CodeRefused {
		return
	}
	if c, err := w.options.Renew(ctx); err == nil { // otherwise the next failure calls it again
		w.client = c
	}
}
