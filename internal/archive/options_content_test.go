package archive_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
)

func TestOptionsOfContentAsText(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
		values      [][2]string
	}{
		{"lfs", "content", true, [][2]string{{"lfs", "content"}}},
		{"lfs", "pointers", true, nil},
		{"lfs", "", true, nil},
		{"lfs", "Content", false, nil},
		{"lfs", "omit", false, nil},
		{"submodules", "content", true, [][2]string{{"submodules", "content"}}},
		{"submodules", "omit", true, nil},
		{"submodules", "", true, nil},
		{"submodules", "pointers", false, nil},
	} {
		o := archive.Options{Format: archive.Tar}
		err := o.Set(c.name, c.value)
		if err == nil {
			err = o.Check()
		}
		if c.ok != (err == nil) || err != nil && !errors.Is(err, archive.ErrOption) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if c.ok && !reflect.DeepEqual(o.Canonical().Values(), c.values) {
			t.Errorf("%s=%s: canonical %q, want %q", c.name, c.value, o.Canonical().Values(), c.values)
		}
	}
}
