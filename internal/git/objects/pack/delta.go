package pack

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var errBadDelta = errors.New("malformed delta")

// Deltas, gitformat-pack(5), "Deltified representation": the sizes of the
// base and of the result, then instructions that copy from the base or carry
// bytes of their own.

// longestDeltaHeader is two sizes of ten bytes.
const longestDeltaHeader = 2 * binary.MaxVarintLen64

// parseDeltaHeader reads the two sizes and returns the instructions that follow.
func parseDeltaHeader(delta []byte) (base, result int64, rest []byte, err error) {
	baseSize, n := binary.Uvarint(delta)
	resultSize, m := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || m <= 0 || baseSize > math.MaxInt64 || resultSize > math.MaxInt64 {
		return 0, 0, nil, errBadDelta
	}
	return int64(baseSize), int64(resultSize), delta[n+m:], nil
}

// instruction is one step of a delta: a copy from the base when the size of
// the literal is zero.
type instruction struct {
	offset  int64 // of a copy
	size    int   // of a copy
	literal int   // how many bytes of the delta follow and are the result
}

// instructionLength is how many bytes the instruction that begins with c has,
// not counting a literal.
func instructionLength(c byte) int {
	if c&0x80 == 0 {
		return 1
	}
	return bits.OnesCount8(c)
}

// parseInstruction reads one instruction; b must be instructionLength(b[0])
// bytes long.
func parseInstruction(b []byte) (instruction, error) {
	c := b[0]
	if c == 0 {
		return instruction{}, errBadDelta // reserved
	}
	if c&0x80 == 0 {
		return instruction{literal: int(c)}, nil
	}
	var in instruction
	n := 1
	for i := range 4 {
		if c>>i&1 != 0 {
			in.offset |= int64(b[n]) << (8 * i)
			n++
		}
	}
	for i := range 3 {
		if c>>(4+i)&1 != 0 {
			in.size |= int(b[n]) << (8 * i)
			n++
		}
	}
	if in.size == 0 {
		in.size = 0x10000 // a size of zero stands for this one
	}
	return in, nil
}

// applyDelta follows the instructions. The result fills out exactly.
func applyDelta(out, base, delta []byte) error {
	for len(delta) > 0 {
		n := instructionLength(delta[0])
		if n > len(delta) {
			return errBadDelta
		}
		in, err := parseInstruction(delta[:n])
		if err != nil {
			return err
		}
		delta = delta[n:]
		if in.literal > 0 {
			if in.literal > len(delta) || in.literal > len(out) {
				return errBadDelta
			}
			copy(out, delta[:in.literal])
			out, delta = out[in.literal:], delta[in.literal:]
			continue
		}
		if in.size > len(out) || in.offset > int64(len(base)) || int64(in.size) > int64(len(base))-in.offset {
			return errBadDelta
		}
		copy(out, base[in.offset:in.offset+int64(in.size)])
		out = out[in.size:]
	}
	if len(out) != 0 {
		return object.ErrWrongSize
	}
	return nil
}
