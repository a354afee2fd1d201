// Package index tells which files can match a query, for any commit of any repository.
//
//	x, err := index.New(index.Options{Repositories: catalogue.View, Scheduler: scheduler, Dir: "/var/cache/index"})
//	go x.Run(ctx)                        // builds it
//	view := x.View(query)                // for one search
//	verdict, tally := view.File(id, path, &sum)
//
// # Documents
//
// A document is a blob; all repositories and commits share it. Its words are counted for the language of the file by
// which it was found first, because the language tells which words are names: a file of another language is read.
// Documents are numbered in memory. What is below a folder is a bitmap of numbers by the id of its tree,
// so that a new commit costs the folders that are new, and a search passes over folders without a candidate.
//
// # Segments
//
// A segment (segment.go) is a file that is written once and named by its digest. It has the ids of documents, lists of
// them by trigrams (class.go), and the occurrences of words by package rank's forms. Segments of about one size are
// merged. They are read by position, block by block, and each block is compared with its checksum.
//
// # Promises
//
//   - A verdict is never wrong: it is that of reading the file. A file that is not in the index is [Absent], so the
//     searcher reads it.
//   - A damaged segment is dropped, logged, and its documents are indexed again.
//   - Only ids that a client found in commits that it may read are looked up. Numbers never leave the process.
//   - Memory and files keep to their bounds. The oldest segments make room for what is pushed; repositories for which
//     there is no room are not indexed.
//   - The builder does nothing while the workers have tasks of requests, and for quietTime after them, but
//     for one task in yieldTime.
//
// # Limits
//
// The words of a file with more than maxWords different ones are not counted. A file of more than maxProved bytes is
// not in the index: reading it once would tell that it is too large to be searched.
package index
