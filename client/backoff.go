package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is short: most connections break alone, and the next one holds.
	firstPause = 100 * time.Millisecond
	// mostPause is how long somebody who waits for a server notices that it is
	// back, at worst.
	mostPause = 30 * time.Second
	// defaultRetries wait for some seconds in all, which is as long as a server takes
	// to be replaced.
	defaultRetries = 6
)

// backoff counts the attempts in a row that failed.
type backoff struct{ tries int }

// wait pauses before the next attempt, twice as long each time, and by chance up
// to half of it shorter: many clients that lost the same server do not come back
// at once. The server may ask for longer.
func (c *Client) wait(ctx context.Context, b *backoff, failure error) error {
	if c.options.Retrying != nil {
		c.options.Retrying(failure)
	}
	const doublings = 9 // beyond mostPause
	pause := firstPause << min(b.tries, doublings)
	if refused, ok := errors.AsType[*Error](failure); ok {
		pause = max(pause, refused.after)
	}
	b.tries++
	pause = min(pause, mostPause)
	return sleep(ctx, pause-rand.N(pause/2)) //nolint:gosec // nobody gains by guessing it
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// again waits before another attempt. It returns an error when there is to be
// none: what failed, or that ctx has ended.
func (c *Client) again(ctx context.Context, b *backoff, failure error) error {
	if !isTransient(failure) || b.tries >= c.retries {
		return failure
	}
	if err := c.wait(ctx, b, failure); err != nil {
		return fmt.Errorf("%w: %w", err, failure)
	}
	return nil
}

func (c *Client) retry(ctx context.Context, attempt func() error) error {
	var pauses backoff
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if err = c.again(ctx, &pauses, err); err != nil {
			return err
		}
	}
}
