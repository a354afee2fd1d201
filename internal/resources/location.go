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
// the commit. A file is opened the first time, for its type: the caller has reserved
// what that takes.
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
	found := outline(r) // a list may be long, and is not read
	if r.Kind != Refs && r.Kind != Catalogue {
		if found, err = s.findResource(ctx, r); err != nil {
			return Location{}, err
		}
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	l = Location{URI: found.Frozen, MIMEType: found.MIMEType, FileName: found.FrozenName, Size: found.Size}
	if found.Streamable && s.Downloads() {
		l.Route = plainRoute(r, found)
	}
	if base := s.address(ctx); base != "" && l.Route != "" {
		l.URL = base + l.Route
	}
	if file, ok := found.source.(*file); ok {
		if l.MIMEType, err = file.peek(found); err != nil {
			return Location{}, err
		}
	}
	if r.Kind == Archive {
		l.Base = found.plan().Options().Base
		if measure && r.Options.Format != archive.Manifest {
			l.Extent = measured(ctx, found.plan())
		}
	}
	if l.Extent != nil && r.Options.Format == archive.Tar {
		l.Size = l.Extent.Bytes
	}
	l.Meta = s.LinkMeta(ctx, found)
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
