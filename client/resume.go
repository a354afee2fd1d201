package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/client/internal/retry"
)

// part is the requested part of the bytes: those from position from on. tag names the whole.
type part struct {
	from int64
	tag  string
}

// ask adds the part to the headers of a request; without them the whole is requested.
func (p part) ask(h http.Header) {
	if p.from > 0 {
		h.Set("Range", fmt.Sprintf("bytes=%d-", p.from))
		h.Set("If-Range", p.tag)
	}
}

// body is the body of a download, over all its replies. It ends only when the download is proved
// complete: see [body.end].
type body struct {
	source
	ctx context.Context // of the call that began the download, used for retries
	c   *Client
	d   *Download

	reply    *http.Response
	sum      hash.Hash
	read     int64           // bytes that Read returned
	size     int64           // of the whole, or -1
	tag      string          // names the bytes, or "" if they cannot be resumed
	digest   string          // SHA-256, or "" while unknown
	form     *form           // recognises the end of the bytes if nothing else can; or nil
	failures *retry.Failures // in a row, since the first request
	broken   error           // the error after the connection's last byte
	err      error           // returned by every further Read
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.next(p)
	if err != nil {
		b.form.close()
	}
	return n, err
}

// next reads from the present reply.
func (b *body) next(p []byte) (int, error) {
	for b.err == nil {
		if b.broken != nil {
			b.err = b.mend(b.broken)
			continue
		}
		n, err := b.reply.Body.Read(p)
		b.broken = err
		if n > 0 || len(p) == 0 {
			return b.count(p[:n])
		}
	}
	return 0, b.err
}

// count returns bytes to the caller, at most as many as are wanted and announced.
func (b *body) count(p []byte) (int, error) {
	n, most := int64(len(p)), b.c.options.MaxStreamSize
	if most > 0 && b.read+n > most {
		n, b.err = most-b.read, ErrTooLarge
	} else if b.size >= 0 && b.read+n > b.size {
		n, b.err = b.size-b.read, ErrLength
	}
	b.sum.Write(p[:n])
	b.form.see(p[:n])
	b.read += n
	b.failures.Forget()
	return int(n), b.err
}

// Close ends the download in any state.
func (b *body) Close() error {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.operation(), fs.ErrClosed)
	}
	b.form.close()
	return b.reply.Body.Close()
}

// mend continues after the end of a reply. If that was the end of the download, it returns io.EOF.
func (b *body) mend(broken error) error {
	if errors.Is(broken, io.EOF) {
		if broken = b.end(); !errors.Is(broken, io.ErrUnexpectedEOF) && !isTransient(broken) {
			return broken
		}
	}
	_ = b.reply.Body.Close()
	if errors.Is(broken, ErrDamaged) {
		return fmt.Errorf("%s: %w", b.operation(), broken)
	}
	failure := fmt.Errorf("%s: %w", b.operation(), failed(b.ctx, broken))
	for {
		if b.read > 0 && b.tag == "" && isTransient(failure) {
			return fmt.Errorf("%w: its bytes have no strong ETag: %w", ErrNotResumed, failure)
		}
		if err := b.c.again(b.ctx, b.failures, failure); err != nil {
			return err
		}
		if failure = b.reopen(); failure == nil {
			b.broken = nil
			return nil
		}
	}
}

// reopen finds a reply that continues the returned bytes. It tries the cheapest request for the
// server first.
func (b *body) reopen() error {
	if b.read == 0 {
		// No byte was returned yet, so any version of the content will do.
		reply, err := b.whole()
		if err != nil {
			return err
		}
		b.d.Size, b.size, b.digest = -1, -1, ""
		return b.take(reply)
	}
	// The part begins one byte early, so it is never empty, even if only the end was lost.
	want := part{b.read - 1, b.tag}
	var failure error
	for _, at := range b.places() {
		reply, err := b.c.get(b.ctx, at.address, b.operation(), part{want.from, at.tag})
		if err == nil {
			err = b.take(reply)
		}
		if err == nil || isTransient(err) || b.ctx.Err() != nil {
			return err
		}
		failure = cmp.Or(failure, err)
	}
	if b.uri != "" {
		reply, err := b.c.stream(b.ctx, b.pinned(), want)
		if err == nil {
			err = b.take(reply)
		}
		if err == nil || isTransient(err) || b.ctx.Err() != nil {
			return err
		}
		failure = err
	}
	return fmt.Errorf("%w: %w", ErrNotResumed, failure)
}

// place is a URL of the bytes, with their entity tag there.
type place struct {
	address *url.URL
	tag     string
}

// places are all known URLs.
func (b *body) places() (list []place) {
	for _, at := range []place{{b.permalink, b.tag}, {b.address, b.addressTag}} {
		if at.address != nil {
			list = append(list, at)
		}
	}
	return list
}

// whole requests the bytes from the first one on.
func (b *body) whole() (*http.Response, error) {
	if b.beside {
		return b.c.besides(b.ctx, b.uri)
	}
	if b.uri != "" {
		return b.c.stream(b.ctx, b.uri, part{})
	}
	return b.c.get(b.ctx, b.address, b.operation(), part{})
}

// pinned is the immutable URI of the bytes, if the server has named it.
func (b *body) pinned() string {
	if b.d.Commit != "" {
		return b.d.URI
	}
	return b.uri
}

// take makes a reply the present one. It closes a reply with other bytes.
func (b *body) take(reply *http.Response) error {
	err := b.fits(reply)
	if err != nil {
		_ = reply.Body.Close()
		return fmt.Errorf("%s: %w", b.operation(), err)
	}
	b.reply = reply
	return nil
}

// fits checks that a reply has the same bytes as those before it, and skips those that were already
// returned.
func (b *body) fits(reply *http.Response) error {
	first, size, err := extentOf(reply)
	if err != nil {
		return err
	}
	tag := strong(unmarked(reply.Header.Get("ETag")))
	others := tag == "" || tag != b.tag || b.size >= 0 && size >= 0 && size != b.size
	if b.read > 0 && others || first > b.read || size >= 0 && size < b.read {
		return fmt.Errorf("%w: the server has other bytes by now", ErrNotResumed)
	}
	if most := b.c.options.MaxStreamSize; most > 0 && size > most {
		return fmt.Errorf("%w: it has %d bytes", ErrTooLarge, size)
	}
	if sum, ok := digestOf(reply.Header); ok {
		b.digest = sum
	}
	b.learn(reply, tag, size)
	if _, err := io.CopyN(io.Discard, reply.Body, b.read-first); err != nil {
		return failed(b.ctx, err)
	}
	return nil
}

// learn notes what a reply says about the bytes and their location.
func (b *body) learn(reply *http.Response, tag string, size int64) {
	if size >= 0 {
		b.d.Size, b.size = size, size
	}
	if b.read == 0 {
		b.d.describe(reply.Header, b.uri)
		b.tag = tag
		b.form.close()
		b.form = nil
		if b.size < 0 && b.digest == "" && tag == "" {
			b.form = &form{ctx: b.ctx}
		}
	} else if b.d.MIMEType == "" { // the rest of a part
		b.d.describe(reply.Header, b.uri)
	}
	from := reply.Request
	if from.Method == http.MethodGet {
		b.address, b.addressTag = from.URL, reply.Header.Get("ETag")
	}
	link, err := url.Parse(immutable(reply.Header))
	switch {
	case err == nil && link.Host != "" && b.c.trusts(link) == nil:
		b.permalink = link
	case err == nil && link.Path != "":
		// A server behind a proxy may not know its own address.
		link.Scheme, link.Host = b.c.server.Scheme, b.c.server.Host
		b.permalink = link
	case !sameOrigin(from.URL, b.c.server):
		b.permalink = nil // the tag is that of object storage, which the server does not know
	case b.uri != "" && b.permalink == nil:
		b.permalink = b.c.plainAddress(b.pinned())
	}
}

// extentOf is where the bytes of a reply begin, and the size of the whole, or -1.
func extentOf(reply *http.Response) (first, size int64, err error) {
	if reply.StatusCode != http.StatusPartialContent {
		return 0, reply.ContentLength, nil
	}
	var last int64
	value := reply.Header.Get("Content-Range")
	n, err := fmt.Sscanf(value, "bytes %d-%d/%d", &first, &last, &size)
	if n < 2 || err != nil && !strings.HasSuffix(value, "/*") {
		return 0, 0, fmt.Errorf("%w: the server sends a part and does not say which", ErrDamaged)
	}
	if strings.HasSuffix(value, "/*") {
		size = -1
	}
	return first, size, nil
}

// strong returns a strong entity tag, or "".
func strong(tag string) string {
	if strings.HasPrefix(tag, `"`) {
		return tag
	}
	return ""
}

// markBytes is the length of the addition to an entity tag by a link for one download: a tilde and
// the secret that resumes it.
const markBytes = 1 + 22

// unmarked is the entity tag of the bytes without a link's secret, so that another replica, or
// another link, can serve the rest.
func unmarked(tag string) string {
	at := len(tag) - len(`"`) - markBytes
	if at > 0 && tag[at] == '~' && tag[len(tag)-1] == '"' {
		return tag[:at] + `"`
	}
	return tag
}

// digestOf finds the SHA-256 in a dictionary of digests, "sha-256=:BASE64:".
func digestOf(h http.Header) (string, bool) {
	for member := range strings.SplitSeq(h.Get("Repr-Digest"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		value, colon := strings.CutPrefix(value, ":")
		if name != "sha-256" || !colon {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(value, ":"))
		return string(sum), err == nil
	}
	return "", false
}
