// Package objects is a read-only git object database: bytes in, objects out. Every byte of a
// repository is read through it. It knows neither refs nor trees nor HTTP.
//
// This package finds objects in packs, loose objects and alternates. Its subpackages read them:
// object (ids, types, errors, an open object), files (files below the root), loose and pack.
//
// # Order of use
//
//	store, err := objects.New("/srv/git")               // one per process
//	db, err := store.Open("group/project.git")          // cheap: call it per request
//	snap, err := db.Snapshot()                          // pins the packs
//	defer snap.Close()
//	typ, data, err := snap.ReadVerified(id, 1<<20, buf) // small objects
//	object, err := snap.OpenSound(ctx, id)              // objects of any size
//
// # Promises
//
//   - Nothing is written to, created in or locked in a repository, and no file outside the root is
//     opened: every file is opened through [os.Root], so neither a symbolic link nor an alternate
//     leads out.
//   - A snapshot holds its packs open. A repack, a gc or a removal of the whole repository by other
//     programs does not disturb it; only loose objects are not pinned, as they are opened one at a
//     time. A missing object is searched once more in a fresh list of packs, as git itself does.
//   - An object is exactly as long as it says, or there is an error: never io.EOF before the last
//     byte, and the last bytes of a stream are returned only after its checks have passed.
//   - Damage is a [*CorruptError], absence is [ErrNotFound], and absence is claimed only if every
//     index could be read.
//   - The read path takes no lock that another repository or another reader could hold for long; a
//     Store, a Database and a Snapshot may be used by any number of goroutines, an Object by one.
//
// # Limits
//
// Memory, descriptors, temporary files and the depth of delta chains are bounded. An open object
// holds less than 3 MiB, whatever its size: see [Object.Held]. A blob that is stored whole streams
// in a fixed buffer. A deltified blob of up to 1 MiB is resolved in memory; a larger one is made
// from its delta and a base in a temporary file while it is read. An object that is read into
// memory whole briefly takes three times its size.
//
// SHA-256 repositories and unknown extensions are refused with [ErrUnsupported].
//
// [Snapshot.Open] does not check that the bytes of a packed object hash to its id. Neither does git
// when it reads; zlib's checksum detects damage of the content, but not of an offset in a large
// index. [Snapshot.Verify] compares whole packs with their checksums. Loose objects are always
// checked when they are read to their end.
//
// The formats are those of gitformat-pack(5), gitformat-chunk(5),
// gitrepository-layout(5) and git-config(1).
package objects
