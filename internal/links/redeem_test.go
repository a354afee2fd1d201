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
		m := NewMemory(0, now)
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
			a := newAuthority(t, Options{Keys: ring, Nonces: na, Now: now.Now, Grace: 10 * time.Minute})
			b := newAuthority(t, Options{Keys: ring, Nonces: nb, Now: now.Now, Grace: 10 * time.Minute})
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
					r, err = by.Redeem(t.Context(), got, resume)
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
			redeem(a, guess, ErrUsed) // nothing to resume yet, and no use of the link
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
			pass(4*time.Minute - time.Second)
			redeem(b, first.Secret, nil)
			pass(time.Second) // the grace is over, though the link's own might not be
			redeem(b, first.Secret, ErrUsed)
			pass(5 * time.Minute)
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
	a := newAuthority(t, Options{Nonces: NewMemory(0, now.Now), Now: now.Now})
	token, _ := a.mustMint(t, singleUse())
	now.pass(6 * time.Minute)
	u := use()
	u.Resume = "anything"
	l, err := a.Verify(token, u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Redeem(t.Context(), l, ""); !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
}

// TestGraceMayEndBeforeTheLink: the nonce is remembered longer than a download
// may be resumed.
func TestGraceMayEndBeforeTheLink(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Nonces: NewMemory(0, now.Now), Now: now.Now, Grace: time.Minute})
	_, l := a.mustMint(t, singleUse())
	r, err := a.Redeem(t.Context(), l, "")
	if err != nil {
		t.Fatal(err)
	}
	now.pass(time.Minute - time.Millisecond)
	if _, err := a.Redeem(t.Context(), l, r.Secret); err != nil {
		t.Error(err)
	}
	now.pass(time.Millisecond)
	for _, resume := range []string{r.Secret, ""} {
		if _, err := a.Redeem(t.Context(), l, resume); !errors.Is(err, ErrUsed) {
			t.Error(err)
		}
	}
}

// TestReplicaThatIsBehind uses a link on a replica with the right time, and
// again on one whose clock is as far behind as it may be.
func TestReplicaThatIsBehind(t *testing.T) {
	right, behind := newClock(), newClock()
	right.pass(maxSkew)
	shared := NewMemory(0, right.Now)
	ring := randomRing(t)
	a := newAuthority(t, Options{Keys: ring, Nonces: shared, Now: right.Now, Grace: time.Second})
	b := newAuthority(t, Options{Keys: ring, Nonces: shared, Now: behind.Now, Grace: time.Second})
	token, l := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), l, ""); err != nil {
		t.Fatal(err)
	}
	for want := ErrUsed; ; {
		got, err := b.Verify(token, use())
		if err == nil {
			_, err = b.Redeem(t.Context(), got, "")
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
	var successes, used atomic.Int32
	start := make(chan struct{})
	for i := range requests {
		group.Go(func() {
			<-start
			a := replicas[i%len(replicas)]
			l, err := a.Verify(token, use())
			if err == nil {
				_, err = a.Redeem(context.Background(), l, "")
			}
			switch {
			case err == nil:
				successes.Add(1)
			case errors.Is(err, ErrUsed):
				used.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()
	if successes.Load() != 1 || used.Load() != requests-1 {
		t.Errorf("%d successes and %d refusals of %d requests", successes.Load(), used.Load(), requests)
	}
}

// TestNonces is the contract of the interface.
func TestNonces(t *testing.T) {
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			a, b, passStore := store(t, now.Now)
			pass := func(d time.Duration) { now.pass(d); passStore(d) }
			claim := func(n Nonces, nonce byte, keep time.Duration, want bool) {
				t.Helper()
				mark := Mark{Secret: [32]byte{nonce, 1}, Until: now.Now().Add(time.Minute).Truncate(time.Millisecond)}
				first, err := n.Claim(t.Context(), Claim{Nonce: Nonce{nonce}, Mark: mark, Issued: now.Now(), Forget: now.Now().Add(keep)})
				if err != nil || first != want {
					t.Errorf("claim of %d: %v, %v", nonce, first, err)
				}
			}
			find := func(n Nonces, nonce byte, want bool) Mark {
				t.Helper()
				mark, found, err := n.Find(t.Context(), Nonce{nonce})
				if err != nil || found != want || found != (mark.Secret == [32]byte{nonce, 1}) {
					t.Errorf("found of %d: %v, %+v, %v", nonce, found, mark, err)
				}
				return mark
			}
			find(a, 1, false)
			claim(a, 1, time.Minute, true)
			claim(b, 1, time.Hour, false)
			claim(b, 2, time.Hour, true)
			if mark := find(b, 1, true); !mark.Until.Equal(now.Now().Add(time.Minute).Truncate(time.Millisecond)) {
				t.Errorf("until %v", mark.Until)
			}
			find(a, 2, true)
			pass(time.Minute - time.Second)
			claim(b, 1, time.Minute, false)
			pass(2 * time.Second)
			find(a, 1, false)
			find(a, 2, true)
			claim(a, 2, time.Minute, false)
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	now := newClock()
	m := NewMemory(10, now.Now)
	claim := func(i int) (bool, error) {
		return m.Claim(t.Context(), Claim{Nonce: Nonce{byte(i), byte(i >> 8)}, Issued: now.Now(), Forget: now.Now().Add(time.Minute)})
	}
	for i := range 10 {
		if first, err := claim(i); !first || err != nil {
			t.Fatal(i, first, err)
		}
	}
	for i := 10; i < 50; i++ {
		if first, err := claim(i); first || !errors.Is(err, errMemoryFull) {
			t.Fatal(i, first, err)
		}
	}
	if first, err := claim(3); first || err != nil {
		t.Errorf("a used nonce in a full record: %v, %v", first, err)
	}
	now.pass(time.Minute)
	for i := 100; i < 110; i++ {
		if first, err := claim(i); !first || err != nil {
			t.Fatal(i, first, err)
		}
	}
	if len(m.known) != 10 || len(m.queue) != 10 {
		t.Errorf("%d nonces, %d in the queue", len(m.known), len(m.queue))
	}
	a := newAuthority(t, Options{Nonces: m, Now: now.Now})
	_, l := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), l, ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a redemption in a full record: %v", err)
	}
}

// TestMemoryAfterARestart: what an earlier process redeemed nobody knows.
func TestMemoryAfterARestart(t *testing.T) {
	now := newClock()
	ring := randomRing(t)
	before := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(0, now.Now), Now: now.Now})
	token, _ := before.mustMint(t, singleUse())
	lasting, _ := before.mustMint(t, grant())
	now.pass(time.Millisecond)
	after := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(0, now.Now), Now: now.Now})
	l, err := after.Verify(token, use())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := after.Redeem(t.Context(), l, ""); !errors.Is(err, ErrUsed) {
		t.Errorf("an old single-use link: %v", err)
	}
	l, err = after.Verify(lasting, use())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := after.Redeem(t.Context(), l, ""); err != nil || r != (Redemption{}) {
		t.Errorf("an old link for more than one use: %+v, %v", r, err)
	}
	_, l = after.mustMint(t, singleUse())
	if _, err := after.Redeem(t.Context(), l, ""); err != nil {
		t.Errorf("a new link: %v", err)
	}
}

func TestRedeemWithoutNonces(t *testing.T) {
	ring := randomRing(t)
	with := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(0, nil)})
	without := newAuthority(t, Options{Keys: ring})
	token, _ := with.mustMint(t, singleUse())
	l, err := without.Verify(token, use())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Redeem(t.Context(), l, ""); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestETags(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Nonces: NewMemory(0, now.Now), Now: now.Now})
	for _, etag := range []string{"", "abc", "a~b", "abc~", "v1-" + commit, "~" + repeatByte(22)} {
		_, l := a.mustMint(t, singleUse())
		r, err := a.Redeem(t.Context(), l, "")
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
	for _, tag := range []string{"", "abc", "abc~", "abc~short", "abc~" + repeatByte(23), "~", fmt.Sprintf("%s~x", commit)} {
		if got, secret := SplitETag(tag); got != tag || secret != "" {
			t.Errorf("%q came apart as %q and %q", tag, got, secret)
		}
	}
}
