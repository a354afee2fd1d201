package httpx

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// accepts reports whether the Accept header of a request admits a media type.
func accepts(r *http.Request, mediaType string) bool {
	admitted, _ := preference(r, mediaType)
	return admitted
}

// preference is accepts, and reports as well whether the header names the type.
func preference(r *http.Request, mediaType string) (admitted, named bool) {
	return readAccept(strings.Join(r.Header.Values("Accept"), ","), mediaType)
}

// readAccept evaluates an Accept header (RFC 9110, section 12.5.1). Unlike in the RFC,
// an absent one admits nothing: MCP requires it.
func readAccept(header, mediaType string) (admitted, named bool) {
	class, _, _ := strings.Cut(mediaType, "/")
	const exact = 2
	best := -1
	for element := range strings.SplitSeq(header, ",") {
		given, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		// The most specific range that fits decides.
		specificity := -1
		switch given {
		case mediaType:
			specificity = exact
		case class + "/*":
			specificity = 1
		case "*/*":
			specificity = 0
		}
		if specificity > best {
			best = specificity
			q, err := strconv.ParseFloat(parameters["q"], 64)
			admitted = err != nil || q > 0
		}
	}
	return admitted, best == exact
}
