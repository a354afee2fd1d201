package unpack

// hasRoom fails if the disk has too little room for size bytes, if both are known. Other programs
// write as well, so writing may fail nevertheless.
func (u *Unpacker) hasRoom(size int64, path string) error {
	if size <= 0 {
		return nil
	}
	if free, ok := freeSpace(u.root); ok && size > free {
		return &LimitError{Limit: "free space", Path: path, Most: free}
	}
	return nil
}
