package convert

import "bytes"

// identStage writes the id of the blob into the keyword `$Id$`, and into one with an id, `$Id:
// anything $`: gitattributes(5), "ident".
//
// A keyword ends at a dollar on the same line. A keyword whose text contains a space, other than at
// its beginning and before the closing dollar, belongs to another version control system, and
// stays.
//
// No byte between the two dollars can begin a keyword. So a failed candidate is passed on
// unchanged, and the search continues after it.
type identStage struct {
	*keywords

	text  int  // bytes after "$Id:", or -1 before the colon
	space bool // only a dollar may follow the last byte
	over  bool // the keyword exceeds the buffer, and is decided
}

// keywords is shared by the stages that write ids.
type keywords struct {
	next    stage
	keyword []byte // its replacement

	// hold bounds the buffered part of a keyword whose end is not known. For each longer one, long
	// tells in order whether it is replaced: the stage either determines that (searching) or uses
	// it.
	hold      int
	searching bool
	long      []bool

	held []byte // from the dollar on; empty outside of a keyword
}

const identHead = "$Id"

func (s *identStage) write(p []byte) error {
	for len(p) > 0 {
		if len(s.held) > 0 {
			rest, err := s.continueKeyword(p)
			if err != nil {
				return err
			}
			p = rest
			continue
		}
		i := bytes.IndexByte(p, '$')
		if i < 0 {
			return s.next.write(p)
		}
		if err := s.next.write(p[:i]); err != nil {
			return err
		}
		p = p[i+1:]
		s.held, s.text, s.space, s.over = append(s.held[:0], '$'), -1, false, false
	}
	return nil
}

func (s *identStage) end() error {
	if len(s.held) > 0 {
		if err := s.leave(); err != nil {
			return err
		}
	}
	return s.next.end()
}

// continueKeyword consumes bytes to the end of the keyword, and returns the rest.
func (s *identStage) continueKeyword(p []byte) ([]byte, error) {
	for i, c := range p {
		switch s.judge(c) {
		case identNone:
			return p[i:], s.leave()
		case identWhole:
			return p[i+1:], s.replace()
		}
		if left, err := s.keep(c); err != nil || left {
			return p[i+1:], err
		}
	}
	return nil, nil
}

type identVerdict byte

const (
	identOpen  identVerdict = iota // the keyword may continue with c
	identNone                      // with c it is no keyword
	identWhole                     // c is its closing dollar
)

// judge classifies the next byte of a candidate.
func (s *identStage) judge(c byte) identVerdict {
	if n := len(s.held); s.text < 0 && n < len(identHead) {
		return openIf(c == identHead[n])
	}
	switch {
	case c == '$':
		return identWhole
	case s.text < 0:
		return openIf(c == ':')
	}
	return openIf(c != '\n' && !s.space)
}

func openIf(good bool) identVerdict {
	if good {
		return identOpen
	}
	return identNone
}

// keep adds c to the keyword. left is true if the keyword exceeds the buffer, and is known to stay.
func (s *identStage) keep(c byte) (left bool, err error) {
	switch {
	case s.text >= 0:
		s.space = s.text > 0 && c == ' '
		s.text++
	case c == ':':
		s.text = 0
	}
	if len(s.held) < s.hold {
		s.held = append(s.held, c)
		return false, nil
	}
	if s.over {
		return false, nil
	}
	s.over = true
	if s.searching {
		return false, nil
	}
	if len(s.long) == 0 {
		return true, errChanged
	}
	replaced := s.long[0]
	s.long = s.long[1:]
	if replaced {
		return false, nil
	}
	s.held = append(s.held, c)
	return true, s.leave()
}

// leave passes on the buffered bytes unchanged.
func (s *identStage) leave() error { return s.finish(false, s.held) }

// replace passes on the keyword with the id.
func (s *identStage) replace() error {
	return s.finish(true, s.keyword)
}

func (s *identStage) finish(replaced bool, result []byte) error {
	if s.over && s.searching {
		s.long = append(s.long, replaced)
	}
	err := s.next.write(result)
	s.held = s.held[:0]
	return err
}
