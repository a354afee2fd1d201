package pretty

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

// commit holds the parts of a commit for placeholders.
type commit struct {
	git.CommitText
	tree    git.ID
	parents []git.ID // empty at the end of a shallow history

	text     string // the message from its subject on
	subject  string // %s, in one line
	body     string // %b
	fileName string // %f

	trailers *trailerBlock // created on demand
}

func (f *Formatter) readCommit() (*commit, error) {
	shallow, err := f.shallow()
	if err != nil {
		return nil, err
	}
	raw, err := f.repository.RawCommit(f.id)
	if err != nil {
		return nil, err
	}
	links, err := git.ParseCommitLinks(f.id, raw)
	if err != nil {
		return nil, err
	}
	c := &commit{CommitText: git.ParseCommitText(raw), tree: links.Tree, parents: links.Parents}
	if shallow[f.id] {
		c.parents = nil
	}
	c.text = message.SkipBlankLines(c.Message)
	subject, body := message.CutSubject(c.text)
	c.subject, c.body = subject, message.SkipBlankLines(body)
	first, _, _ := strings.Cut(c.text, "\n")
	c.fileName = sanitize(first)
	return c, nil
}

// Characters to replace in file names, compiled on demand.
var (
	notInFileNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\w.]+`) })
	severalDots    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.{2,}`) })
)

// sanitize turns a subject into a file name.
func sanitize(subject string) string {
	name := notInFileNames().ReplaceAllString(subject, "-")
	name = severalDots().ReplaceAllString(name, ".")
	return strings.TrimRight(strings.TrimPrefix(name, "-"), ".-")
}

func (c *commit) encoding() string {
	if c.Encoding == nil {
		return ""
	}
	return *c.Encoding
}

// signatureState returns git's state for a signature that it cannot verify.
func (c *commit) signatureState() (string, error) {
	is := func(begin string) bool { return strings.HasPrefix(c.Signature, begin) }
	switch {
	case c.Signature == "", is(message.SSHSignature):
		return "N", nil
	case slices.ContainsFunc(message.Signatures, is):
		return "E", nil
	}
	return "", &FatalError{Reason: "unknown kind of signature"}
}
