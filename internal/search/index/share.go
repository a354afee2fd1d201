package index

import (
	"context"
	"time"
)

// Shared is a place where servers share segments, by their names.
type Shared interface {
	// List returns the names of all segments.
	List(ctx context.Context) ([]string, error)
	// Get returns a segment, and Put creates one.
	Get(ctx context.Context, name string) ([]byte, error)
	Put(ctx context.Context, name string, content []byte) error
	Delete(ctx context.Context, name string) error
}

// shareTime bounds a request to the shared place.
const shareTime = time.Minute

func (b *builder) share(s *segment, replaced ...*segment) {}

func (x *Index) receive(ctx context.Context) {}
