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

// Callers can distinguish these errors. Every refusal of the server is an [Error].
var (
	// ErrNetwork says that a request did not reach the server, or the reply did not reach the
	// client, in any attempt.
	ErrNetwork = errors.New("the connection failed")
	// ErrTooLarge says that a download has more bytes than Options.MaxStreamSize, or that the
	// server refuses it for its size.
	ErrTooLarge = errors.New("the download is larger than MaxStreamSize")
	// ErrDamaged says that bytes cannot be the server's, or that messages violate the protocol or
	// its limits.
	ErrDamaged = errors.New("what the server sends is damaged")
	// ErrDigest is returned at the end of a download whose bytes do not match the announced digest.
	// It is an ErrDamaged.
	ErrDigest = fmt.Errorf("%w: the bytes are not those of the server's Repr-Digest: download again", ErrDamaged)
	// ErrLength says that there were more or fewer bytes than announced. It is an ErrDamaged.
	ErrLength = fmt.Errorf("%w: the server announced another length: download again", ErrDamaged)
	// ErrNotVerified is returned at the end of a download when all received bytes were returned and
	// nothing proves that they are all: neither their length nor their digest was sent or could be
	// requested, and their format does not mark its end. Some proxies end a broken connection like
	// this.
	ErrNotVerified = errors.New("the download is not verified: nothing tells whether it is whole")
	// ErrNotResumed says that a download broke after its first byte and cannot be resumed: its
	// bytes have no strong ETag, or have changed.
	ErrNotResumed = errors.New("the download broke and cannot go on where it was: begin again")
	// ErrInsecure says that an https server leads to plain http.
	ErrInsecure = errors.New("the https server leads to plain http, where anyone could read along")
	// ErrOrigin says that the server leads to an origin that is neither its own nor one of
	// [Options].Origins. The error is an [OriginError].
	ErrOrigin = errors.New("the server leads to another origin")
)

// OriginError is the [ErrOrigin] of a downloadUrl or a redirect.
type OriginError struct {
	Origin string // of the target, such as https://archives.example.com
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

// Error is an error reply of the server.
type Error struct {
	Operation string // the request, such as "resources/stream repo://…"
	Status    int    // of HTTP
	Code      int    // of JSON-RPC, 0 without one
	Reason    string // for programs, such as "not_found" or "full_needed"; or ""
	Message   string // for people

	after     time.Duration // pause that the server asks for
	transient bool          // retry, whatever the status
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the server answered %d %s", e.Operation, e.Status, http.StatusText(e.Status))
	}
	return e.Operation + ": " + e.Message
}

// Is makes a server's refusal for size match [ErrTooLarge].
func (e *Error) Is(target error) bool { return target == ErrTooLarge && e.Code == codeTooLarge }

// NotFound reports whether the server says that the resource does not exist.
func (e *Error) NotFound() bool { return e.Reason == reasonNotFound || e.Code == codeNotFound }

// Busy reports whether the same request may succeed later.
func (e *Error) Busy() bool {
	return e.transient || slices.Contains(transientStatuses, e.Status) || e.Reason == reasonBusy
}

// Unauthorized reports whether the server wants other credentials, or any.
func (e *Error) Unauthorized() bool { return e.Status == http.StatusUnauthorized }

var transientStatuses = []int{
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// denying are the statuses that no other revision of the protocol would avoid.
var denying = append([]int{http.StatusUnauthorized, http.StatusForbidden}, transientStatuses...)

// again waits before another attempt of an operation. It returns an error if there must be none:
// the failure, or that of ctx.
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

// retry makes attempts of an operation. Within an attempt of an outer operation it makes only one,
// since the outer operation decides about retries.
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

// persist makes attempts until one succeeds, or no other is allowed.
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

// isTransient reports whether the same request may succeed later.
func isTransient(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Busy()
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return errors.Is(err, ErrNetwork) && !untrusted && !errors.Is(err, ErrProgramEnded)
}

// refused reports whether the server answered with an error that is about neither credentials nor
// load: it may support another method.
func refused(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && !slices.Contains(denying, refused.Status)
}

// failed returns the error of a connection that broke while a reply was read, or the error of ctx.
func failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNetwork), errors.Is(err, ErrDamaged): // already classified
		return err
	case errors.Is(err, io.EOF): // the input must not end
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrNetwork, err)
}

// refusal is the error of a reply that is no message: a line of plain text.
func refusal(reply *http.Response, operation string) error {
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
	if err != nil {
		text = nil
	}
	return refusalOf(reply, operation, text)
}

// refusalOf is the refusal whose body is a text.
func refusalOf(reply *http.Response, operation string, text []byte) error {
	text = text[:min(len(text), maxRefusal)]
	if bytes.ContainsFunc(text, isUnreadable) {
		text = nil
	}
	return &Error{
		Operation: operation, Status: reply.StatusCode, Message: string(bytes.TrimSpace(text)),
		after: retryAfter(reply),
	}
}

// isUnreadable reports characters that no message for people has, such as those of binary content.
func isUnreadable(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) && !strings.ContainsRune("\r\n\t", c)
}

// retryAfter is the pause that a reply asks for, in seconds.
func retryAfter(reply *http.Response) time.Duration {
	seconds, err := strconv.Atoi(reply.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
