package dotgit

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// ErrUntrusted says that the archive of a checkout has what a checkout must not have, or that its
// files are not those of its commit.
var ErrUntrusted = errors.New("the checkout is refused")

// ErrIncomplete is an [ErrUntrusted]: the commit leads to an object that neither came nor was there.
var ErrIncomplete = fmt.Errorf("%w: it leads to objects that did not come", ErrUntrusted)

func untrusted(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUntrusted, fmt.Errorf(format, args...))
}

// Incoming is the archive of a checkout while it arrives. Its methods are for one goroutine, except
// for Copy and File.
type Incoming struct {
	description // Commit is set by the caller, and the rest by describe

	folder   string
	pack     *pack
	received map[git.ID]object.Type // the objects of the archive's pack
	seen     map[string]bool        // members of .git
	packed   bool                   // the pack has come
	texts    map[string][]byte      // of small files among them

	mu    sync.Mutex
	files map[string]*File // plain members by their paths
}

// File is a plain member.
type File struct {
	Kind       unpack.Kind
	Executable bool
	ID         git.ID // of the content in the working tree, or of a link's target
	stat       Stat   // of the file as it was unpacked
	checked    bool   // it was compared with the commit
}

// Receive begins an archive whose objects go into a folder, which is made if it does not exist.
func Receive(folder string) (*Incoming, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil { //nolint:gosec // the umask decides
		return nil, err
	}
	p, err := createPack(filepath.Join(folder, incomingName))
	if err != nil {
		return nil, err
	}
	return &Incoming{
		folder: folder, pack: p, received: make(map[git.ID]object.Type), seen: make(map[string]bool),
		texts: make(map[string][]byte), files: make(map[string]*File),
	}, nil
}

// incomingName is the pack before it gets its name. git removes files of such names as garbage.
const incomingName = "tmp_pack_repomcp"

// Close releases the pack. The caller removes its file.
func (in *Incoming) Close() error { return in.pack.close() }

// Copy takes the content of a plain member: see [unpack.Options].
func (in *Incoming) Copy(size int64) unpack.Copy { return in.pack.add(object.Blob, size) }

// Choose takes a plain member as the archive has it, before it is written.
func (in *Incoming) Choose(m unpack.Member) error {
	f := &File{Kind: m.Kind, Executable: m.Executable}
	if m.Kind == unpack.Symlink {
		id := unpack.IDOf([]byte(m.Target))
		f.ID = git.ID(id)
		a := in.pack.add(object.Blob, int64(len(m.Target)))
		_, err := a.Write([]byte(m.Target))
		if err = errors.Join(err, a.End(id)); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.files[m.Path] = f
	return nil
}

// Done takes a plain member after its content. Info is nil if it was not unpacked.
func (in *Incoming) Done(w unpack.Written) {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.files[w.Path]
	if f == nil {
		return
	}
	if w.Info != nil {
		f.stat = StatOf(w.Info)
	}
	if f.Kind == unpack.File {
		f.ID = git.ID(w.ID)
	}
}

// Stat returns that of a file as it was unpacked: a rename changes it.
func (in *Incoming) Stat(path string) (s Stat, ok bool) {
	if f := in.files[path]; f != nil {
		return f.stat, true
	}
	return s, false
}

// members are the files and folders that .git may have in an archive.
var members = map[string]struct {
	kind unpack.Kind
	// most is the size up to which the content is read; 0 means that it is not needed.
	most int64
}{
	".git": {kind: unpack.Folder}, ".git/branches": {kind: unpack.Folder}, ".git/info": {kind: unpack.Folder},
	".git/objects": {kind: unpack.Folder}, ".git/objects/info": {kind: unpack.Folder},
	".git/objects/pack": {kind: unpack.Folder}, ".git/refs": {kind: unpack.Folder},
	".git/refs/heads": {kind: unpack.Folder}, ".git/refs/tags": {kind: unpack.Folder},
	".git/refs/remotes": {kind: unpack.Folder}, ".git/refs/remotes/origin": {kind: unpack.Folder},
	headFile: {most: smallText}, configFile: {most: smallText}, packedFile: {most: smallText},
	remoteHeadFile: {most: smallText}, shallowFile: {most: largeText},
	".git/description": {}, ".git/info/exclude": {}, ".git/index": {},
}

const (
	headFile       = ".git/HEAD"
	configFile     = ".git/config"
	packedFile     = ".git/packed-refs"
	shallowFile    = ".git/shallow"
	remoteHeadFile = ".git/refs/remotes/origin/HEAD"

	// smallText is more than a configuration or a ref takes, largeText a million commits.
	smallText, largeText = 64 << 10, 41 << 20
)

// Member takes a member of .git: see [unpack.Options]. It refuses what is not on a fixed list.
func (in *Incoming) Member(m unpack.Member, content io.Reader) error {
	if in.seen[m.Path] {
		return untrusted("%q comes twice", m.Path)
	}
	in.seen[m.Path] = true
	known, ok := members[m.Path]
	switch {
	case m.Patch != nil || m.Executable && m.Kind == unpack.File:
		return untrusted("%q is a program or a patch", m.Path)
	case !ok && m.Kind == unpack.File:
		return in.packMember(m, content)
	case !ok || m.Kind != known.kind:
		return untrusted("%q has no place in it", m.Path)
	case known.most == 0:
		return nil
	case m.Size > known.most:
		return untrusted("%q has %d bytes", m.Path, m.Size)
	}
	text, err := io.ReadAll(content)
	in.texts[m.Path] = text
	return err
}

// packMember takes a pack, or the files beside it, which are made again.
func (in *Incoming) packMember(m unpack.Member, content io.Reader) error {
	match := packNames.FindStringSubmatch(m.Path)
	if match == nil {
		return untrusted("%q has no place in it", m.Path)
	}
	if match[1] != "pack" {
		return nil
	}
	if in.packed {
		return untrusted("it has two packs")
	}
	in.packed = true
	source := &reading{Reader: content}
	err := in.readPack(source)
	if source.err != nil { // the pack itself may be right
		return source.err
	}
	return err
}

var packNames = regexp.MustCompile(`^\.git/objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev)$`)

// reading keeps the error of a reader that did not end normally.
type reading struct {
	io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// readPack copies the objects of a pack into that of the checkout.
func (in *Incoming) readPack(content io.Reader) error {
	scanner := packfile.NewScanner(content)
	_, count, err := scanner.Header()
	if err != nil {
		return badPack(err)
	}
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return badPack(err)
		}
		if err := in.readObject(scanner, header); err != nil {
			return err
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return badPack(err)
	}
	return nil
}

func badPack(err error) error { return untrusted("its pack is damaged: %w", err) }

// largestFolder bounds what is no file: two million entries in one folder.
const largestFolder = 64 << 20

func (in *Incoming) readObject(scanner *packfile.Scanner, header *packfile.ObjectHeader) error {
	kind := object.Type(header.Type)
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.TagObject:
		if header.Length > largestFolder {
			return untrusted("its pack has a %s of %d bytes", kind, header.Length)
		}
	case plumbing.BlobObject:
	default:
		return untrusted("its pack has a delta")
	}
	sum := sha1.New()
	_, _ = sum.Write(object.AppendHeader(nil, kind, header.Length)) // it never fails
	a := in.pack.add(kind, header.Length)
	n, _, err := scanner.NextObject(io.MultiWriter(sum, a))
	if err == nil && n != header.Length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		if failed := a.End(unpack.ID{}); failed != nil { // the disk is full
			return failed
		}
		return badPack(err)
	}
	id := git.ID(sum.Sum(nil))
	if _, twice := in.received[id]; twice {
		return errors.Join(untrusted("its pack has the object %s twice", id), a.End(unpack.ID{}))
	}
	in.received[id] = kind
	return a.End(unpack.ID(id))
}
