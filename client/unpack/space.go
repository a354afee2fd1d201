package unpack

import "fmt"

// hasRoom fails if the disk has too little room for size bytes of what a message names, if both are
// known. Other programs write as well, so writing may fail nevertheless.
func (u *Unpacker) hasRoom(size int64, what string) error {
	if size <= 0 {
		return nil
	}
	if free, ok := freeSpace(u.root); ok && size > free {
		return fmt.Errorf("%w: %s needs %d bytes, and %d are free", ErrNoSpace, what, size, free)
	}
	return nil
}
