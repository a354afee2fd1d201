package history

import (
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/charset"
	"github.com/repomcp/repomcp/internal/git/message"
)

// Commit is a commit for display. Its strings are UTF-8 if the commit declares its encoding and
// conforms to it; otherwise they are the bytes that git would print.
type Commit struct {
	ID   git.ID
	Tree git.ID
	// Parents are empty at the end of a shallow history.
	Parents   []git.ID
	Author    Person
	Committer Person
	// Message is everything after the header, git's %B, with its final line feeds.
	Message string

	stored int // bytes that the strings keep in memory
}

// Person is the author, committer or tagger with the time. Names are those of the commit, unless a
// Mailmap replaces them.
type Person = git.Person

// Subject returns the first paragraph of the message in one line, git's %s.
func (c Commit) Subject() string {
	subject, _ := message.CutSubject(message.SkipBlankLines(c.Message))
	return subject
}

// Summary returns the first line of the message that is not blank, or the id in parentheses: the
// summary of git-blame(1), "The porcelain format".
func (c Commit) Summary() string {
	line, _, _ := strings.Cut(message.SkipBlankLines(c.Message), "\n")
	if line == "" {
		return "(" + c.ID.String() + ")"
	}
	return line
}

// ReadCommit reads one commit, with all parents in its header.
func ReadCommit(snapshot *git.Snapshot, id git.ID) (Commit, error) {
	raw, err := snapshot.RawCommit(id)
	if err != nil {
		return Commit{}, err
	}
	links, err := git.ParseCommitLinks(id, raw)
	return parseCommit(id, raw, links), err
}

func parseCommit(id git.ID, raw []byte, links git.CommitLinks) Commit {
	text := git.ParseCommitText(raw)
	return Commit{
		ID: id, Tree: links.Tree, Parents: links.Parents, stored: len(raw),
		Author: parsePerson(text.Author), Committer: parsePerson(text.Committer), Message: text.Message,
	}
}

// readable returns a commit or a tag in UTF-8, up to the first NUL, as git shows it. The header
// "encoding" declares its encoding (git-commit(1), "Discussion").
func readable(raw []byte) string {
	text, _, _ := strings.Cut(string(raw), "\x00")
	header, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		if name, ok := strings.CutPrefix(line, "encoding "); ok {
			if charset.Same(name, charset.UTF8) {
				return text
			}
			return charset.Decode(text, name)
		}
	}
	return text
}

func parsePerson(line string) Person {
	p, _ := git.ParsePerson(line)
	return p
}

// links are a commit's data for walks; see source.
type links struct {
	number  uint32
	tree    git.ID
	parents []uint32 // their numbers
	// date is the committer's, in seconds since 1970. An earlier date wraps around and is later
	// than all others, as in git.
	date uint64
}

// root returns the commit's tree, or the zero id for nil.
func (l *links) root() git.ID {
	if l == nil {
		return git.ID{}
	}
	return l.tree
}

// folder returns the commit's tree as an entry.
func (l links) folder() entry { return entry{git.ModeDir, l.tree} }

// damaged returns the error for an unreadable commit.
func damaged(id git.ID, what string) error {
	return fmt.Errorf("commit %s %s: %w", id, what, git.ErrCorrupt)
}
