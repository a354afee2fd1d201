package pretty

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

// commit is what placeholders show of a commit.
type commit struct {
	git.CommitText
	tree    git.ID
	parents []git.ID // none where a shallow history ends

	text     string // the message from its subject on
	subject  string // %s, in one line
	body     string // %b
	fileName string // %f

	trailers *trailerBlock // made when it is asked for
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

// What has no place in the names of files, compiled when it is needed.
var (
	notInFileNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\w.]+`) })
	severalDots    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.{2,}`) })
)

// sanitize makes a subject fit for the name of a file.
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

// signatureState returns the state that git has for a signature that it cannot check.
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
