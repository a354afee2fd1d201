package resources

import (
	"context"
	"errors"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
)

// measureWithin bounds how long an archive is measured for somebody who only
// asked where it is.
const measureWithin = 2 * time.Second

// Handle is where a resource is to be had outside of MCP's own methods.
type Handle struct {
	URI      string
	MIMEType string
	FileName string
	// Size in bytes, or [UnknownSize].
	Size int64
	// HTTP is an address that needs no credentials until HTTPExpires (SEP-2166);
	// "" where there are no links. Meta has both as members of _meta.
	HTTP        string
	HTTPExpires string
	Meta        map[string]any
	// Route is the path and query of the plain download by the commit's id; ""
	// for what has none.
	Route string
	// Base is the commit that a delta is from.
	Base string
}

// MeasuredHandle is that of an archive.
type MeasuredHandle struct {
	Handle
	// Extent is of the tar before compression; Measured says that it is known. A
	// manifest has none.
	Extent   archive.Measure
	Measured bool
}

// Handle finds a resource as it is now: of a branch it names the commit.
func (s *Service) Handle(ctx context.Context, r Resource) (Handle, error) {
	return s.handle(ctx, r, func(*archive.Plan) {})
}

// MeasuredHandle finds an archive as [Service.Handle] does, and measures it, for
// which all of its trees are read. It takes two seconds at most.
func (s *Service) MeasuredHandle(ctx context.Context, r Resource) (m MeasuredHandle, err error) {
	m.Handle, err = s.handle(ctx, r, func(plan *archive.Plan) {
		if r.Options.Format != archive.Manifest {
			m.Extent, m.Measured = measured(ctx, plan)
		}
	})
	if m.Measured && r.Options.Format == archive.Tar {
		m.Size = m.Extent.Bytes
	}
	return m, err
}

// handle shows the plan of an archive to measure.
func (s *Service) handle(ctx context.Context, r Resource, measure func(*archive.Plan)) (_ Handle, err error) {
	r.Options = r.Options.Canonical()
	content, err := s.openHandled(ctx, r)
	if err != nil {
		return Handle{}, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	h := Handle{URI: content.Frozen, MIMEType: content.MIMEType, FileName: content.FrozenName, Size: content.Size}
	if content.Streamable {
		h.Route = plainRoute(r, content)
	}
	if content.plan != nil {
		h.Base = content.plan.Options().Base
		measure(content.plan)
	}
	h.Meta = s.LinkMeta(ctx, content)
	h.HTTP, _ = h.Meta[MetaHTTP].(string)
	h.HTTPExpires, _ = h.Meta[MetaHTTPExpires].(string)
	return h, nil
}

// openHandled opens what a handle is of. Of a list, which may be long, nothing is
// read: it says no more of where it is.
func (s *Service) openHandled(ctx context.Context, r Resource) (*Content, error) {
	if r.Kind == Refs || r.Kind == Catalogue {
		return outline(r), nil
	}
	return s.openResource(ctx, r)
}

// measured is the extent of an archive when it is found quickly. What goes wrong
// goes wrong in the download as well, and is told of there.
func measured(ctx context.Context, plan *archive.Plan) (archive.Measure, bool) {
	ctx, cancel := context.WithTimeout(ctx, measureWithin)
	defer cancel()
	m, err := plan.Measure(ctx)
	return m, err == nil
}
