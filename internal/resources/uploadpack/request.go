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
	"strconv"
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
	haves    []git.ID // what the client says that it has, apart from what one got in a list lately
	wants    []git.ID // the first wanted ids
}

// maxStarts bounds the wanted ids from which it is looked for what the client says it has. A fetch of all branches of
// most repositories has fewer.
const maxStarts = 1000

// maxPrefixes bounds the comparisons of each ref with the prefixes of a request. Git sends six for each ref that its
// user names.
const maxPrefixes = 120

// These begin the lines of a request: gitprotocol-v2(5).
var (
	wantPrefix    = []byte("want ")
	havePrefix    = []byte("have ")
	commandPrefix = []byte("command=")
	refPrefix     = []byte("ref-prefix ")
	deepen        = []byte("deepen-")
)

// commands are those of version 2 that are served, and whether they list refs. Git also knows object-info, which tells
// of any object.
var commands = map[string]bool{"ls-refs": true, "fetch": false}

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
	head := s.IsV2() // the command and capabilities, up to a delimiter
	for {
		line, err := readLine(lines)
		head = head && line != nil
		switch {
		case in.N <= 0:
			return a, errTooLarge
		case errors.Is(err, io.EOF):
			for _, ids := range []*[]git.ID{&a.others, &a.haves} {
				slices.SortFunc(*ids, compareIDs)
				*ids = slices.Compact(*ids)
			}
			return a, machineError(w.Flush())
		case err != nil:
			return a, err
		case bytes.HasPrefix(line, wantPrefix):
			if err := s.note(line[len(wantPrefix):], &a, &a.others); err != nil {
				return a, err
			}
		case bytes.HasPrefix(line, havePrefix):
			if err := s.note(line[len(havePrefix):], &a, &a.haves); err != nil {
				return a, err
			}
		case bytes.HasPrefix(line, refPrefix) && len(a.prefixes) <= maxPrefixes:
			a.prefixes = append(a.prefixes, string(bytes.TrimSuffix(line[len(refPrefix):], []byte("\n"))))
		case bytes.HasPrefix(line, deepen):
			a.deepens = true
		case head && bytes.HasPrefix(line, commandPrefix):
			command := string(bytes.TrimSuffix(line[len(commandPrefix):], []byte("\n")))
			lists, served := commands[command]
			if !served {
				return a, &RefusedError{fmt.Sprintf("upload-pack: invalid command %.80q", command)}
			}
			a.lists = lists
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

// note keeps an id that no client got in a list lately.
func (s *Session) note(text []byte, a *asked, to *[]git.ID) error {
	var id git.ID
	digits := 2 * len(id)
	if len(text) < digits {
		return errMalformed
	}
	if _, err := hex.Decode(id[:], text[:digits]); err != nil {
		return errMalformed
	}
	if to == &a.others && len(a.wants) < maxStarts {
		a.wants = append(a.wants, id)
	}
	if s.engine.listed.has(s.repository.Name(), id, time.Now()) {
		return nil
	}
	if *to = append(*to, id); len(a.others)+len(a.haves) != manyWants {
		return nil
	}
	return s.reserve(func(ctx context.Context, _ string, memory int64) (*limits.Grant, error) {
		return s.engine.options.Limits.Body(ctx, memory)
	}, wantsMemory)
}

// maskHaves makes the id of each object that the client says it has, and that is hidden, one that no object has.
func (s *Session) maskHaves(hidden map[git.ID]bool) error {
	content, err := os.ReadFile(s.request.Name())
	if err != nil {
		return machineError(err)
	}
	for rest := content; len(rest) > 0; {
		size := lineSize(rest)
		digits, isHave := bytes.CutPrefix(rest[lengthDigits:size], havePrefix)
		var id git.ID
		if isHave {
			digits = digits[:2*len(id)]
			_, _ = hex.Decode(id[:], digits) // read has checked them
		}
		if hidden[id] {
			copy(digits, git.ID{}.String())
		}
		rest = rest[size:]
	}
	_, err = s.request.WriteAt(content, 0)
	return machineError(err)
}

// lineSize is the length of the first pkt-line with its digits.
func lineSize(lines []byte) int {
	size, _ := strconv.ParseUint(string(lines[:lengthDigits]), 16, 16) // read has checked it
	return max(int(size), lengthDigits)
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
