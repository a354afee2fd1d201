package cache

import "testing"

// FuzzFileName: only a name that the cache writes is one of its files.
func FuzzFileName(f *testing.F) {
	f.Add(newName(KeyOf("x")))
	f.Fuzz(func(t *testing.T, name string) {
		key, ok := parseName(name)
		if ok && len(name) != len(newName(key)) || ok && name[:len(key.String())] != key.String() {
			t.Fatalf("%q is of %v", name, key)
		}
	})
}
