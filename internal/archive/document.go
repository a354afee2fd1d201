package archive

import (
	"bytes"
	"encoding/json"
	"iter"
	"time"

	"github.com/repomcp/repomcp/internal/archive/delta"
)

// documentVersion is the version of the manifests' JSON.
const documentVersion = "1"

// document is JSON with fields in order.
type document []byte

func (d document) key(name string) document {
	if n := len(d); n > 0 && d[n-1] != '{' {
		d = append(d, ',')
	}
	return append(append(append(d, '"'), name...), `":`...)
}

// plain adds a field with a string that needs no escaping, as [escaped] returns it.
func (d document) plain(name, value string) document {
	return append(append(append(d.key(name), '"'), value...), '"')
}

// text adds a field with any string, and replaces invalid UTF-8.
func (d document) text(name, value string) document {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // strings and buffers cannot fail
	return append(d.key(name), bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// list adds a field with a list of paths, one per line.
func (d document) list(name string, paths iter.Seq[[]byte]) document {
	d = append(d.key(name), '[')
	for path := range paths {
		if d[len(d)-1] != '[' {
			d = append(d, ',')
		}
		d = append(escaped(append(d, '\n', '"'), path), '"')
	}
	return append(d, ']')
}

// options adds the options that differ from their defaults, as in a URI but with lists for repeated
// ones. It always adds the handling of content from outside of the repository.
func (d document) options(o Options) document {
	stored := map[string]string{"lfs": "pointers", "submodules": "omitted"}
	for _, p := range parameters {
		values := p.get(o)
		switch {
		case len(values) == 0:
		case p.repeat:
			d = d.list(p.name, func(yield func([]byte) bool) {
				for i := 0; i < len(values) && yield([]byte(values[i])); i++ {
				}
			})
		default:
			d = d.plain(p.name, string(escaped(nil, []byte(values[0]))))
			delete(stored, p.name)
		}
	}
	for _, name := range []string{"lfs", "submodules"} {
		if value, ok := stored[name]; ok {
			d = d.plain(name, value)
		}
	}
	return d
}

// heading returns the beginning of an archive's manifest.
func (p *Plan) heading() document {
	d := append(document{'{'}.key("version"), documentVersion...)
	name := "commit"
	if p.head.Commit.IsZero() {
		name = "object"
	}
	d = d.plain(name, p.head.ID.String())
	d = d.plain("tree", p.head.Tree.String())
	d = d.plain("time", p.head.When.UTC().Format(time.RFC3339))
	d = d.options(p.options)
	if p.changes != nil {
		d = d.changes(p.changes, p.options.Delta)
	}
	return d
}

// headName names the commit, or the tree without one.
func (p *Plan) headName() string {
	if p.head.Commit.IsZero() {
		return p.head.Revision
	}
	return p.head.Commit.String()
}

// deltaDocument returns the content of the first member of a delta. The base is one of the options.
func (p *Plan) deltaDocument() []byte {
	d := append(document{'{'}.key("version"), documentVersion...)
	o := p.options
	d = d.plain("base", o.Base)
	d = d.plain("head", p.headName())
	d = d.plain("profile", string(o.Profile))
	// These are written above, or do not affect the content.
	o.Base, o.Fallback, o.Profile = "", "", ProfileArchive
	return append(d.options(o).changes(p.changes, o.Delta), "}\n"...)
}

// changes adds the lists of differences from the base.
func (d document) changes(c *delta.Changes, how Delta) document {
	if how == DeltaPatch {
		d = d.patches(c)
	}
	for _, l := range []struct {
		name   string
		status delta.Status
	}{
		{"deleted", delta.Deleted}, {"typeChanged", delta.TypeChanged}, {"modeChanged", delta.ModeChanged},
		{"added", delta.Added}, {"modified", delta.Modified},
	} {
		d = d.list(l.name, c.Paths(l.status))
	}
	return d
}

// patches adds the list of files that may be patches, with the ids of the old and the new content.
func (d document) patches(c *delta.Changes) document {
	d = append(d.key("patches"), '[')
	for e := range c.Bases() {
		if d[len(d)-1] != '[' {
			d = append(d, ',')
		}
		d = append(escaped(append(append(d, "\n{"...).key("path"), '"'), e.Path), '"')
		d = append(d.plain("base", e.Base.String()).plain("id", e.ID.String()), '}')
	}
	return append(d, ']')
}

// plainBytes, letters and digits need no escaping in the path of a URI: RFC 3986's unreserved
// bytes, sub-delims, ":" and "@", and the slash.
const plainBytes = "-._~!$&'()*+,;=:@/"

// escaped appends a percent-encoded path, as in the URIs of resources.
func escaped(out, path []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range path {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			bytes.IndexByte([]byte(plainBytes), c) >= 0 {
			out = append(out, c)
			continue
		}
		out = append(out, '%', digits[c>>4], digits[c&15])
	}
	return out
}
