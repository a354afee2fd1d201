package sha1x8_test

import (
	"bytes"
	"crypto/sha1"
	"math/rand/v2"
	"testing"

	"github.com/repomcp/repomcp/internal/objects/sha1x8"
)

// check compares sums with those of crypto/sha1.
func check(t *testing.T, h *sha1x8.Hasher, messages []sha1x8.Message) {
	t.Helper()
	h.Sum(messages)
	for i := range messages {
		m := &messages[i]
		if want := sha1.Sum(append(bytes.Clone(m.Header), m.Content...)); m.Sum != want {
			t.Errorf("message %d of %d, %d + %d bytes: %x instead of %x", i, len(messages), len(m.Header), len(m.Content), m.Sum, want)
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Every length up to some blocks is hashed in a lane, beside others of about that
// length, with headers of all lengths.
func TestEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h sha1x8.Hasher
	for length := range 6 * sha1.BlockSize {
		var messages []sha1x8.Message
		for i := range 9 {
			messages = append(messages, sha1x8.Message{Header: random(r, (length+i)%(sha1x8.MaxHeader+1)), Content: random(r, length+i)})
		}
		check(t, &h, messages)
	}
}

// Any number of messages of any lengths, those of an archive among them.
func TestAnyMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var h sha1x8.Hasher
	for range 300 {
		messages := make([]sha1x8.Message, r.IntN(70))
		for i := range messages {
			length := r.IntN(1 << r.IntN(18))
			messages[i] = sha1x8.Message{Header: random(r, r.IntN(sha1x8.MaxHeader+1)), Content: random(r, length)}
		}
		check(t, &h, messages)
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("abc"), uint8(3), uint16(40))
	f.Add(bytes.Repeat([]byte("x"), 1000), uint8(0), uint16(64))
	f.Fuzz(func(t *testing.T, data []byte, header uint8, piece uint16) {
		var messages []sha1x8.Message
		for len(data) > 0 && len(messages) < 100 {
			n := min(len(data), int(piece)+len(messages)%5)
			m := data[:n]
			data = data[n:]
			head := min(len(m), int(header)%(sha1x8.MaxHeader+1))
			messages = append(messages, sha1x8.Message{Header: m[:head], Content: m[head:]})
			if n == 0 {
				break
			}
		}
		var h sha1x8.Hasher
		check(t, &h, messages)
	})
}

func TestSumAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	messages := make([]sha1x8.Message, 40)
	for i := range messages {
		messages[i] = sha1x8.Message{Header: []byte("blob 1\x00"), Content: random(r, 100*i)}
	}
	var h sha1x8.Hasher
	h.Sum(messages)
	if n := testing.AllocsPerRun(10, func() { h.Sum(messages) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSum hashes files of an archive's run, and as many that are alike.
func BenchmarkSum(b *testing.B) {
	for _, c := range []struct {
		name    string
		lengths []int
	}{
		{"alike", []int{13000, 13000, 13000, 13000, 13000, 13000, 13000, 13000}},
		{"run", []int{900, 40000, 3000, 12000, 700, 5000, 22000, 1100, 8000, 16000, 2500, 6000, 300, 9000}},
		{"one", []int{100000}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(7, 8))
			var messages []sha1x8.Message
			total := 0
			for _, n := range c.lengths {
				messages = append(messages, sha1x8.Message{Header: []byte("blob 1\x00"), Content: random(r, n)})
				total += n
			}
			b.SetBytes(int64(total))
			var h sha1x8.Hasher
			for b.Loop() {
				h.Sum(messages)
			}
		})
	}
}
