package subst

import (
	"bytes"
	"testing"
)

// FuzzCutFormat: nothing of a content is lost or made up where formats are looked for.
func FuzzCutFormat(f *testing.F) {
	f.Add([]byte("a $Format:%H$ b $Format:%d$"))
	f.Fuzz(func(t *testing.T, content []byte) {
		before, format, after, found := cutFormat(content)
		if !found {
			if DependsOnRefs(content) {
				t.Fatalf("%q has no format, and depends on refs", content)
			}
			return
		}
		whole := append(append(append(append(bytes.Clone(before), opening...), format...), closing), after...)
		if !bytes.Equal(whole, content) || bytes.Contains(before, []byte(opening)) ||
			bytes.IndexByte(format, closing) >= 0 {
			t.Fatalf("%q is %q, %q and %q", content, before, format, after)
		}
	})
}
