package git

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/reftable"
)

const (
	// tablesFile lists the tables of a repository, the oldest first. git replaces it with each change of a ref, and
	// never writes into a table.
	tablesFile = "reftable/tables.list"
	// maxTables bounds the tables of a repository, each of which is opened, and maxTablesBytes their list. git merges
	// tables, so that there are a few dozen at most.
	maxTables      = 10_000
	maxTablesBytes = 1 << 20
	// listReads bounds how often the list is read again because git has merged tables meanwhile.
	listReads = 100
)

// refTables is the [refStore] of a repository in git's format "reftable". HEAD is in the tables as well.
type refTables struct {
	root *os.Root
	dir  string
}

func (f refTables) holder(string) string { return tablesFile }

func (f refTables) lookup(name string) (ref rawRef, ok bool, err error) {
	_, err = f.read(func(tables []string) error {
		ref, ok = rawRef{}, false
		for _, table := range slices.Backward(tables) {
			found := false
			err := f.from(table, name, func(r reftable.Ref) bool {
				if found = r.Name == name; found {
					ref, ok = rawOf(r), !r.Deleted
				}
				return false
			})
			if found || err != nil {
				return err
			}
		}
		return nil
	})
	return ref, ok, err
}

func (f refTables) lookupFirst(names []string) (string, error) {
	for _, name := range names {
		if _, ok, err := f.lookup(name); ok || err != nil {
			return name, err
		}
	}
	return "", nil
}

func (f refTables) list(prefixes ...string) (names []string, refs map[string]rawRef, err error) {
	names, refs, _, err = f.listOf(prefixes)
	return names, refs, err
}

func (f refTables) all() (names []string, refs map[string]rawRef, state storeState, err error) {
	names, refs, state.read, err = f.listOf([]string{"HEAD", allRefs})
	return slices.DeleteFunc(names, func(name string) bool { return name == "HEAD" }), refs, state, err
}

// listOf returns the list of tables as well from which the refs were read.
func (f refTables) listOf(prefixes []string) (names []string, refs map[string]rawRef, from string, err error) {
	from, err = f.read(func(tables []string) error {
		refs = make(map[string]rawRef)
		for _, table := range tables {
			for _, prefix := range prefixes {
				if err := f.addFrom(table, prefix, refs); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return slices.Sorted(maps.Keys(refs)), refs, from, err
}

// addFrom has the records of a table replace those of earlier ones. Names that git does not allow are left out, as in
// packed-refs.
func (f refTables) addFrom(table, prefix string, refs map[string]rawRef) error {
	return f.from(table, prefix, func(r reftable.Ref) bool {
		switch {
		case !strings.HasPrefix(r.Name, prefix):
			return false
		case r.Deleted:
			delete(refs, r.Name)
		case r.Name == "HEAD" || validRefName(r.Name):
			refs[r.Name] = rawOf(r)
		}
		return true
	})
}

func rawOf(r reftable.Ref) rawRef { return rawRef{symbolic: r.Target, id: r.ID, peeled: r.Peeled} }

func (f refTables) isStill(then storeState) bool {
	now, err := f.tables()
	return err == nil && now == then.read
}

// read has use read the tables, again if git has merged some of them meanwhile: then a table of the list is gone. It
// returns the list.
func (f refTables) read(use func(tables []string) error) (list string, err error) {
	last := ""
	for range listReads {
		if list, err = f.tables(); err != nil {
			return "", err
		}
		names := strings.Fields(list)
		if len(names) > maxTables {
			return "", fmt.Errorf("reading refs: %d tables: %w", len(names), ErrUnsupported)
		}
		if err = use(names); !errors.Is(err, objects.ErrNotFound) {
			return list, tableError(err)
		}
		if list == last {
			return "", fmt.Errorf("reading refs: a table of the list is missing: %w", ErrCorrupt)
		}
		last = list
	}
	return "", fmt.Errorf("reading refs: %w", tableError(err))
}

// tables returns the list of tables, which is "" in a repository that has none yet.
func (f refTables) tables() (string, error) {
	text, err := readRegular(f.root, path.Join(f.dir, tablesFile), maxTablesBytes)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading refs: %w", err)
	case len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")):
		return "", fmt.Errorf("reading refs: the list of tables: %w: %w", ErrCorrupt, errCutRefs)
	}
	return string(text), nil
}

// from passes the refs of a table from a name on.
func (f refTables) from(table, name string, yield func(reftable.Ref) bool) error {
	if strings.ContainsAny(table, `/\`) {
		return fmt.Errorf("reading refs: the list of tables: %w: %w", ErrCorrupt, errBadLine)
	}
	file, info, err := files.Open(f.root, path.Join(f.dir, path.Dir(tablesFile), table))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	t, err := reftable.Open(file, info.Size())
	if err != nil {
		return err
	}
	return t.From(name, yield)
}

// tableError translates an error of opening or reading a table.
func tableError(err error) error {
	switch {
	case err == nil || isDamage(err):
		return err
	case errors.Is(err, reftable.ErrFormat):
		return fmt.Errorf("reading refs: %w: %w", ErrCorrupt, err)
	case errors.Is(err, reftable.ErrUnsupported):
		return fmt.Errorf("reading refs: %w: %w", ErrUnsupported, err)
	case slices.ContainsFunc(translations, func(t struct{ from, to error }) bool { return errors.Is(err, t.from) }):
		return fmt.Errorf("reading refs: %w", domainError(err))
	}
	return readError("refs", err)
}
