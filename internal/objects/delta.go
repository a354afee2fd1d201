package objects

import "math"

// Deltas, gitformat-pack(5), "Deltified representation": the sizes of the
// base and of the result, then instructions that copy from the base or carry
// bytes of their own.

// longestDeltaHeader is two sizes of ten bytes.
const longestDeltaHeader = 20

// parseDeltaHeader reads the two sizes and returns the instructions that follow.
func parseDeltaHeader(delta []byte) (base, result int64, rest []byte, err error) {
	base, rest, err = parseDeltaSize(delta)
	if err != nil {
		return 0, 0, nil, err
	}
	result, rest, err = parseDeltaSize(rest)
	return base, result, rest, err
}

func parseDeltaSize(b []byte) (int64, []byte, error) {
	size := uint64(0)
	for i, shift := 0, 0; i < len(b); i, shift = i+1, shift+7 {
		c := b[i]
		if shift > 56 || uint64(c&0x7f) > math.MaxInt64>>shift {
			return 0, nil, errBadDelta
		}
		size |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return int64(size), b[i+1:], nil
		}
	}
	return 0, nil, errBadDelta
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
	n := 1
	if c&0x80 != 0 {
		for bits := c & 0x7f; bits != 0; bits &= bits - 1 {
			n++
		}
	}
	return n
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
		return errWrongSize
	}
	return nil
}
