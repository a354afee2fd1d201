package resources

import (
	"context"
	"errors"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
)

// measureWithin bounds how long an archive is measured for a request that only asked for its
// location.
const measureWithin = 2 * time.Second

// Location is where a resource can be fetched outside of a protocol's own methods.
type Location struct {
	// URI is the canonical one, by commit if the resource belongs to one.
	URI      string
	MIMEType string
	// FileName is the name under which a download is saved. It may have any characters.
	FileName string
	// Size in bytes, or [UnknownSize].
	Size int64
	// HTTP is a URL that needs no credentials until HTTPExpires (SEP-2166); "" without links. Meta
	// has both as members of _meta.
	HTTP        string
	HTTPExpires string
	Meta        map[string]any
	// URL is the URL of the plain download by commit id, "" while the address at which clients
	// reach the server is unknown. Route is its path and query; "" for resources without a plain
	// download, and without an HTTP server.
	URL   string
	Route string
	// Base is the commit that a delta is from.
	Base string
	// Extent is the size of an archive's tar before compression; nil if unknown. A manifest has
	// none.
	Extent *archive.Measure
}

// Locate finds where the present content of a resource can be fetched: that of a branch by its
// commit. A file is opened the first time, for its type: the caller has reserved memory for that.
func (s *Service) Locate(ctx context.Context, r Resource) (Location, error) {
	return s.locate(ctx, r, false)
}

// LocateMeasured is Locate for an archive, and measures it, for which it reads all of its trees. It
// takes two seconds at most.
func (s *Service) LocateMeasured(ctx context.Context, r Resource) (Location, error) {
	return s.locate(ctx, r, true)
}

func (s *Service) locate(ctx context.Context, r Resource, measure bool) (l Location, err error) {
	r.Options = r.Options.Canonical()
	found := outline(r) // a list reads no file contents
	switch {
	case r.Kind == Refs || r.Kind == Catalogue:
	case r.isPatch() && r.isPinned():
		found = patchOutline(r) // nor does a patch by ids
	default:
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

// measured returns the extent of an archive if it is found quickly, or nil. A failure here would
// also occur in the download, which reports it.
func measured(ctx context.Context, plan *archive.Plan) *archive.Measure {
	ctx, cancel := context.WithTimeout(ctx, measureWithin)
	defer cancel()
	m, err := plan.Measure(ctx)
	if err != nil {
		return nil
	}
	return &m
}
