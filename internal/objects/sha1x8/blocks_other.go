//go:build !amd64 || purego

package sha1x8

const available = false

func blocks(*[5][lanes]uint32, *[lanes]*byte, int) { panic("sha1x8: not available") }
