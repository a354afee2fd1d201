package resources

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
)

const (
	// pageEntries is how many entries of a folder or a list resources/read returns at a time: some
	// 40 KB, which is much for the context of a model.
	pageEntries = 200
	// metaNext is the URI of the page that follows.
	metaNext = MetaPrefix + "next"
	// listingBuffer is the size of the pieces in which a listing is written.
	listingBuffer = 32 << 10
)

// listing is a JSON object that ends with an array of many entries, a line for each. It is encoded
// while it is written, so that only the entries of the domain are in memory.
type listing struct {
	head  any // an object with the members before the array
	key   string
	count int
	entry func(i int) any
}

func (l listing) write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, listingBuffer)
	head, err := compact(l.head)
	if err != nil {
		return err
	}
	_, _ = out.Write(bytes.TrimSuffix(head, []byte("}"))) // out remembers the error
	_, _ = out.WriteString(`,"` + l.key + `":[`)
	for i := range l.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := compact(l.entry(i))
		if err != nil {
			return err
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_ = out.WriteByte('\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

// fill makes a listing the source of a resource: it writes the bytes once to measure and hash them.
// next is the URI of the following page, or "".
func (l listing) fill(ctx context.Context, f *Found, next string) (*Found, error) {
	size, digest, err := digestOf(ctx, l.write)
	if err != nil {
		return nil, err
	}
	if next != "" {
		f.Meta = map[string]any{metaNext: next}
	}
	return f.describedBy(size, &list{digest, l.write}), nil
}

// compact encodes a view in one line. Names may contain any character, and HTML's are not escaped.
func compact(view any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(view); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
