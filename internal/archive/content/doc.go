// Package content makes what the members of an archive contain, where that is not
// what is stored: converted text, expanded placeholders ($Format:…$, to the same
// bytes as git archive of git 2.39), and the objects that pointers of git-lfs
// stand for.
package content
