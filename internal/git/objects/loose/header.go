package loose

import (
	"io"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// longestHeader is how many bytes git reads for the header.
const longestHeader = 32

// readHeader reads up to the NUL.
func readHeader(r io.Reader) (object.Type, int64, error) {
	var header [longestHeader]byte
	for i := range header {
		if _, err := io.ReadFull(r, header[i:i+1]); err != nil {
			return 0, 0, object.SizeError(err)
		}
		if header[i] == 0 {
			return parseHeader(header[:i])
		}
	}
	return 0, 0, errBadHeader
}

// parseHeader reads a header without its NUL: a type, one space and a size in
// decimal digits without leading zeros.
func parseHeader(header []byte) (object.Type, int64, error) {
	name, digits, _ := strings.Cut(string(header), " ")
	kind, known := object.ParseType(name)
	size, err := strconv.ParseInt(digits, 10, 64)
	if !known || err != nil || size < 0 || strconv.FormatInt(size, 10) != digits {
		return 0, 0, errBadHeader
	}
	return kind, size, nil
}
