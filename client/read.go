package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

const (
	methodRead = "resources/read"
	// metaNext is the URI of the following page of a list.
	metaNext = "io.github.repomcp/next"
)

// Content is a resource as resources/read returns it: small, and at most one page of a list.
type Content struct {
	URI      string
	MIMEType string
	Bytes    []byte
	Meta     map[string]json.RawMessage // _meta of MCP
}

// Read reads the first content of a resource; file servers send only one. A large resource is
// refused with [ErrTooLarge]: [Client.Stream] it.
func (c *Client) Read(ctx context.Context, uri string) (*Content, error) {
	var result contents
	if err := c.inSession(ctx, func(ctx context.Context, s session) error {
		_, err := c.ask(ctx, s, methodRead, map[string]any{"uri": uri}, &result)
		return err
	}); err != nil {
		return nil, err
	}
	first, err := result.first(uri)
	if err != nil {
		return nil, err
	}
	return &Content{
		URI: cmp.Or(first.URI, uri), MIMEType: first.MIMEType, Bytes: first.bytes(), Meta: first.Meta,
	}, nil
}

func (c *Content) next() string {
	var uri string
	if json.Unmarshal(c.Meta[metaNext], &uri) != nil {
		return ""
	}
	return uri
}

// Entry is a repository, a ref, or an entry of a folder.
type Entry struct {
	Name   string `json:"name"`
	URI    string `json:"uri"`
	Type   string `json:"type"`   // such as "branch", "tag", "file" or "directory"
	Mode   string `json:"mode"`   // git's, of an entry of a folder
	ID     string `json:"id"`     // of the object, for an entry of a folder
	Commit string `json:"commit"` // of a ref
	Size   int64  `json:"size"`   // of a file; -1 if unknown
}

// ErrNoList says that a resource has no entries.
var ErrNoList = errors.New("the resource is no list of repositories, refs or files")

// List yields the entries of a list: of repo://, repo://{repo}/refs, or a folder such as
// repo://{repo}/contents. It requests a page when the previous one is used up. An error, such as
// [ErrNoList], ends the iteration.
func (c *Client) List(ctx context.Context, uri string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for uri != "" {
			content, err := c.Read(ctx, uri)
			var entries []Entry
			if err == nil {
				entries, err = entriesOf(content)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if uri = content.next(); uri != "" && len(entries) == 0 {
				yield(Entry{}, fmt.Errorf("%s: %w: a page without entries is not the last", content.URI, ErrDamaged))
				return
			}
		}
	}
}

func entriesOf(content *Content) ([]Entry, error) {
	var page struct{ Repositories, Refs, Entries *[]json.RawMessage }
	if json.Unmarshal(content.Bytes, &page) != nil {
		return nil, fmt.Errorf("%s: %w", content.URI, ErrNoList)
	}
	list := cmp.Or(page.Repositories, page.Refs, page.Entries)
	if list == nil {
		return nil, fmt.Errorf("%s: %w", content.URI, ErrNoList)
	}
	entries := make([]Entry, len(*list))
	for i, raw := range *list {
		entries[i].Size = -1
		if err := json.Unmarshal(raw, &entries[i]); err != nil {
			return nil, fmt.Errorf("%s: %w: an entry is not understood: %w", content.URI, ErrDamaged, err)
		}
	}
	return entries, nil
}
