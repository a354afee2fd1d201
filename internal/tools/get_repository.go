package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/repomcp/repomcp/internal/repos"
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

func (s *service) getRepository(_ context.Context, a place) (_ *result, err error) {
	snapshot, err := s.open(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	refs, err := snapshot.Refs()
	if err != nil {
		return nil, err
	}
	name := snapshot.Repository().Name()
	card := &repositoryCard{Name: quote(name), Description: line(snapshot.Description()), URI: s.locator.Card(name), RefsURI: s.locator.RefsURI(name)}
	branch, err := snapshot.DefaultBranch()
	if err != nil {
		return nil, err
	}
	if branch != "" {
		card.DefaultBranch = quote(branch)
	}
	card.Branches, card.Tags = len(branches(refs)), len(tags(refs))
	r := &result{data: card}
	if err := card.addHead(r, snapshot); err != nil {
		return nil, err
	}
	r.lines = card.lines()
	return r, nil
}

func (c *repositoryCard) addHead(r *result, snapshot *repos.Snapshot) error {
	head, err := snapshot.Head()
	if errors.Is(err, repos.ErrUnborn) {
		r.note("HEAD names a branch that does not exist: give ref to other tools.")
		return nil
	}
	if errors.Is(err, repos.ErrEmpty) {
		c.Empty = true
		r.note("There is no commit yet.")
		return nil
	}
	if err != nil {
		return err
	}
	commit, err := snapshot.Commit(head.Commit)
	if err != nil {
		return err
	}
	c.Head = &commitCard{
		SHA: commit.ID.String(), Tree: commit.Tree.String(), Date: commit.Committer.When.Format(time.RFC3339),
		Author: line(commit.Author.Name), Subject: line(commit.Subject()),
	}
	return nil
}

// lines say what the data says.
func (c *repositoryCard) lines() []string {
	lines := []string{"name: " + c.Name}
	add := func(key, value string) {
		if value != "" {
			lines = append(lines, key+": "+value)
		}
	}
	add("description", c.Description)
	add("default branch", c.DefaultBranch)
	if c.Head != nil {
		add("head", c.Head.SHA)
		add("tree", c.Head.Tree)
		add("date", c.Head.Date)
		add("author", c.Head.Author)
		add("subject", c.Head.Subject)
	}
	add("branches", fmt.Sprint(c.Branches))
	add("tags", fmt.Sprint(c.Tags))
	add("uri", c.URI)
	add("refs uri", c.RefsURI)
	return lines
}
