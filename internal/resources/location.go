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

// Location is where a resource is to be had outside of a protocol's own methods.
type Location struct {
	// URI is the canonical one, by the commit if it is of one.
	URI      string
	MIMEType string
	// FileName is what a download is saved as. It may have any characters.
	FileName string
	// Size in bytes, or [UnknownSize].
	Size int64
	// HTTP is an address that needs no credentials until HTTPExpires (SEP-2166);
	// "" where there are no links. Meta has both as members of _meta.
	HTTP        string
	HTTPExpires string
	Meta        map[string]any
	// URL is the address of the plain download by the commit's id, "" while nobody
	// knows under which name clients reach the server. Route is its path and query;
	// "" for what has none, and where no HTTP server runs.
	URL   string
	Route string
	// Base is the commit that a delta is from.
	Base string
	// Extent is of an archive's tar before compression; nil while it is not known. A
	// manifest has none.
	Extent *archive.Measure
}

// Locate finds where a resource is to be had as it is now: of a branch it names
// the commit.
func (s *Service) Locate(ctx context.Context, r Resource) (Location, error) {
	return s.locate(ctx, r, false)
}

// LocateMeasured finds an archive as [Service.Locate] does, and measures it, for
// which all of its trees are read. It takes two seconds at most.
func (s *Service) LocateMeasured(ctx context.Context, r Resource) (Location, error) {
	return s.locate(ctx, r, true)
}

func (s *Service) locate(ctx context.Context, r Resource, measure bool) (l Location, err error) {
	r.Options = r.Options.Canonical()
	content := outline(r) // of a list, which may be long, nothing is read
	if r.Kind != Refs && r.Kind != Catalogue {
		if content, err = s.openResource(ctx, r); err != nil {
			return Location{}, err
		}
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	l = Location{URI: content.Frozen, MIMEType: content.MIMEType, FileName: content.FrozenName, Size: content.Size}
	if content.Streamable && s.Downloads() {
		l.Route = plainRoute(r, content)
	}
	if base := s.address(ctx); base != "" && l.Route != "" {
		l.URL = base + l.Route
	}
	if content.plan != nil {
		l.Base = content.plan.Options().Base
		if measure && r.Options.Format != archive.Manifest {
			l.Extent = measured(ctx, content.plan)
		}
	}
	if l.Extent != nil && r.Options.Format == archive.Tar {
		l.Size = l.Extent.Bytes
	}
	l.Meta = s.LinkMeta(ctx, content)
	l.HTTP, _ = l.Meta[MetaHTTP].(string)
	l.HTTPExpires, _ = l.Meta[MetaHTTPExpires].(string)
	return l, nil
}

// measured is the extent of an archive when it is found quickly, or nil. What goes
// wrong goes wrong in the download as well, and is told of there.
func measured(ctx context.Context, plan *archive.Plan) *archive.Measure {
	ctx, cancel := context.WithTimeout(ctx, measureWithin)
	defer cancel()
	m, err := plan.Measure(ctx)
	if err != nil {
		return nil
	}
	return &m
}
