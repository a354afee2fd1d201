package subst

import (
	"strings"

	"github.com/repomcp/repomcp/internal/charset"
	"github.com/repomcp/repomcp/internal/message"
	"github.com/repomcp/repomcp/internal/repos"
)

// commit is what placeholders show of a commit, in UTF-8. It follows
// parse_commit_header and parse_commit_message (pretty.c).
type commit struct {
	tree    repos.ID
	parents []repos.ID

	encoding  *string // the header, nil without one
	author    string
	committer string
	signature string // the header gpgsig

	message  string // %B
	text     string // the message from its subject on
	subject  string // %s, in one line
	fileName string // %f
	body     string // %b

	block *trailerBlock // made when asked for
}

func parseCommit(raw []byte, shallow bool) *commit {
	stored := string(raw)
	header := headerOf(stored)
	c := &commit{tree: header.tree, parents: header.parents, signature: header.signature()}
	if shallow {
		c.parents = nil
	}
	stored = untilNUL(stored)
	if encoding, ok := headerValue(stored, "encoding"); ok {
		c.encoding = &encoding
		if !charset.Same(encoding, charset.UTF8) {
			stored = charset.Decode(stored, encoding)
		}
	}
	c.parseHeader(stored)
	return c
}

// parseHeader reads the people; the last line of a kind counts.
func (c *commit) parseHeader(stored string) {
	for stored != "" {
		line, rest, _ := strings.Cut(stored, "\n")
		if line == "" {
			c.parseMessage(rest)
			return
		}
		if author, ok := strings.CutPrefix(line, "author "); ok {
			c.author = author
		} else if committer, ok := strings.CutPrefix(line, "committer "); ok {
			c.committer = committer
		}
		stored = rest
	}
}

func (c *commit) parseMessage(text string) {
	c.message = text
	c.text = message.SkipBlankLines(text)
	var body string
	c.subject, body = message.CutSubject(c.text)
	c.body = message.SkipBlankLines(body)
	first, _, _ := strings.Cut(c.text, "\n")
	c.fileName = sanitize(first)
}

// sanitize makes a subject fit for a file name: format_sanitized_subject.
func sanitize(s string) string {
	var name []byte
	gap, started := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isAlnum(c) && c != '.' && c != '_' {
			gap = true
			continue
		}
		if gap && started {
			name = append(name, '-')
		}
		gap, started = false, true
		name = append(name, c)
		for c == '.' && at(s, i+1) == '.' {
			i++
		}
	}
	return strings.TrimRight(string(name), ".-")
}

// headerValue is find_commit_header (commit.c).
func headerValue(stored, key string) (string, bool) {
	for stored != "" {
		line, rest, _ := strings.Cut(stored, "\n")
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return value, true
		}
		stored = rest
	}
	return "", false
}

// header is the beginning of a commit as parse_commit_buffer (commit.c) reads
// it: the tree and the parents have fixed places.
type header struct {
	tree    repos.ID
	parents []repos.ID
	rest    string
}

func headerOf(stored string) header {
	var h header
	line, rest, _ := strings.Cut(stored, "\n")
	if hex, ok := strings.CutPrefix(line, "tree "); ok {
		h.tree, _ = repos.ParseID(hex) // a damaged one stays zero
	}
	for {
		line, after, _ := strings.Cut(rest, "\n")
		hex, ok := strings.CutPrefix(line, "parent ")
		if !ok {
			break
		}
		if parent, err := repos.ParseID(hex); err == nil {
			h.parents = append(h.parents, parent)
		}
		rest = after
	}
	h.rest = rest
	return h
}

// date is parse_commit_date (commit.c): the seconds after the committer's ">".
// A date before 1970 wraps around and is later than all others.
func (h header) date() uint64 {
	line, rest, _ := strings.Cut(h.rest, "\n")
	if !strings.HasPrefix(line, "author") || !strings.HasPrefix(rest, "committer") {
		return 0
	}
	_, after, found := strings.Cut(rest, ">")
	if !found || strings.IndexByte(after, '\n') < 0 {
		return 0
	}
	seconds, _ := parseUnsigned(after)
	return seconds
}

// signature is the beginning of the signature of the commit.
func (h header) signature() string {
	signature, _ := headerValue(h.rest, "gpgsig")
	return signature
}
