package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/repomcp/repomcp/client/internal/retry"
)

// What a program can tell apart. Whatever the server refused is an [Error].
var (
	// ErrNetwork is what kept a request from the server, or a reply from the
	// client, after all attempts.
	ErrNetwork = errors.New("the connection failed")
	// ErrTooLarge is returned for a download of more bytes than Options.MaxStreamSize,
	// and where the server refuses one for its size.
	ErrTooLarge = errors.New("the download is larger than MaxStreamSize")
	// ErrDamaged is returned for bytes that cannot be those of the server, and for messages
	// that are none of the protocol, or too large for it.
	ErrDamaged = errors.New("what the server sends is damaged")
	// ErrDigest is returned at the end of a download whose bytes are not those that
	// the server announced. It is an ErrDamaged.
	ErrDigest = fmt.Errorf("%w: the bytes are not those of the server's Repr-Digest: download again", ErrDamaged)
	// ErrLength is returned for more or fewer bytes than announced. It is an
	// ErrDamaged.
	ErrLength = fmt.Errorf("%w: the server announced another length: download again", ErrDamaged)
	// ErrNotVerified is returned at the end of a download, when all that came was handed
	// out and nothing tells whether it is all: neither its length nor its digest came, or
	// could be asked for, and its form does not say where it ends. Some proxies make such
	// an end of a connection that broke.
	ErrNotVerified = errors.New("the download is not verified: nothing tells whether it is whole")
	// ErrNotResumed is returned for a download that broke after its first byte and
	// whose rest cannot be had: of bytes without a strong ETag, or that are other
	// ones by now.
	ErrNotResumed = errors.New("the download broke and cannot go on where it was: begin again")
	// ErrInsecure is returned when an https server leads to plain http.
	ErrInsecure = errors.New("the https server leads to plain http, where anyone could read along")
	// ErrOrigin is returned when the server leads to an origin that is neither its
	// own nor one of [Options].Origins. The error is an [OriginError].
	ErrOrigin = errors.New("the server leads to another origin")
)

// OriginError is the [ErrOrigin] of a downloadUrl or a redirect.
type OriginError struct {
	Origin string // that is led to, such as https://archives.example.com
}

func (e *OriginError) Error() string {
	return fmt.Sprintf("%v, %s, which is neither its own nor one of those to be trusted", ErrOrigin, e.Origin)
}

// Unwrap returns [ErrOrigin].
func (e *OriginError) Unwrap() error { return ErrOrigin }

const (
	codeNotFound = -32002
	codeTooLarge = -32004
	codeNoMethod = -32601

	reasonNotFound = "not_found"
	reasonBusy     = "busy"
)

// Error is what the server said instead of what it was asked for.
type Error struct {
	Operation string // what was asked for, such as "resources/stream repo://…"
	Status    int    // of HTTP
	Code      int    // of JSON-RPC, 0 where there is none
	Reason    string // for programs, such as "not_found" or "full_needed"; "" where there is none
	Message   string // for people

	after     time.Duration // that the server wants to be left alone for
	transient bool          // whatever the status says
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the server answered %d %s", e.Operation, e.Status, http.StatusText(e.Status))
	}
	return e.Operation + ": " + e.Message
}

// Is makes what the server finds too large an [ErrTooLarge].
func (e *Error) Is(target error) bool { return target == ErrTooLarge && e.Code == codeTooLarge }

// NotFound reports whether the server says that there is no such thing.
func (e *Error) NotFound() bool { return e.Reason == reasonNotFound || e.Code == codeNotFound }

// Busy reports whether the same request may succeed in a while.
func (e *Error) Busy() bool {
	return e.transient || slices.Contains(transientStatuses, e.Status) || e.Reason == reasonBusy
}

// Unauthorized reports whether the server wants credentials, or other ones.
func (e *Error) Unauthorized() bool { return e.Status == http.StatusUnauthorized }

var transientStatuses = []int{
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// denying are the statuses that another revision of the protocol does not mend.
var denying = append([]int{http.StatusUnauthorized, http.StatusForbidden}, transientStatuses...)

// again waits before another attempt of an operation. It returns an error when there is to
// be none: what failed, or that ctx has ended.
func (c *Client) again(ctx context.Context, failures *retry.Failures, failure error) error {
	if !isTransient(failure) || failures.Count() >= c.retries {
		return failure
	}
	if err := c.wait(ctx, failures, failure); err != nil {
		return fmt.Errorf("%w: %w", err, failure)
	}
	return nil
}

// wait pauses before another attempt. The server may ask for a longer pause.
func (c *Client) wait(ctx context.Context, failures *retry.Failures, failure error) error {
	if c.options.Retrying != nil {
		c.options.Retrying(failure)
	}
	least := time.Duration(0)
	if refused, ok := errors.AsType[*Error](failure); ok {
		least = refused.after
	}
	return failures.Wait(ctx, least, retry.MostPause)
}

// retry makes attempts of an operation. Within an attempt of an outer one it makes one: the
// outer operation decides.
func (c *Client) retry(ctx context.Context, attempt func(context.Context) error) error {
	if retry.InAttempt(ctx) {
		return attempt(ctx)
	}
	failures, _ := retry.Join(ctx)
	err := c.persist(ctx, failures, func() error { return attempt(retry.Attempt(ctx)) })
	if err == nil {
		failures.Forget()
	}
	return err
}

// persist makes attempts until one succeeds, or there is to be no other.
func (c *Client) persist(ctx context.Context, failures *retry.Failures, attempt func() error) error {
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if err = c.again(ctx, failures, err); err != nil {
			return err
		}
	}
}

// isTransient reports whether the same request may succeed in a while.
func isTransient(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Busy()
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return errors.Is(err, ErrNetwork) && !untrusted && !errors.Is(err, errOver)
}

// refused reports whether the server answered with an error that is not about who
// asks or how busy it is: it may know another way.
func refused(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && !slices.Contains(denying, refused.Status)
}

// failed is the error of a connection that broke while a reply was read, unless
// the caller broke it.
func failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNetwork), errors.Is(err, ErrDamaged): // what others have found
		return err
	case errors.Is(err, io.EOF): // of what must not end
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrNetwork, err)
}

// refusal is the error of a reply that is no message: a line of text.
func refusal(reply *http.Response, operation string) error {
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
	if err != nil || bytes.ContainsFunc(text, isUnreadable) {
		text = nil
	}
	return &Error{
		Operation: operation, Status: reply.StatusCode, Message: string(bytes.TrimSpace(text)),
		after: retryAfter(reply),
	}
}

// isUnreadable tells what no message for people has, such as the bytes of a download.
func isUnreadable(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) && !strings.ContainsRune("\r\n\t", c)
}

// retryAfter is the pause that a reply asks for, in the form of seconds.
func retryAfter(reply *http.Response) time.Duration {
	seconds, err := strconv.Atoi(reply.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
