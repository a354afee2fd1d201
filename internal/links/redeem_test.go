package links

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stores are the implementations of Nonces that the tests of single use run
// on. Two replicas get one each; pass moves the store's clock along.
var stores = map[string]func(t *testing.T, now func() time.Time) (a, b Nonces, pass func(time.Duration)){
	"memory": func(_ *testing.T, now func() time.Time) (Nonces, Nonces, func(time.Duration)) {
		m := NewMemory(now)
		return m, m, func(time.Duration) {}
	},
	"miniredis": miniredisStores,
}

// TestRedeem is the life of a single-use link.
func TestRedeem(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			na, nb, passStore := store(t, now.Now)
			pass := func(d time.Duration) { now.pass(d); passStore(d) }
			ring := randomRing(t)
			a := newAuthority(t, Options{Keys: ring, Nonces: na, Now: now.Now})
			b := newAuthority(t, Options{Keys: ring, Nonces: nb, Now: now.Now})
			a.grace, b.grace = 10*time.Minute, 10*time.Minute
			token, l := a.mustMint(t, singleUse())
			redeem := func(by *Authority, resume string, want error) Redemption {
				t.Helper()
				u := use()
				u.Resume = resume
				got, err := by.Verify(token, u)
				if err == nil && got != l {
					t.Errorf("the link is %+v", got)
				}
				var r Redemption
				if err == nil {
					r, err = by.Redeem(t.Context(), got, Resume{Secret: resume, Length: 1, Size: 100})
				}
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				if err != nil && r != (Redemption{}) {
					t.Errorf("%v, and yet %+v", err, r)
				}
				return r
			}
			_, guess := SplitETag(TagETag("x", Redemption{Secret: "AAAAAAAAAAAAAAAAAAAAAA"}))
			redeem(a, guess, ErrUsed)                 // nothing to resume yet, and no use of the link
			redeem(a, l.redemption().Secret, ErrUsed) // not even with its secret
			first := redeem(a, "", nil)
			redeem(a, "", ErrUsed)
			redeem(b, "", ErrUsed)
			redeem(b, guess, ErrUsed)
			redeem(b, first.Secret+"A", ErrUsed)
			redeem(b, first.Secret[1:], ErrUsed)
			if again := redeem(b, first.Secret, nil); again != first {
				t.Errorf("resumed as %+v, began as %+v", again, first)
			}
			pass(6 * time.Minute) // the link has expired
			redeem(a, "", ErrExpired)
			redeem(a, first.Secret, nil)
			redeem(b, first.Secret, nil)
			redeem(b, guess, ErrUsed)
			pass(9*time.Minute - 2*time.Second)
			redeem(b, first.Secret, nil)
			pass(2 * time.Second) // the grace is over
			redeem(a, first.Secret, ErrExpired)
			pass(time.Hour)
			redeem(a, "", ErrExpired)
			redeem(b, first.Secret, ErrExpired)
		})
	}
}

// TestExpiredLinkIsNotUsedByAResume: Verify is lenient for a continuation, and
// a caller might then use the link for the first time.
func TestExpiredLinkIsNotUsedByAResume(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Nonces: NewMemory(now.Now), Now: now.Now})
	token, _ := a.mustMint(t, singleUse())
	now.pass(6 * time.Minute)
	u := use()
	u.Resume = "anything"
	l, err := a.Verify(token, u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
}

// TestResumesAreBounded: all resumes together get at most three times the
// content, however they are cut, at any server.
func TestResumesAreBounded(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			na, nb, _ := store(t, now.Now)
			ring := randomRing(t)
			replicas := []*Authority{newAuthority(t, Options{Keys: ring, Nonces: na, Now: now.Now}),
				newAuthority(t, Options{Keys: ring, Nonces: nb, Now: now.Now})}
			const size = 1000
			for _, c := range []struct {
				length func(i int) int64 // of resume i
				want   int
			}{
				{func(int) int64 { return size }, 3},
				{func(int) int64 { return size - 1 }, 3},
				{func(i int) int64 { return size - int64(i) }, 3},
				{func(int) int64 { return size / 2 }, 6},
				{func(int) int64 { return 1 }, 48},
				// Five breaks at even distances, then nothing but the end.
				{func(i int) int64 { return size * int64(5-i) / 6 }, 5 + 6},
			} {
				_, l := replicas[0].mustMint(t, singleUse())
				first, err := replicas[0].Redeem(t.Context(), l, Resume{})
				if err != nil {
					t.Fatal(err)
				}
				got := 0
				for i := range 100 {
					_, err := replicas[i%2].Redeem(t.Context(), l,
						Resume{Secret: first.Secret, Length: max(1, c.length(i)), Size: size})
					if err == nil {
						got++
					} else if !errors.Is(err, ErrUsed) {
						t.Fatal(err)
					}
				}
				if got != c.want {
					t.Errorf("%d resumes that begin with %d bytes, want %d", got, c.length(0), c.want)
				}
			}
		})
	}
}

// TestPeekUsesNothing says beforehand what a use would find.
func TestPeekUsesNothing(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			na, nb, _ := store(t, now.Now)
			ring := randomRing(t)
			a, b := newAuthority(t, Options{Keys: ring, Nonces: na, Now: now.Now}), newAuthority(t,
				Options{Keys: ring, Nonces: nb, Now: now.Now})
			_, l := a.mustMint(t, singleUse())
			_, lasting := a.mustMint(t, grant())
			for range 3 {
				if err := errors.Join(a.Peek(t.Context(), l), b.Peek(t.Context(), l)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
				t.Fatal(err)
			}
			if err := b.Peek(t.Context(), l); !errors.Is(err, ErrUsed) {
				t.Error(err)
			}
			if err := b.Peek(t.Context(), lasting); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplicaThatIsBehind uses a link on a replica with the right time, and
// again on one whose clock is as far behind as it may be.
func TestReplicaThatIsBehind(t *testing.T) {
	right, behind := newClock(), newClock()
	right.pass(maxSkew)
	shared := NewMemory(right.Now)
	ring := randomRing(t)
	a := newAuthority(t, Options{Keys: ring, Nonces: shared, Now: right.Now})
	b := newAuthority(t, Options{Keys: ring, Nonces: shared, Now: behind.Now})
	a.grace, b.grace = time.Second, time.Second
	token, l := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
		t.Fatal(err)
	}
	for want := ErrUsed; ; {
		got, err := b.Verify(token, use())
		if err == nil {
			_, err = b.Redeem(t.Context(), got, Resume{})
		}
		if errors.Is(err, ErrExpired) {
			break
		}
		if !errors.Is(err, want) {
			t.Fatalf("%v before the link expires: %v", l.Expires.Sub(behind.Now()), err)
		}
		right.pass(time.Second)
		behind.pass(time.Second)
	}
	if !right.Now().After(l.Expires.Add(maxSkew - 2*time.Second)) {
		t.Error("the clocks do not differ")
	}
}

// TestParallelRedemptions lets 100 requests to two replicas use one link at
// once, several times.
func TestParallelRedemptions(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			na, nb, _ := store(t, now.Now)
			ring := randomRing(t)
			replicas := []*Authority{
				newAuthority(t, Options{Keys: ring, Nonces: na, Now: now.Now}),
				newAuthority(t, Options{Keys: ring, Nonces: nb, Now: now.Now}),
			}
			for range 5 {
				token, _ := replicas[0].mustMint(t, singleUse())
				redeemAtOnce(t, replicas, token)
			}
		})
	}
}

func redeemAtOnce(t *testing.T, replicas []*Authority, token string) {
	t.Helper()
	const requests = 100
	var group sync.WaitGroup
	var successes, used, unknown atomic.Int32
	start := make(chan struct{})
	for i := range requests {
		group.Go(func() {
			<-start
			a := replicas[i%len(replicas)]
			l, err := a.Verify(token, use())
			if err == nil {
				_, err = a.Redeem(context.Background(), l, Resume{})
			}
			switch {
			case err == nil:
				successes.Add(1)
			case errors.Is(err, ErrUsed):
				used.Add(1)
			case errors.Is(err, ErrUnavailable): // a busy machine is too slow for the time limit of Redis
				unknown.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()
	if n := successes.Load(); n > 1 || n == 0 && unknown.Load() == 0 || used.Load() < requests/2 {
		t.Errorf("%d successes, %d refusals and %d unknown outcomes", n, used.Load(), unknown.Load())
	}
}

// TestNonces is the contract of the interface.
func TestNonces(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			a, b, passStore := store(t, now.Now)
			pass := func(d time.Duration) { now.pass(d); passStore(d) }
			reserve := func(nonce byte, keep time.Duration) Claim {
				t.Helper()
				forget := now.Now().Add(keep)
				place, err := a.Reserve(forget)
				if err != nil {
					t.Fatal(err)
				}
				return Claim{Nonce: Nonce{nonce}, Place: place, Forget: forget}
			}
			claim := func(n Nonces, c Claim, want bool) {
				t.Helper()
				if first, err := n.Claim(t.Context(), c); err != nil || first != want {
					t.Errorf("claim of %d: %v, %v", c.Nonce[0], first, err)
				}
			}
			charge := func(n Nonces, c Claim, units, want int) {
				t.Helper()
				if sum, err := n.Charge(t.Context(), c, units); err != nil || sum != want {
					t.Errorf("charge to %d: %d, %v; want %d", c.Nonce[0], sum, err, want)
				}
			}
			one, two := reserve(1, time.Minute), reserve(2, time.Hour)
			charge(a, one, 5, 0)
			claim(a, one, true)
			claim(b, one, false)
			claim(b, two, true)
			charge(b, one, 5, 5)
			charge(a, one, 1, 6)
			charge(a, two, 16, 16)
			pass(time.Minute - time.Second)
			claim(b, one, false)
			charge(b, one, 1, 7)
			pass(2 * time.Second)
			claim(a, two, false)
		})
	}
}

// TestMemoryIsBounded: what is used costs nothing beyond what was made, and what
// is made is bounded; a page is dropped when all of it may be forgotten.
func TestMemoryIsBounded(t *testing.T) {
	now := newClock()
	m := NewMemory(now.Now)
	m.limit = 2
	a := newAuthority(t, Options{Nonces: m, Now: now.Now})
	var kept Link
	for i := range 2 * pageLinks {
		_, l := a.mustMint(t, singleUse())
		if i == 0 {
			kept = l
			continue
		}
		if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
			t.Fatal(i, err)
		}
	}
	for range 10 {
		if _, _, err := a.Mint(singleUse()); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if _, _, err := a.Mint(grant()); err != nil {
		t.Errorf("a link for more than one use: %v", err)
	}
	if _, err := a.Redeem(t.Context(), kept, Resume{}); err != nil {
		t.Errorf("a link from before the record was full: %v", err)
	}
	now.pass(time.Hour)
	_, l := a.mustMint(t, singleUse())
	if len(m.pages) != 1 {
		t.Errorf("%d pages of links that are forgotten", len(m.pages)-1)
	}
	if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
		t.Error(err)
	}
}

// TestUsedLinksTakeNothingFromOthers: one client uses links as fast as it can.
func TestUsedLinksTakeNothingFromOthers(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Nonces: NewMemory(now.Now), Now: now.Now})
	_, others := a.mustMint(t, singleUse())
	for range 8 * pageLinks {
		_, l := a.mustMint(t, singleUse())
		if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
			t.Fatal(err)
		}
	}
	_, late := a.mustMint(t, singleUse())
	for _, l := range []Link{others, late} {
		if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
			t.Error(err)
		}
	}
}

// TestMemoryAfterARestart: links that an earlier process redeemed are unknown.
func TestMemoryAfterARestart(t *testing.T) {
	now := newClock()
	ring := randomRing(t)
	before := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(now.Now), Now: now.Now})
	token, _ := before.mustMint(t, singleUse())
	lasting, _ := before.mustMint(t, grant())
	now.pass(time.Millisecond)
	after := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(now.Now), Now: now.Now})
	l, err := after.Verify(token, use())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := after.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUsed) {
		t.Errorf("an old single-use link: %v", err)
	}
	l, err = after.Verify(lasting, use())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := after.Redeem(t.Context(), l, Resume{}); err != nil || r != (Redemption{}) {
		t.Errorf("an old link for more than one use: %+v, %v", r, err)
	}
	_, l = after.mustMint(t, singleUse())
	if _, err := after.Redeem(t.Context(), l, Resume{}); err != nil {
		t.Errorf("a new link: %v", err)
	}
}

func TestRedeemWithoutNonces(t *testing.T) {
	ring := randomRing(t)
	with := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(time.Now)})
	without := newAuthority(t, Options{Keys: ring})
	token, _ := with.mustMint(t, singleUse())
	l, err := without.Verify(token, use())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestETags(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Nonces: NewMemory(now.Now), Now: now.Now})
	for _, etag := range []string{"", "abc", "a~b", "abc~", "v1-" + commit, "~" + repeatByte(22)} {
		_, l := a.mustMint(t, singleUse())
		r, err := a.Redeem(t.Context(), l, Resume{})
		if err != nil {
			t.Fatal(err)
		}
		tag := TagETag(etag, r)
		if strings.ContainsAny(tag, "\" \\\r\n") {
			t.Errorf("%q is no entity tag", tag)
		}
		if got, secret := SplitETag(tag); got != etag || secret != r.Secret {
			t.Errorf("%q came apart as %q and %q", tag, got, secret)
		}
		if TagETag(etag, Redemption{}) != etag {
			t.Errorf("%q is altered without a redemption", etag)
		}
	}
	for _, tag := range []string{"", "abc", "abc~", "abc~short", "abc~" + repeatByte(23), "~",
		fmt.Sprintf("%s~x", commit)} {
		if got, secret := SplitETag(tag); got != tag || secret != "" {
			t.Errorf("%q came apart as %q and %q", tag, got, secret)
		}
	}
}
