// Package content produces the content of archive members that differs from the stored bytes:
// converted text, expanded placeholders, and the objects of Git LFS pointers.
package content
