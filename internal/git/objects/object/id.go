// Package object has the common parts of the object database: the ids and types of objects, the
// errors, and an open object, a stream of bytes that is checked while it is read. It knows neither
// packs nor loose objects.
package object

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
)

// IDSize is the length in bytes of an object id.
const IDSize = sha1.Size

// ID names an object: the SHA-1 of its type, its size and its content.
type ID [IDSize]byte

// ParseID reads the 40 hexadecimal digits of an id, in upper or lower case.
func ParseID(digits string) (ID, error) {
	var id ID
	if len(digits) != 2*IDSize {
		return ID{}, fmt.Errorf("object id has %d digits, not %d", len(digits), 2*IDSize)
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, fmt.Errorf("object id: %w", err)
	}
	return id, nil
}

// String is the id in 40 lower-case hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id is all zeros, which names no object.
func (id ID) IsZero() bool { return id == ID{} }

// emptyTree is the id of a tree without entries.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// IsEmptyTree reports whether it is the tree without entries. Git knows it without an object, and git commit-tree of
// it makes none.
func (id ID) IsEmptyTree() bool { return id.String() == emptyTree }

// Compare orders ids as git sorts them: as unsigned bytes.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Type is the type of an object. Its values are those of a pack entry.
type Type uint8

// The four types of objects.
const (
	Commit Type = 1
	Tree   Type = 2
	Blob   Type = 3
	Tag    Type = 4
)

// typeNames are git's names of the types.
var typeNames = [...]string{Commit: "commit", Tree: "tree", Blob: "blob", Tag: "tag"}

// ParseType returns the type with a name such as commit.
func ParseType(name string) (Type, bool) {
	for t := Commit; t <= Tag; t++ {
		if typeNames[t] == name {
			return t, true
		}
	}
	return 0, false
}

// String is git's name of the type: commit, tree, blob or tag.
func (t Type) String() string {
	if Commit <= t && t <= Tag {
		return typeNames[t]
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// AppendHeader appends the header that git hashes, and stores in a loose object, before the
// content: the type, a space, the size in decimal digits and a NUL.
func AppendHeader(b []byte, t Type, size int64) []byte {
	b = append(b, t.String()...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}
