package uploadpack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// maxRequestBytes bounds an uncompressed request: 600,000 wants, such as all files of a large checkout in a
	// partial clone.
	maxRequestBytes = 32 << 20
	// manyWants is the number of wants for which wantsMemory is reserved, the most that a request needs.
	manyWants, wantsMemory = 16 << 10, 32 << 20
	// maxLineBytes is git's LARGE_PACKET_MAX (gitprotocol-common(5)).
	maxLineBytes = 65520
	// lengthDigits are those of the length of a pkt-line, which is counted in it.
	lengthDigits = 4
)

// RequestError is the reason why a request cannot be served.
type RequestError struct {
	// TooLarge is true for a request of more than maxRequestBytes.
	TooLarge bool
	cause    string
}

func (e *RequestError) Error() string { return "the request " + e.cause }

var (
	errTooLarge  = &RequestError{TooLarge: true, cause: fmt.Sprintf("has more than %d bytes", maxRequestBytes)}
	errMalformed = &RequestError{cause: "is none of git's protocol"}
	errCut       = &RequestError{cause: "is not whole"}
)

// asked has the relevant parts of a request.
type asked struct {
	lists    bool     // only refs are wanted
	prefixes []string // of the refs that are to be listed; more than maxPrefixes count as none
	deepens  bool     // the depth of the history may depend on any ref
	others   []git.ID // wanted ids that no client got in a list lately, in order and each once
}

// maxPrefixes bounds the comparisons of each ref with the prefixes of a request. Git sends six for each ref that its
// user names.
const maxPrefixes = 120

// These begin the lines of a request: gitprotocol-v2(5).
var (
	wantPrefix  = []byte("want ")
	listCommand = []byte("command=ls-refs")
	refPrefix   = []byte("ref-prefix ")
	deepen      = []byte("deepen-")
)

// refsFor returns the prefixes of the refs that git needs for the request; none means all.
func (s *Session) refsFor(a asked) []string {
	switch {
	case a.lists && len(a.prefixes) <= maxPrefixes:
		return a.prefixes
	case !a.lists && s.IsV2() && !a.deepens && len(a.others) == 0:
		return []string{git.TagPrefix} // include-tag adds the tags of what is sent
	default:
		return nil
	}
}

// read writes the request into a file, from which git reads it, and collects the wanted ids and prefixes of refs. Every
// line that git could interpret as a want counts, at any position.
func (s *Session) read(request io.Reader) (a asked, err error) {
	name := filepath.Join(s.folder, "request")
	if s.request, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return a, machineError(err)
	}
	w := bufio.NewWriter(s.request)
	in := &io.LimitedReader{R: received{request}, N: maxRequestBytes + 1}
	lines := bufio.NewReader(io.TeeReader(in, w))
	for {
		line, err := readLine(lines)
		switch {
		case in.N <= 0:
			return a, errTooLarge
		case errors.Is(err, io.EOF):
			slices.SortFunc(a.others, compareIDs)
			a.others = slices.Compact(a.others)
			return a, machineError(w.Flush())
		case err != nil:
			return a, err
		case bytes.HasPrefix(line, wantPrefix):
			if err := s.note(line[len(wantPrefix):], &a); err != nil {
				return a, err
			}
		case bytes.HasPrefix(line, refPrefix) && len(a.prefixes) <= maxPrefixes:
			a.prefixes = append(a.prefixes, string(bytes.TrimSuffix(line[len(refPrefix):], []byte("\n"))))
		case bytes.HasPrefix(line, deepen):
			a.deepens = true
		default:
			a.lists = a.lists || bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), listCommand)
		}
	}
}

// received is a client's request. What keeps it from arriving whole, such as a pause or damaged compression, is an
// error of the client's.
type received struct{ io.Reader }

func (r received) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// note keeps a wanted id that no client got in a list lately.
func (s *Session) note(text []byte, a *asked) error {
	var id git.ID
	digits := 2 * len(id)
	if len(text) < digits {
		return errMalformed
	}
	if _, err := hex.Decode(id[:], text[:digits]); err != nil {
		return errMalformed
	}
	if s.engine.listed.has(s.repository.Name(), id, time.Now()) {
		return nil
	}
	if a.others = append(a.others, id); len(a.others) != manyWants {
		return nil
	}
	return s.reserve(func(ctx context.Context, _ string, memory int64) (*limits.Grant, error) {
		return s.engine.options.Limits.Body(ctx, memory)
	}, wantsMemory)
}

// readLine returns the content of a pkt-line (gitprotocol-common(5)); nil for the delimiters of version 2, which
// go-git's scanner refuses as malformed. It returns io.EOF only at the end of the request.
func readLine(r *bufio.Reader) ([]byte, error) {
	var digits [lengthDigits]byte
	if _, err := io.ReadFull(r, digits[:]); err != nil {
		return nil, cutShort(err)
	}
	var length [lengthDigits / 2]byte
	if _, err := hex.Decode(length[:], digits[:]); err != nil {
		return nil, errMalformed
	}
	switch n := int(length[0])<<8 | int(length[1]); {
	case n < lengthDigits-1: // flush, delimiter, end of a response
		return nil, nil
	case n < lengthDigits || n > maxLineBytes:
		return nil, errMalformed
	default:
		line := make([]byte, n-lengthDigits)
		_, err := io.ReadFull(r, line)
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = errCut
		}
		return line, cutShort(err)
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}
