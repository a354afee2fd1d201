//go:build !amd64 || purego

package objects

const quickAvailable = false

func quick(*[litTable]uint32, *[distTable]uint32, []byte, []byte, *position) verdict {
	panic("objects: not available")
}
