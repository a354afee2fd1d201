// Package commitgraph reads the files in which git keeps the shape of a history:
// gitformat-commit-graph(5). It takes bytes and knows neither files nor objects.
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
//   - Parse believes nothing: sizes, order, positions and the checksum are
//     checked, and every commit comes with its parents, whose levels are below its
//     own, so that no walk is endless. After it no call fails.
//   - A Graph does not change and may be used by any number of goroutines.
//   - A graph is a claim about commits. Whether it is true, only the commits
//     tell: callers compare those that they read anyway.
//
// Memory: a Graph refers to the bytes that it was parsed from, some 70 bytes a
// commit, and to its base.
package commitgraph
