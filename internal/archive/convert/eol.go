package convert

import "bytes"

// crlfStage inserts a CR before each LF without one.
type crlfStage struct {
	next stage
	crlf []byte
	cr   bool // the last byte was a CR
}

func newCRLFStage(next stage) *crlfStage {
	return &crlfStage{next: next, crlf: []byte("\r\n")}
}

func (s *crlfStage) write(p []byte) error {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.cr = p[len(p)-1] == '\r'
			return s.next.write(p)
		}
		if i == 0 && s.cr || i > 0 && p[i-1] == '\r' {
			if err := s.next.write(p[:i+1]); err != nil {
				return err
			}
		} else if err := s.lineWithCRLF(p[:i]); err != nil {
			return err
		}
		s.cr, p = false, p[i+1:]
	}
	return nil
}

func (s *crlfStage) lineWithCRLF(line []byte) error {
	if err := s.next.write(line); err != nil {
		return err
	}
	return s.next.write(s.crlf)
}

func (s *crlfStage) end() error { return s.next.end() }

// statistics is the end of a chain that determines whether a content is text.
type statistics struct {
	nul, loneCR, loneLF, crlf int64
	printable, nonPrintable   int64

	cr   bool // the last byte was a CR, not yet counted
	last byte
}

const (
	substitute = 0x1a // ^Z, the end of a file in CP/M
	escape     = 0x1b
	del        = 0x7f
)

func (s *statistics) write(p []byte) error {
	for _, c := range p {
		if s.cr && c != '\n' {
			s.loneCR++
		}
		switch {
		case c == '\n' && s.cr:
			s.crlf++
		case c == '\n':
			s.loneLF++
		case c == '\r': // counted with the next byte
		case c == 0:
			s.nul++
			s.nonPrintable++
		case isPrintable(c):
			s.printable++
		default:
			s.nonPrintable++
		}
		s.cr, s.last = c == '\r', c
	}
	return nil
}

// isPrintable treats all bytes beyond ASCII as printable.
func isPrintable(c byte) bool {
	switch c {
	case '\b', '\t', '\f', escape:
		return true
	}
	return c >= ' ' && c != del
}

func (s *statistics) end() error {
	if s.cr {
		s.loneCR++
	}
	if s.last == substitute {
		s.nonPrintable--
	}
	return nil
}

// isTextWithoutCR implements text=auto: whether all LFs can become CRLFs reversibly. A content is
// binary if more than one byte in 128 is not printable.
func (s *statistics) isTextWithoutCR() bool {
	return s.loneCR == 0 && s.crlf == 0 && s.nul == 0 && s.printable/128 >= s.nonPrintable
}
