package unpack

// hasRoom fails for what the disk has no room for, where both are known. Other
// programs write as well, so that what fits may fail all the same.
func (u *Unpacker) hasRoom(size int64, path string) error {
	if size <= 0 {
		return nil
	}
	if free, ok := freeSpace(u.root); ok && size > free {
		return &LimitError{Limit: "free space", Path: path, Most: free}
	}
	return nil
}
