package client

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"
)

// FuzzEvents: a stream of events ends with an error, holds messages that are there,
// and means the same however its bytes come.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\ndata: }\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		read := func(e events) (all []string) {
			for {
				m, err := e()
				if err != nil {
					return all
				}
				text, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if all = append(all, string(text)); len(all) > len(stream) {
					t.Fatal("it does not end")
				}
			}
		}
		whole, slow := read(newEvents(bytes.NewReader(stream), func() {})), read(
			newEvents(iotest.OneByteReader(bytes.NewReader(stream)), func() {}))
		if len(whole) != len(slow) || len(whole) > bytes.Count(stream, []byte("data:")) {
			t.Fatalf("%q, and byte by byte %q", whole, slow)
		}
		for i := range whole {
			if whole[i] != slow[i] {
				t.Fatalf("%q, and byte by byte %q", whole[i], slow[i])
			}
		}
	})
}

// FuzzForm: any bytes can be looked at, and what is behind an archive makes it none.
func FuzzForm(f *testing.F) {
	f.Add([]byte("PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x00\x00\x00\x00\x1c\xdfD!\x1f\xb6\xf3}\x01\x00\x00\x00\x00\x04YZ"))
	f.Add([]byte("\xfd7zXZ\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00YZ"))
	f.Add(make([]byte, 1024))
	isWhole := func(content []byte) bool {
		size := int64(len(content))
		return isWholeZip(content, size) || isWholeXZ(content, size) || readTar(bytes.NewReader(content)) == nil
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if isWhole(content) && isWhole(append(bytes.Clone(content), "more"...)) {
			t.Fatalf("%q is whole, and so it is with something behind it", content)
		}
	})
}

// FuzzCommandLine: the words of a command are those between its blanks, and a word in
// quotes is one whatever it has.
func FuzzCommandLine(f *testing.F) {
	f.Add(`ssh host "repomcp stdio" --root '/srv/my git'`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitCommand(text)
		if err != nil {
			return
		}
		var quoted []byte
		for _, word := range words {
			mark := byte('"')
			if bytes.IndexByte([]byte(word), mark) >= 0 {
				if mark = '\''; bytes.IndexByte([]byte(word), mark) >= 0 {
					return // it has both, and was written in pieces
				}
			}
			quoted = append(append(append(append(quoted, mark), word...), mark), ' ')
		}
		again, err := splitCommand(string(quoted))
		if err != nil || len(again) != len(words) {
			t.Fatalf("%q, then %q, %v", words, again, err)
		}
	})
}
