package checkout

import (
	"errors"
	"io"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/git"
)

// description is what git init writes.
const description = "Unnamed repository; edit this file 'description' to name the repository.\n"

// Folder is the folder .git of a checkout.
type Folder struct {
	Ref    Ref
	Remote Remote
	Cut    []git.ID // see [History]
	Pack   *Pack
	Index  *Index // nil: none
}

// Members writes the folder as members of a tar.
type Members struct {
	W      io.Writer
	Format tar.Format
	// Root is the path of the folder, with a final slash.
	Root string
	// ID names extension headers.
	ID git.ID
	// Store is told that the following bytes are compressed already, or that they are not.
	Store func(compressed bool) error

	err error // the first
}

// Write writes the members. The last one is the index, so that a truncated archive never looks complete. There is no
// pack without objects in it.
func (f *Folder) Write(m *Members) error {
	config, err := configuration(f.Ref, f.Remote)
	if err != nil {
		return err
	}
	if err := f.Pack.Seal(); err != nil {
		return err
	}
	for _, path := range []string{
		"", "info/", "objects/", "objects/info/", "objects/pack/", "refs/", "refs/heads/", "refs/tags/",
	} {
		m.folder(path)
	}
	if len(f.Pack.objects) > 0 {
		f.writePack(m)
	}
	m.file("packed-refs", f.Ref.packed(f.Remote.URL != ""))
	if len(f.Cut) > 0 {
		m.file("shallow", shallow(f.Cut))
	}
	m.file("config", config)
	m.file("description", []byte(description))
	m.file("HEAD", f.Ref.head())
	if f.Ref.Default && f.Remote.URL != "" {
		m.folder("refs/remotes/")
		m.folder("refs/remotes/origin/")
		m.file("refs/remotes/origin/HEAD", f.Ref.remoteHead())
	}
	if f.Index != nil {
		m.stream("index", f.Index.Size(), f.Index.WriteTo)
	}
	return m.err
}

func (f *Folder) writePack(m *Members) {
	name := "objects/pack/" + f.Pack.Name()
	m.stream(name+".pack", f.Pack.Size(), func(w io.Writer) (int64, error) {
		err := m.Store(true)
		var n int64
		if err == nil {
			n, err = f.Pack.WriteTo(w)
		}
		return n, errors.Join(err, m.Store(false))
	})
	m.stream(name+".idx", f.Pack.IndexSize(), f.Pack.WriteIndex)
	m.stream(name+".rev", f.Pack.ReverseSize(), f.Pack.WriteReverse)
	if f.Remote.Promises {
		m.file(name+".promisor", nil)
	}
}

func (m *Members) write(p []byte) {
	if m.err == nil {
		_, m.err = m.W.Write(p)
	}
}

func (m *Members) header(path string, mode git.Mode, size int64) {
	m.write(m.Format.Header(nil, tar.Member{Path: []byte(m.Root + path), Mode: mode, ID: m.ID}, size, nil))
}

func (m *Members) folder(path string) { m.header(path, git.ModeDir, 0) }

func (m *Members) file(path string, content []byte) {
	m.header(path, git.ModeRegular, int64(len(content)))
	m.write(content)
	m.write(tar.Pad(nil, int64(len(content))))
}

// stream writes a file whose content a function writes.
func (m *Members) stream(path string, size int64, write func(io.Writer) (int64, error)) {
	m.header(path, git.ModeRegular, size)
	if m.err != nil {
		return
	}
	content := &countWriter{w: m.W}
	if _, m.err = write(content); m.err == nil {
		m.err = wrongSize(path, size, content.n)
	}
	m.write(tar.Pad(nil, size))
}
