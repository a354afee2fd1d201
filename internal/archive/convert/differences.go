package convert

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/encoding"
)

// differences are what glibc does otherwise with single characters: their
// bytes, or none if the encoding has no such character. The tables of the large
// encodings are only built when one is asked for.
func differences(parts ...func(map[rune]string)) func() map[rune]string {
	return sync.OnceValue(func() map[rune]string {
		m := map[rune]string{}
		for _, add := range parts {
			add(m)
		}
		return m
	})
}

// chars lists characters with their bytes, all in hex: "a5:5c" is one,
// "a2-a3:8191" is two with consecutive codes, and "2225:" is not there.
func chars(list string) func(map[rune]string) {
	return func(m map[rune]string) {
		for entry := range strings.FieldsSeq(list) {
			runes, code, _ := strings.Cut(entry, ":")
			first, last, isRange := strings.Cut(runes, "-")
			if !isRange {
				last = first
			}
			for r, n := hexNumber(first), uint32(0); r <= hexNumber(last); r, n = r+1, n+1 {
				m[r] = codeBytes(code, n)
			}
		}
	}
}

// codeBytes is the code that is n behind the given one.
func codeBytes(code string, n uint32) string {
	if code == "" {
		return ""
	}
	first, err := strconv.ParseUint(code, 16, 32)
	if err != nil {
		panic("convert: internal error: bad table: " + err.Error())
	}
	number := binary.BigEndian.AppendUint32(nil, uint32(first)+n)
	return string(number[len(number)-len(code)/2:])
}

func hexNumber(s string) rune {
	r, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		panic("convert: internal error: bad table: " + err.Error())
	}
	return rune(r)
}

// plane is a block of codes: each of the leads with each of the trails.
type plane struct {
	prefix      string
	first, last byte      // lead
	trails      [][2]byte // from, to
}

var (
	trails94   = [][2]byte{{0xa1, 0xfe}}
	trails96   = [][2]byte{{0x40, 0x7e}, {0x80, 0xa0}}
	trailsSJIS = [][2]byte{{0x40, 0x7e}, {0x80, 0xfc}}
	trailsBig5 = [][2]byte{{0x40, 0x7e}, {0xa1, 0xfe}}
)

func (p plane) codes(yield func(string) bool) {
	for lead := p.first; lead <= p.last; lead++ { // no last is 0xff
		for _, span := range p.trails {
			for trail := span[0]; trail <= span[1]; trail++ {
				if !yield(p.prefix + string([]byte{lead, trail})) {
					return
				}
			}
		}
	}
}

// area gives the codes of a plane to consecutive characters: the private ones
// of Unicode for the users' own characters in the encoding.
func area(first rune, p plane) func(map[rune]string) {
	return func(m map[rune]string) {
		r := first
		for code := range p.codes {
			m[r] = code
			r++
		}
	}
}

// preferred are codes that glibc chooses for a character that has two. Which
// character that is, the decoder knows.
func preferred(e encoding.Encoding, planes ...plane) func(map[rune]string) {
	return func(m map[rune]string) {
		decoder := e.NewDecoder()
		for _, p := range planes {
			for code := range p.codes {
				decoded, err := decoder.String(code)
				if runes := []rune(decoded); err == nil && len(runes) == 1 && runes[0] != replacement {
					m[runes[0]] = code
				}
			}
		}
	}
}

// replacement is what a decoder makes of a code without a character.
const replacement = '\ufffd'
