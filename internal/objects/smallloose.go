package objects

import "crypto/sha1"

const (
	// smallLoose is the largest file of a loose object that is read and inflated
	// in one go; larger ones go through a fixed buffer.
	smallLoose = 128 << 10
	// looseGrowth is how many times the size of its file such an object may have;
	// source code grows to four times.
	looseGrowth = 8
	// looseWindow has room for most source files.
	looseWindow = 8 << 10
)

// readSmallLoose appends a small and sound loose object to buf, with a quarter
// of the system calls of openLoose and a faster inflater. Of anything else it
// only says that it is not: what is missing, large or damaged in which way, is
// for openLoose to find.
func (v *view) readSmallLoose(sc *scratch, id ID, limit int64, buf []byte) (Type, []byte, bool) {
	for _, dir := range v.dirs {
		file, ok := v.store.beneath.readFile(loosePath(dir, id), &sc.window, smallLoose)
		if !ok {
			continue
		}
		if room := max(looseWindow, looseGrowth*len(file)); cap(sc.loose) < room {
			sc.loose = make([]byte, room)
		}
		sc.decoder.SkipChecksum = true
		n, err := sc.decoder.Inflate(sc.loose[:cap(sc.loose)], cap(sc.loose), file, nil)
		sc.decoder.SkipChecksum = false
		if err != nil || sc.decoder.StreamLength() != len(file) {
			return 0, nil, false
		}
		kind, content, err := splitLoose(sc.loose[:n])
		if err != nil || int64(len(content)) > limit || sha1.Sum(sc.loose[:n]) != id {
			return 0, nil, false
		}
		return kind, append(buf, content...), true
	}
	return 0, nil, false
}

// splitLoose takes the header off an inflated loose object, and checks its size.
func splitLoose(object []byte) (Type, []byte, error) {
	for i, c := range object[:min(longestLooseHeader, len(object))] {
		if c != 0 {
			continue
		}
		kind, size, err := parseLooseHeader(object[:i])
		if content := object[i+1:]; err == nil && size == int64(len(content)) {
			return kind, content, nil
		}
		break
	}
	return 0, nil, errBadLoose
}
