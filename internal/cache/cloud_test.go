//go:build cloud

package cache

import (
	"errors"
	"io"
	"testing"
)

// cloudBuckets are those that only this build has.
func cloudBuckets() map[string]func(t *testing.T) Bucket {
	return map[string]func(t *testing.T) Bucket{
		"azure": func(t *testing.T) Bucket { b, _ := azureBucket(t, ""); return b },
		"gcs":   func(t *testing.T) Bucket { return gcsBucket(t, "") },
		"files": func(t *testing.T) Bucket {
			b, err := OpenBucket(t.Context(), "file://"+t.TempDir()+"?no_tmp_dir=1")
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	}
}

func cloudNames(t *testing.T, b Bucket) (list []string) {
	t.Helper()
	for i := b.(cloudBucket).bucket.List(nil); ; {
		o, err := i.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o.Key)
	}
}
