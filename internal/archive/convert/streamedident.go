package convert

import "bytes"

// streamedIdentStage does what [identStage] does, as git checkout does it to contents
// that it streams: convert.c, ident_filter_fn. It differs from git archive in what is a
// keyword:
//
//   - A byte that ends the beginning of a keyword begins none, so that "$$Id$" stays.
//   - A keyword with a text goes on to the next dollar, or to the end of the line. It is
//     that of another system if it begins with a space and has one more, or a tab or a
//     CR, before another byte than the dollar, as far as its first NUL.
//   - "$Id", another byte, and a keyword with a text behind it are replaced together.
type streamedIdentStage struct {
	*keywords
	matched  int  // bytes of identBytes that came last
	inText   bool // behind "$Id:"
	foreign  foreignness
	over     bool // more came than can be held, and it is decided about
	dropping bool // and it is replaced
}

// identBytes are matched as C has the text: with a NUL at the end.
const identBytes = identHead + "\x00"

// foreignness is how far the question has got whether a keyword is of another system.
type foreignness byte

const (
	notForeign foreignness = iota // nor can it be any more
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
		if err := s.take(p[0]); err != nil {
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

// take looks at the next byte of what may be a keyword.
func (s *streamedIdentStage) take(c byte) error {
	if s.inText {
		return s.takeText(c)
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

// takeText looks at the next byte of a keyword's text.
func (s *streamedIdentStage) takeText(c byte) error {
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

// judge looks at a byte for the question whether the keyword is of another system.
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

// keep holds bytes until it is known what becomes of them.
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

// leave hands on what is held as it is.
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
