package convert

import "bytes"

// streamedIdentStage corresponds to [identStage] for contents that git checkout streams: convert.c,
// ident_filter_fn. It differs in what is a keyword:
//
//   - A byte that breaks the beginning of a keyword cannot begin one, so that "$$Id$" stays.
//   - A keyword with a text ends at the next dollar, or at the end of the line. It belongs to
//     another system if it begins with a space and has another one, or a tab or a CR, before a byte
//     other than the dollar, up to its first NUL.
//   - "$Id", another byte, and a keyword with a text after it are replaced together.
type streamedIdentStage struct {
	*keywords
	matched  int  // length of the matched prefix of identBytes
	inText   bool // after "$Id:"
	foreign  foreignness
	over     bool // the keyword exceeds the buffer, and is decided
	dropping bool // and it is replaced
}

// identBytes are matched as a C string: with a NUL at the end.
const identBytes = identHead + "\x00"

// foreignness is the state of deciding whether a keyword belongs to another system.
type foreignness byte

const (
	notForeign foreignness = iota // decided: it does not
	atFirst
	open // it begins with a space
	afterSpace
	isForeign
)

func (s *streamedIdentStage) write(p []byte) error {
	for len(p) > 0 {
		if len(s.held) == 0 && s.matched == 0 && !s.over {
			i := bytes.IndexByte(p, '$')
			if i < 0 {
				return s.next.write(p)
			}
			if err := s.next.write(p[:i]); err != nil {
				return err
			}
			s.matched, p = 1, p[i+1:]
			continue
		}
		if err := s.matchByte(p[0]); err != nil {
			return err
		}
		p = p[1:]
	}
	return nil
}

func (s *streamedIdentStage) end() error {
	err := s.keep([]byte(identBytes[:s.matched])...)
	if s.matched = 0; err == nil {
		err = s.leave()
	}
	if err != nil {
		return err
	}
	return s.next.end()
}

// matchByte processes the next byte of a candidate.
func (s *streamedIdentStage) matchByte(c byte) error {
	if s.inText {
		return s.matchText(c)
	}
	if s.matched < len(identBytes) && c == identBytes[s.matched] {
		s.matched++
		return nil
	}
	matched, alone := s.matched, len(s.held) == 0 && !s.over
	s.matched = 0
	if err := s.keep([]byte(identBytes[:matched])...); err != nil {
		return err
	}
	switch {
	case matched != len(identHead):
		if err := s.keep(c); err != nil {
			return err
		}
		return s.leave()
	case c == '$' && s.searching:
		return s.leave()
	case c == '$':
		if err := s.leave(); err != nil {
			return err
		}
		return s.next.write(s.keyword[len(identHead):])
	case c == ':':
		s.inText, s.foreign = true, notForeign
		if alone {
			s.foreign = atFirst
		}
	}
	return s.keep(c)
}

// matchText processes the next byte of a keyword's text.
func (s *streamedIdentStage) matchText(c byte) error {
	if err := s.keep(c); err != nil {
		return err
	}
	if c != '$' && c != '\n' {
		s.judge(c)
		return nil
	}
	s.inText = false
	if c == '\n' || s.foreign == isForeign {
		return s.leave()
	}
	return s.finish(true)
}

// judge uses a byte to decide whether the keyword belongs to another system.
func (s *streamedIdentStage) judge(c byte) {
	switch isSpace := c == ' ' || c == '\t' || c == '\r'; {
	case s.foreign == atFirst && c == ' ', s.foreign == open && c != 0 && !isSpace:
		s.foreign = open
	case s.foreign == open && isSpace:
		s.foreign = afterSpace
	case s.foreign == afterSpace:
		s.foreign = isForeign
	case s.foreign != isForeign:
		s.foreign = notForeign
	}
}

// keep buffers bytes until the keyword is decided.
func (s *streamedIdentStage) keep(b ...byte) error {
	switch {
	case s.over && (s.searching || s.dropping):
		return nil
	case s.over:
		return s.next.write(b)
	case len(s.held)+len(b) <= s.hold:
		s.held = append(s.held, b...)
		return nil
	}
	s.over = true
	if s.searching {
		return nil
	}
	if len(s.long) == 0 {
		return errChanged
	}
	s.dropping, s.long = s.long[0], s.long[1:]
	if s.dropping {
		return nil
	}
	return s.next.write(append(s.held, b...))
}

// leave passes on the buffered bytes unchanged.
func (s *streamedIdentStage) leave() error { return s.finish(false) }

func (s *streamedIdentStage) finish(replaced bool) error {
	if s.over && s.searching {
		s.long = append(s.long, replaced)
	}
	var err error
	switch {
	case s.over && s.dropping != replaced && !s.searching:
		err = errChanged
	case replaced:
		err = s.next.write(s.keyword)
	case !s.over:
		err = s.next.write(s.held)
	}
	s.held, s.over, s.dropping = s.held[:0], false, false
	return err
}
