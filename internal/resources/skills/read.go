package skills

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/lfs"
)

const (
	// maxPath bounds the path of a file in a repository, so that its URI stays readable when each
	// byte is percent-encoded.
	maxPath = 1000
	// maxSubfolders and maxLevels bound the folders of one skill; a tree can name itself many times.
	maxSubfolders = 2 * MaxFiles
	maxLevels     = 64
)

// proof is what is known of a file's content.
type proof struct {
	digest  [sha256.Size]byte
	size    int64
	pointer bool
}

// reader reads one skill.
type reader struct {
	library  *Library
	snapshot *git.Snapshot
	skill    *Skill
	ids      []git.ID // of the files
	folders  int
	bytes    int64
	manifest int // the index of SKILL.md among the files
}

func refused(format string, arguments ...any) error {
	return &RefusedError{fmt.Sprintf(format, arguments...)}
}

// readFolder reads the skill of a folder, whatever its name.
func (l *Library) readFolder(ctx context.Context, snapshot *git.Snapshot, tree git.ID) (*Skill, error) {
	r := &reader{library: l, snapshot: snapshot, skill: new(Skill), manifest: -1}
	if err := r.manifestOf(tree); err != nil {
		return nil, err
	}
	if err := r.walk(ctx, tree, "", 0); err != nil {
		return nil, err
	}
	if err := r.measure(); err != nil {
		return nil, err
	}
	return r.skill, r.prove(ctx)
}

// manifestOf refuses a folder whose SKILL.md is missing or no file, before anything else is read.
func (r *reader) manifestOf(tree git.ID) error {
	entry, err := r.snapshot.Lookup(tree, FileName)
	switch {
	case errors.Is(err, git.ErrNotFound):
		return refused("the folder has no %s", FileName)
	case err != nil:
		return err
	case !entry.Mode.IsRegular():
		return refused("%s is no regular file", FileName)
	}
	return nil
}

// walk collects the files below a folder.
func (r *reader) walk(ctx context.Context, tree git.ID, prefix string, level int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.folders++; r.folders > maxSubfolders || level > maxLevels {
		return refused("it has more than %d folders, or more than %d levels of them", maxSubfolders, maxLevels)
	}
	entries, err := r.snapshot.Tree(tree)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(entries))
	for _, entry := range entries {
		path := prefix + entry.Name
		if !isPlain(entry.Name) || seen[entry.Name] || len(path) > maxPath {
			return refused("%q is in it twice, is longer than %d bytes, or is no name that a URI can have", clip(path),
				maxPath)
		}
		seen[entry.Name] = true
		if err := r.add(ctx, entry, path, level); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) add(ctx context.Context, entry git.TreeEntry, path string, level int) error {
	switch {
	case entry.Mode.IsDir():
		return r.walk(ctx, entry.ID, path+"/", level+1)
	case !entry.Mode.IsRegular():
		if r.skill.Omitted = append(r.skill.Omitted, path); len(r.skill.Omitted) > MaxFiles {
			return refused("it has more than %d symbolic links and submodules", MaxFiles)
		}
	case len(r.ids) == MaxFiles:
		return refused("it has more than the %d files of SEP-2640", MaxFiles)
	default:
		if path == FileName {
			r.manifest = len(r.ids)
		}
		r.skill.Files, r.ids = append(r.skill.Files, File{Path: path}), append(r.ids, entry.ID)
	}
	return nil
}

// measure refuses a skill that is too large by the headers of its objects.
func (r *reader) measure() error {
	for i, id := range r.ids {
		x, ok := r.library.proofs.Get(id)
		if !ok {
			var err error
			if x.size, err = r.snapshot.Size(id); err != nil {
				return err
			}
		}
		if limit := r.library.options.FileLimit; limit > 0 && x.size > limit {
			return refused("%s has %d bytes, more than the %d that resources/read returns (--read-limit)",
				clip(r.skill.Files[i].Path), x.size, limit)
		}
		if r.bytes += x.size; r.bytes > MaxBytes {
			return refused("its files have more than the %d bytes of SEP-2640", MaxBytes)
		}
	}
	return nil
}

// prove reads the files: SKILL.md first, which is most likely to be refused.
func (r *reader) prove(ctx context.Context) error {
	head, err := r.proveFile(ctx, r.manifest, headBytes)
	if err != nil {
		return err
	}
	if r.skill.Files[r.manifest].Pointer {
		return refused("%s is a pointer of Git LFS, which this server does not follow", FileName)
	}
	front, err := parseFrontmatter(head)
	if err != nil {
		return refused("%s: %s", FileName, err)
	}
	r.skill.Name, r.skill.Description, r.skill.Frontmatter = front.name, front.description, front.object
	for i := range r.ids {
		if i != r.manifest {
			if _, err := r.proveFile(ctx, i, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// proveFile notes the digest and the size of a file, and returns the first bytes of it, of which it
// needs a number. A file that is known is not read unless bytes are wanted.
func (r *reader) proveFile(ctx context.Context, i, wanted int) (head []byte, err error) {
	id, file := r.ids[i], &r.skill.Files[i]
	x, known := r.library.proofs.Get(id)
	if !known || wanted > 0 {
		if x, head, err = proveBlob(ctx, r.snapshot, id, max(wanted, lfs.MaxBytes)); err != nil {
			return nil, err
		}
		r.library.proofs.Put(id, x, proofCost)
		r.library.readFiles.Add(1)
	}
	file.Digest, file.Size, file.Pointer = x.digest, x.size, x.pointer
	return head, nil
}

// proveBlob reads a file once, and compares it with its id.
func proveBlob(ctx context.Context, snapshot *git.Snapshot, id git.ID, wanted int) (x proof, head []byte, err error) {
	var sum hash.Hash
	first := &headWriter{most: wanted}
	x.size, err = snapshot.ProveBlob(ctx, id, func() io.Writer {
		sum, first.head = sha256.New(), first.head[:0]
		return io.MultiWriter(sum, first)
	})
	if err != nil {
		return proof{}, nil, err
	}
	sum.Sum(x.digest[:0])
	if x.size < lfs.MaxBytes {
		_, x.pointer = lfs.Parse(first.head)
	}
	return x, first.head, nil
}

// headWriter keeps the first bytes.
type headWriter struct {
	head []byte
	most int
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.head = append(h.head, p[:min(len(p), h.most-len(h.head))]...)
	return len(p), nil
}
