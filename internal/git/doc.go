// Package git reads git repositories as git itself does: refs, revisions, objects, trees and
// reachability. The packages below it build on that: logs, blames, differences and formats. None of
// them knows the server.
//
// # Order of use
//
//	store, err := git.NewStore("/srv/git", git.StoreOptions{})      // one per process
//	repository := store.Repository("group/a.git", git.Options{})    // "a/.git" for one with a worktree
//	snapshot, err := repository.Snapshot()                          // holds the packs open
//	defer snapshot.Close()
//	commit, err := snapshot.Resolve(ctx, "v1.0~3")                  // gitrevisions(7)
//	entries, err := snapshot.Tree(commit.Tree)                      // or Lookup, or WalkTree for all below
//	blob, err := snapshot.Blob(ctx, entries[0].ID)                  // a stream of any size
//	page, err := history.Log(ctx, snapshot, nil, history.LogOptions{Start: commit.ID})
//	lines, err := history.Blame(ctx, snapshot, nil, history.BlameOptions{Commit: commit.ID, Path: "README.md"})
//
// # Promises
//
// A repository is only read, never locked, and other programs may rewrite it at any moment. No file
// outside the root of a [Store] is opened, whatever symbolic links or alternates say: every file is
// opened through an [os.Root].
//
// A read returns either the whole and right object or an error. The bytes of a blob are compared with
// its id before or while they flow, and the failure takes the place of [io.EOF]; a read error is never
// a clean end. A panic over the bytes of a repository is [ErrCorrupt].
//
// Refs are read from files or, in a repository of git's format "reftable", from tables. They are those of the
// moment of a call, except that a [Snapshot] finds a ref by its name only once.
// packed-refs is not read again where its size, its time and its place on the disk are those of the last
// reading, as git's programs do: a change in place that restores the time is not seen.
//
// Hidden content stays hidden: [Options.Hidden] removes refs, and [Options.ReachableOnly] refuses
// commits that no other ref leads to, with [ErrNotFound], the error of a commit that does not
// exist.
//
// # Trees and history
//
// [Snapshot.Tree] reads a folder and refuses one that could not be unpacked safely; [WalkTree]
// walks it and all folders below. History is not unpacked, and contains trees that Tree refuses:
// [Snapshot.StoredTree] reads any tree, and [PairTrees] compares two. Neither bounds the length of
// a walk, since only the caller knows the acceptable cost. [ParseCommitLinks] reads the part of a
// commit that a walk needs, [ParsePerson] the author and the date, and newest.Queue has the order
// in which walks meet commits.
//
// # Limits
//
// Repositories with other object ids than SHA-1, and formats of refs besides files and reftable, are recognised
// and refused with [ErrUnsupported].
//
// # Why these packages and not go-git
//
// Figures are of go-git 5.19 and of docs/performance.md. Tests compare with git. Benchmarks that begin
// with BenchmarkGoGit are in bench and report figures of go-git: go test -run '^$' -bench GoGit ./bench
//
//   - git: the parser of commits in go-git loses names, digits and signs of dates
//     (BenchmarkGoGitCommits, TestOddCommitsAreReadAsGitReadsThem). go-git has neither snapshots that
//     outlive a repack nor lists that mark damaged refs. It validates submodules here.
//   - objects: all files of a commit are read in 0.10 to 0.19 of go-git's time, although they are compared
//     with their ids, which go-git's reader of packs does not do.
//   - inflate: less than half of the time of compress/zlib, which go-git uses, for sources
//     (BenchmarkInflate).
//   - commitgraph: go-git's reader takes memory for each field and follows lists out of their chunk
//     (BenchmarkGoGitCommitGraph, TestEndlessListOfParentsIsMalformed).
//   - gitconfig: go-git's reader refuses or misreads files that git reads (BenchmarkGoGitConfig,
//     TestConfigIsReadAsGitReadsIt).
//   - history: a log of a path takes 0.01 to 0.02 of go-git's time and a blame 0.02 to 0.05. go-git's log
//     compares each commit with the next one of its walk, not with its parents, and so lists commits that
//     git leaves out; its blame names other commits for some lines. TestLogIsThatOfGit,
//     TestBlameIsThatOfGit.
//   - diff: go-git compares with a port of diff-match-patch, whose hunks are not git's. TestHunksAreGits.
//   - newest: go-git's queue of walks does not keep the order of commits that have the same date.
//   - wildmatch: go-git matches with path/filepath, which knows no classes such as [[:alpha:]].
//     TestRealGitAgrees.
//   - charset: go-git returns messages in the encoding in which they are stored. TestEveryNameOfIconv.
//   - message: go-git does not divide a message into subject and body. TestSubjects.
//   - quoting: go-git neither writes nor reads the quotes of core.quotePath. TestPathsAreThoseOfGit.
//   - mailmap: go-git reads no .mailmap. TestPeopleAreThoseOfCheckMailmap.
//   - pretty: go-git has no placeholders of formats. TestExpandsAsGitArchive.
//   - subst: go-git has no archives, and so expands no $Format:…$ of export-subst.
//   - lfs: go-git reads no pointers of git-lfs, and git-lfs itself is a program. TestParse.
package git
