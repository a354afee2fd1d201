package inflate

import (
	"bytes"
	"compress/zlib"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// guarded returns n bytes between unmapped pages: an access beyond them ends the process.
func guarded(t *testing.T, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	pages := (n + page - 1) / page
	all, err := syscall.Mmap(-1, 0, (pages+2)*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{all[:page], all[(pages+1)*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	end := (pages + 1) * page
	return all[end-n : end : end]
}

// TestInflatingStaysInBounds inflates sound, damaged and cut streams, in buffers
// of exactly their size and with some room, and looks that nothing else is read
// or written.
func TestInflatingStaysInBounds(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	const largest = 128 << 10
	input, output := guarded(t, largest), guarded(t, largest+Room)
	var d Decoder
	cases, sound := 0, 0
	for _, content := range deflateInputs() {
		for _, level := range []int{zlib.HuffmanOnly, 0, 1, 6, 9} {
			stream := deflatedAt(level, content)
			for round := range 100 {
				src := input[len(input)-len(stream):]
				copy(src, stream)
				for range round % 10 {
					src[r.IntN(len(src))] ^= 1 << r.IntN(8)
				}
				if round%3 == 1 {
					src = src[r.IntN(len(src)):]
					copy(src, stream) // as far as it goes
				}
				room := []int{0, 1, 15, Room}[round%4]
				from := len(output) - len(content) - room
				dst := output[from : len(output)-room]
				if round%5 == 1 {
					dst = dst[len(dst)/2:]
				}
				clear(output[:from])
				err := inflateWhole(&d, dst, src, room)
				cases++
				if err == nil {
					sound++
					if !bytes.Equal(dst, content) {
						t.Fatalf("level %d, round %d: another content", level, round)
					}
				}
				if i := bytes.IndexFunc(output[:from], func(r rune) bool { return r != 0 }); i >= 0 {
					t.Fatalf("level %d, round %d: wrote %d bytes before the output", level, round, from-i)
				}
			}
		}
	}
	if cases < 4000 || sound < 200 {
		t.Errorf("only %d cases, %d of them sound", cases, sound)
	}
}
