// Package commitgraph reads the files in which git stores the shape of a history:
// gitformat-commit-graph(5). It does not read objects.
//
//	var graph *commitgraph.Graph
//	for _, layer := range layers { // a single file, or those of a chain, base first
//		graph, err = commitgraph.Parse(layer, graph)
//	}
//	at, ok := graph.Find(id)
//	for parent := range graph.Parents(at) { … }
//	graph.MayChange(at, commitgraph.NewPath("dir/file")) // false: the commit does not
//
// Commits are identified by their positions, which are dense and count from 0: a set of commits is
// a bitmap.
//
// # Promises
//
//   - The file is not trusted. Open checks sizes, and each call what it uses: positions are those
//     of commits, and the levels of parents are below that of their commit, so that no walk is
//     endless. No call fails: a call that finds the file invalid returns nothing and sets Fault.
//     Answers count only if there is no fault afterwards.
//   - Check verifies the rest, including the checksum. Parse does that immediately.
//   - A Graph is immutable and safe for concurrent use.
//   - A graph is a claim about commits. Only the commits prove it: callers compare those that they
//     read anyway.
//
// Memory: as much as was read of the file, which has some 70 bytes per commit, and the base.
//
// # Decisions
//
// A commit-graph is trusted where commits do not contradict it. Commits that are shown, started
// from or compared are compared with it, and a wrong graph is dropped. Chunks of a large graph are
// checked when they are used; the whole is compared with its checksum in the background, and the
// question is asked again after a mismatch.
package commitgraph
