// Package commitgraph reads the files in which git keeps the shape of a history:
// gitformat-commit-graph(5). It knows no objects.
//
//	var graph *commitgraph.Graph
//	for _, layer := range layers { // a single file, or those of a chain, base first
//		graph, err = commitgraph.Parse(layer, graph)
//	}
//	at, ok := graph.Find(id)
//	for parent := range graph.Parents(at) { … }
//	graph.MayChange(at, commitgraph.NewPath("dir/file")) // false: the commit does not
//
// Commits are called by their positions, which are dense and count from 0: a set
// of commits is a bitmap.
//
// # Promises
//
//   - Nothing is believed. Open checks sizes, and each call what it uses: positions
//     are those of commits, and every commit comes with parents whose levels are
//     below its own, so that no walk is endless. No call fails: one that finds the
//     file wrong returns nothing, and Fault tells. What was asked counts only if
//     there is no fault afterwards.
//   - Check compares the rest, with the checksum. Parse does that at once.
//   - A Graph does not change and may be used by any number of goroutines.
//   - A graph is a claim about commits. Whether it is true, only the commits
//     tell: callers compare those that they read anyway.
//
// Memory: as much as was read of the file, which has some 70 bytes a commit, and the
// base.
package commitgraph
