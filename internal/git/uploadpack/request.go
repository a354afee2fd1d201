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

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// maxRequestBytes of a request that is not compressed any more: 600,000 wants, such as all files of a large
	// checkout of a partial clone.
	maxRequestBytes = 32 << 20
	// manyWants is from how many on memory for them is reserved, and wantsMemory what all of a request take.
	manyWants, wantsMemory = 16 << 10, 32 << 20
	// maxLineBytes is git's LARGE_PACKET_MAX (gitprotocol-common(5)).
	maxLineBytes = 65520
	// lengthDigits are those of the length of a pkt-line, which is counted in it.
	lengthDigits = 4
)

// RequestError says why a request cannot be served as it is.
type RequestError struct {
	// TooLarge says that it is longer than a request may be.
	TooLarge bool
	cause    string
}

func (e *RequestError) Error() string { return "the request " + e.cause }

var (
	errTooLarge  = &RequestError{TooLarge: true, cause: fmt.Sprintf("has more than %d bytes", maxRequestBytes)}
	errMalformed = &RequestError{cause: "is none of git's protocol"}
	errCut       = &RequestError{cause: "is not whole"}
)

// asked is what matters of a request.
type asked struct {
	lists  bool       // refs alone
	others []repos.ID // that are wanted and that no ref holds, in order and each once
}

var (
	wantPrefix  = []byte("want ")
	listCommand = []byte("command=ls-refs")
)

// read writes the request into a file, from which git reads it, and notes what it wants. Every line that git could
// take for a want is one here, wherever it stands.
func (s *Session) read(request io.Reader) (a asked, err error) {
	name := filepath.Join(s.folder, "request")
	if s.request, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return a, machineError(err)
	}
	w := bufio.NewWriter(s.request)
	in := &io.LimitedReader{R: request, N: maxRequestBytes + 1}
	lines := bufio.NewReader(io.TeeReader(in, w))
	for {
		line, err := readLine(lines)
		switch {
		case in.N <= 0:
			return a, errTooLarge
		case errors.Is(err, io.EOF):
			slices.SortFunc(a.others, func(x, y repos.ID) int { return bytes.Compare(x[:], y[:]) })
			a.others = slices.Compact(a.others)
			return a, machineError(w.Flush())
		case err != nil:
			return a, err
		case bytes.HasPrefix(line, wantPrefix):
			if err := s.note(line[len(wantPrefix):], &a); err != nil {
				return a, err
			}
		default:
			a.lists = a.lists || bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), listCommand)
		}
	}
}

// note keeps a want that no served ref holds.
func (s *Session) note(text []byte, a *asked) error {
	var id repos.ID
	digits := 2 * len(id)
	if len(text) < digits {
		return errMalformed
	}
	if _, err := hex.Decode(id[:], text[:digits]); err != nil {
		return errMalformed
	}
	if _, held := s.refs[id]; held {
		return nil
	}
	if a.others = append(a.others, id); len(a.others) != manyWants {
		return nil
	}
	return s.reserve(func(ctx context.Context, _ string, memory int64) (*limits.Grant, error) {
		return s.engine.options.Limits.Body(ctx, memory)
	}, wantsMemory)
}

// readLine reads a pkt-line (gitprotocol-common(5)) and returns what is in it: nothing for those of version 2 that
// separate or end, which go-git's scanner takes for malformed. It is io.EOF at the end, and only there.
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
