package cache

import (
	"context"
	"fmt"
	"io"
	"testing"
)

// What the cache costs beside writing the same bytes straight to a client.
func BenchmarkMiss(b *testing.B) {
	const size = 64 << 20
	piece := content(1, 256<<10)
	build := func(_ context.Context, w io.Writer) error {
		for range size / len(piece) {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	for _, way := range []string{"memory", "disk"} {
		b.Run(way, func(b *testing.B) {
			o := Options{}
			if way == "disk" {
				o.Disk = testDisk(b, b.TempDir(), 1<<30)
			}
			c := testCache(b, o)
			b.SetBytes(size)
			for i := range b.N {
				e, err := c.Get(b.Context(), KeyOf(fmt.Sprint(i)), media, build, unreserved)
				if err != nil {
					b.Fatal(err)
				}
				if err := e.WriteTo(b.Context(), io.Discard); err != nil {
					b.Fatal(err)
				}
				e.Close()
			}
		})
	}
}

func BenchmarkHit(b *testing.B) {
	s := &source{bytes: content(1, 64<<20)}
	c := testCache(b, Options{Disk: testDisk(b, b.TempDir(), 1<<30)})
	mustRead(b, c, KeyOf("x"), s)
	idle(c)
	b.SetBytes(int64(len(s.bytes)))
	for range b.N {
		e, err := c.Get(b.Context(), KeyOf("x"), media, s.build, unreserved)
		if err != nil {
			b.Fatal(err)
		}
		if err := e.WriteTo(b.Context(), io.Discard); err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}
