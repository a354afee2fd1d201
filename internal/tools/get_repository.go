package tools

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/resources"
)

// repositoryCard is the data of get_repository.
type repositoryCard struct {
	Name          string      `json:"name" jsonschema:"Full name"`
	Description   string      `json:"description,omitempty"`
	DefaultBranch string      `json:"defaultBranch,omitempty" jsonschema:"Absent when HEAD is no branch"`
	Empty         bool        `json:"empty,omitempty" jsonschema:"There is no commit yet"`
	Head          *commitCard `json:"head,omitempty" jsonschema:"Latest commit of the default branch"`
	Branches      int         `json:"branches" jsonschema:"Number of branches"`
	Tags          int         `json:"tags" jsonschema:"Number of tags"`
	URI           string      `json:"uri" jsonschema:"Resource of the repository; it can be subscribed to"`
	RefsURI       string      `json:"refsUri" jsonschema:"Resource with all branches and tags"`
	Archives      string      `json:"archives,omitempty" jsonschema:"Address of archives by ref"`
	Files         string      `json:"files,omitempty" jsonschema:"Address of files by ref and path"`
	Fetched       string      `json:"fetched,omitempty" jsonschema:"When the mirror was last fetched, where git noted it"`
	Stale         bool        `json:"stale,omitempty" jsonschema:"It is older than it should be, and is being refreshed"`
	remarks
}

// commitCard is the short form of a commit.
type commitCard struct {
	SHA     string `json:"sha"`
	Tree    string `json:"tree"`
	Date    string `json:"date" jsonschema:"When it was committed"`
	Author  string `json:"author"`
	Subject string `json:"subject" jsonschema:"First line of the message"`
}

func (v *visit) getRepository(ctx context.Context, _ place) error {
	// Freshen precedes RefsBelow: a fetch that ends in between must not make old refs look fresh.
	stale := v.Resources.Freshen(ctx, v.repository)
	refs, err := v.snapshot.RefsBelow(git.BranchPrefix, git.TagPrefix)
	if err != nil {
		return err
	}
	name := v.name()
	card := &repositoryCard{
		Name: quote(name), Description: line(v.repository.Description()),
		URI: resources.Resource{Repository: name}.String(), RefsURI: refsOf(name).String(),
	}
	branch, err := v.snapshot.DefaultBranch()
	if err != nil {
		return err
	}
	if branch != "" {
		card.DefaultBranch = quote(branch)
	}
	if fetched := v.repository.Fetched(); !fetched.IsZero() {
		card.Fetched = fetched.UTC().Format(time.RFC3339)
	}
	if card.Stale = stale; stale {
		v.note(refreshed)
	}
	for _, ref := range refs {
		if ref.Branch() != "" {
			card.Branches++
		} else {
			card.Tags++
		}
	}
	if err := v.addHead(card); err != nil {
		return err
	}
	if err := v.addDownloads(ctx, card, name); err != nil {
		return err
	}
	v.data, v.lines = card, card.lines()
	return nil
}

// addDownloads adds the addresses of plain downloads if the server's public address is known.
func (s *service) addDownloads(ctx context.Context, c *repositoryCard, repository string) error {
	refs, err := s.Resources.Locate(ctx, refsOf(repository))
	if err != nil {
		return err
	}
	const of = "/refs"
	if name, ok := strings.CutPrefix(refs.Route, of); ok && refs.URL != "" {
		base := strings.TrimSuffix(refs.URL, refs.Route)
		c.Archives, c.Files = base+"/archive"+name+"/{ref}.tar.gz", base+"/raw"+name+"/{ref}/{path}"
	}
	return nil
}

func (v *visit) addHead(c *repositoryCard) error {
	head, err := v.snapshot.Head()
	if errors.Is(err, git.ErrUnborn) {
		v.note("HEAD names a branch that does not exist: give ref to other tools.")
		return nil
	}
	if errors.Is(err, git.ErrEmpty) {
		c.Empty = true
		v.note("There is no commit yet.")
		return nil
	}
	if err != nil {
		return err
	}
	commit, err := v.snapshot.Commit(head.Commit)
	if err != nil {
		return err
	}
	v.rememberTree(commit.ID, "", commit.Tree)
	c.Head = &commitCard{
		SHA: commit.ID.String(), Tree: commit.Tree.String(), Date: commit.Committer.When().Format(time.RFC3339),
		Author: line(commit.Author.Name), Subject: line(commit.Subject()),
	}
	return nil
}

// lines returns the data as lines of text.
func (c *repositoryCard) lines() (lines []string) {
	head := cmp.Or(c.Head, &commitCard{})
	stale := ""
	if c.Stale {
		stale = "true"
	}
	for _, fact := range [][2]string{
		{"name", c.Name}, {"description", c.Description}, {"default branch", c.DefaultBranch},
		{"head", head.SHA}, {"tree", head.Tree}, {"date", head.Date}, {"author", head.Author},
		{"subject", head.Subject},
		{"branches", strconv.Itoa(c.Branches)}, {"tags", strconv.Itoa(c.Tags)},
		{"uri", c.URI}, {"refs uri", c.RefsURI}, {"archives", c.Archives}, {"files", c.Files},
		{"fetched", c.Fetched}, {"stale", stale},
	} {
		if fact[1] != "" {
			lines = append(lines, fact[0]+": "+fact[1])
		}
	}
	return lines
}
