package stdio_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/stdio"
)

// takeBare is a client of the Binary Transfer RFC as its text alone has it: it declares binaryTransfer, and reads after
// a message, for each stream that it names, 16 bytes of id, 8 of size, and the data.
func takeBare(p *peer, version string) *taker {
	return takeAs(p, version, `{"binaryTransfer":{"supported":true}}`)
}

// bareMessage reads a message and the bytes of the streams that it names, in their order.
func (r *taker) bareMessage() (m message, bytes []string, err error) {
	line, err := r.lines.ReadBytes('\n')
	if err != nil {
		return m, nil, err
	}
	var named struct {
		Result struct {
			Contents []struct {
				BinaryRef *struct {
					StreamID string
					Size     uint64
				}
			}
		}
	}
	if err := errors.Join(json.Unmarshal(line, &m), json.Unmarshal(line, &named)); err != nil {
		r.t.Fatalf("%v after %.300q", err, line)
	}
	m.raw = string(line)
	for _, content := range named.Result.Contents {
		if content.BinaryRef == nil {
			continue
		}
		var header [24]byte
		if _, err := io.ReadFull(r.lines, header[:]); err != nil {
			return m, bytes, err
		}
		id, size := header[:16], binary.BigEndian.Uint64(header[16:])
		if got := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]); got !=
			content.BinaryRef.StreamID || size != content.BinaryRef.Size {
			r.t.Fatalf("%s: a header of %s with %d bytes", line, got, size)
		}
		data := make([]byte, size)
		n, err := io.ReadFull(r.lines, data)
		bytes = append(bytes, string(data[:n]))
		if err != nil {
			return m, bytes, err
		}
	}
	return m, bytes, nil
}

func TestRFCClientReadsStreams(t *testing.T) {
	t.Parallel()
	files := map[string]string{"noise": gittest.Noise(300_000), "empty": "", "one": "x", "text.md": "# Text\n"}
	for _, version := range []string{sessionVersion, modernVersion} {
		p := connect(t, stdio.Options{})
		var list []gittest.File
		for name, content := range files {
			list = append(list, gittest.Regular(name, content))
		}
		p.repo.Commit("main", list...)
		r := takeBare(p, version)
		asked := make(map[string]string)
		for name := range files {
			id := len(asked) + 1
			asked[fmt.Sprint(id)] = name
			r.ask(id, "repo://hello/contents/"+name)
			// What has no bytes comes between two streams, and never within one.
			r.send(r.request(100+id, "resources/templates/list", ""))
		}
		r.ask(200, archiveURI) // of no known size: in the message
		for range 2*len(files) + 1 {
			m, bytes, err := r.bareMessage()
			if err != nil {
				t.Fatal(version, err)
			}
			switch name, ok := asked[string(m.ID)]; {
			case ok && (len(bytes) != 1 || bytes[0] != files[name]):
				t.Errorf("%s, %s: %d streams, %.200s", version, name, len(bytes), m.raw)
			case !ok && len(bytes) != 0 || m.Result == nil && string(m.ID) != "200":
				t.Errorf("%s: %d streams, %.200s", version, len(bytes), m.raw)
			}
		}
		r.hangUp()
		if rest, err := io.ReadAll(r.lines); err != nil || len(rest) > 0 {
			t.Errorf("%s: %d bytes more, %v", version, len(rest), err)
		}
		if err := p.end(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A stream that breaks ends the output before its size, and the program says why.
func TestRFCClientSeesThatAStreamBroke(t *testing.T) {
	t.Parallel()
	p := connect(t, stdio.Options{})
	p.repo.Commit("main", gittest.Regular("a", gittest.Noise(3<<20)), gittest.Regular("z", gittest.Noise(10_000)))
	p.repo.DamageEnd("main:z")
	r := takeBare(p, modernVersion)
	r.ask(1, "repo://hello/archive/main.tar")
	if _, bytes, err := r.bareMessage(); !errors.Is(err, io.ErrUnexpectedEOF) || len(bytes) != 1 {
		t.Errorf("%d streams, %v", len(bytes), err)
	}
	if err := p.end(); err == nil || !strings.Contains(err.Error(), "a stream broke in the middle") {
		t.Errorf("the server ended with %v", err)
	}
}
