package convert

import (
	"errors"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git/charset"
)

// errNotEncodable means that the content is not UTF-8, or has a character that the encoding lacks.
var errNotEncodable = errors.New("convert: the content cannot be encoded")

// encodeStage converts UTF-8 to another encoding.
type encodeStage struct {
	next    stage
	charset charset.Charset
	encoder *charset.Encoder
	cut     []byte // an incomplete character
	out     []byte // pending output
}

func newEncodeStage(c charset.Charset, next stage) *encodeStage {
	return &encodeStage{next: next, charset: c, encoder: c.NewEncoder()}
}

func (s *encodeStage) write(p []byte) error {
	p, err := s.completeCut(p)
	if err != nil {
		return err
	}
	for len(p) > 0 {
		if n := s.asciiRun(p); n > 0 {
			s.out, p = append(s.out, p[:n]...), p[n:]
			continue
		}
		if !utf8.FullRune(p) {
			s.cut = append(s.cut, p...)
			break
		}
		n, err := s.encode(p)
		if err != nil {
			return err
		}
		p = p[n:]
		if len(s.out) >= pieceSize {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeCut takes the missing bytes of a character from p, and returns the rest.
func (s *encodeStage) completeCut(p []byte) ([]byte, error) {
	for len(s.cut) > 0 && len(p) > 0 {
		s.cut, p = append(s.cut, p[0]), p[1:]
		if utf8.FullRune(s.cut) {
			if _, err := s.encode(s.cut); err != nil {
				return nil, err
			}
			s.cut = s.cut[:0]
		}
	}
	return p, nil
}

// asciiRun returns the number of unchanged bytes at the beginning of p, up to the stage's output
// size.
func (s *encodeStage) asciiRun(p []byte) int {
	if !s.charset.ASCII {
		return 0
	}
	n := 0
	for n < min(len(p), pieceSize-len(s.out)) && p[n] < utf8.RuneSelf {
		n++
	}
	return n
}

func (s *encodeStage) end() error {
	if len(s.cut) > 0 {
		return errNotEncodable
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.next.end()
}

func (s *encodeStage) flush() error {
	err := s.next.write(s.out)
	s.out = s.out[:0]
	return err
}

// encode appends the first character of p to out and returns its length in p.
func (s *encodeStage) encode(p []byte) (int, error) {
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError && n == 1 {
		return 0, errNotEncodable
	}
	if r < utf8.RuneSelf && s.charset.ASCII {
		s.out = append(s.out, p[0])
		return n, nil
	}
	var ok bool
	if s.out, ok = s.encoder.Append(s.out, p[:n]); !ok {
		return 0, errNotEncodable
	}
	return n, nil
}
