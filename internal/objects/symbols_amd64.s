//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// The decoding of literals and matches of a deflate block: what decoder.portable
// does, in nearly the same order; see there and at the head of huffman.go for what the
// bits of an entry mean. The order of steps is that of Eric Biggers' libdeflate.
//
//	SI   next byte of the input        R12  last place of it to begin a round at
//	DI   next byte of the output       R13  the same of the output
//	BX   first byte of the output      R10  table of literals and lengths
//	R8   the next bits                 R11  table of distances
//	R9   how many there are, in its lowest byte; what is above means nothing
//	CX   an entry                      DX   the bits before it was consumed, then the length
//	AX, R14, R15  for the moment; AX is the distance while a match is copied
//
// A round begins with at least 56 bits. Shifts take the lowest six bits of their
// count and BZHI the lowest eight, so that an entry is its own count.

#define FAST_INPUT 32
#define FAST_OUTPUT 293

#define SPECIAL 0x8000
#define SECOND 0x4000
#define END_OF_BLOCK 0x2000

// REFILL makes 56 bits or more of whatever there is. It reads eight bytes and
// takes at most seven.
#define REFILL \
	MOVQ  (SI), R15    \
	SHLXQ R9, R15, R15 \
	ORQ   R15, R8      \
	MOVL  R9, R15      \
	SHRL  $3, R15      \
	ANDL  $7, R15      \
	SUBQ  R15, SI      \
	ADDQ  $7, SI       \
	ORQ   $56, R9

// LOOKUP finds the entry of the next literal or length.
#define LOOKUP \
	MOVL R8, CX           \
	ANDL $2047, CX        \
	MOVL (R10)(CX*4), CX

// CONSUME takes the bits of the entry, and keeps what they were in DX.
#define CONSUME \
	MOVQ  R8, DX      \
	SHRXQ CX, R8, R8  \
	SUBQ  CX, R9

// LOOKUP_SECOND finds the entry in the second table that the entry points to.
#define LOOKUP_SECOND(table) \
	MOVL  CX, AX             \
	SHRL  $8, AX             \
	ANDL  $15, AX            \
	BZHIQ AX, R8, AX         \
	SHRL  $16, CX            \
	ADDQ  CX, AX             \
	MOVL  (table)(AX*4), CX

// LITERAL writes the one that the entry is and finds the next entry.
#define LITERAL \
	SHRL $16, CX          \
	MOVL R8, AX           \
	ANDL $2047, AX        \
	MOVB CX, (DI)         \
	MOVL (R10)(AX*4), CX  \
	INCQ DI

// func quick(lit *[litTable]uint32, dist *[distTable]uint32, src, dst []byte, at *position) verdict
TEXT ·quick(SB), NOSPLIT, $0-80
	MOVQ lit+0(FP), R10
	MOVQ dist+8(FP), R11
	MOVQ src_base+16(FP), SI
	MOVQ src_len+24(FP), R12
	LEAQ -FAST_INPUT(SI)(R12*1), R12
	MOVQ dst_base+40(FP), BX
	MOVQ dst_len+48(FP), R13
	LEAQ -FAST_OUTPUT(BX)(R13*1), R13
	MOVQ at+64(FP), DX
	ADDQ position_pos(DX), SI
	MOVQ position_buf(DX), R8
	MOVQ position_have(DX), R9
	MOVQ position_out(DX), DI
	ADDQ BX, DI

	REFILL
	LOOKUP

round:
	CMPQ SI, R12
	JHI  room
	CMPQ DI, R13
	JHI  room

	CONSUME
	TESTL CX, CX
	JPL   other
	LITERAL
	CONSUME
	TESTL CX, CX
	JPL   other
	LITERAL
	CONSUME
	TESTL CX, CX
	JPL   other
	LITERAL
	REFILL
	JMP   round

other:
	TESTL $SPECIAL, CX
	JNZ   special

length:
	BZHIQ CX, DX, DX
	MOVL  CX, AX
	SHRL  $8, AX
	SHRXQ AX, DX, DX
	SHRL  $16, CX
	ADDQ  CX, DX

	// A distance takes at most 28 bits, and the next lookup 11.
	CMPB R9, $39
	JCC  enough
	REFILL

enough:
	MOVL  R8, AX
	ANDL  $255, AX
	MOVL  (R11)(AX*4), CX
	TESTL $SPECIAL, CX
	JNZ   specialDistance

distance:
	BZHIQ CX, R8, AX
	MOVL  CX, R14
	SHRXQ CX, R8, R8
	SUBQ  CX, R9
	SHRL  $8, R14
	SHRXQ R14, AX, AX
	SHRL  $16, CX
	ADDQ  CX, AX
	MOVQ  DI, R14
	SUBQ  AX, R14
	CMPQ  R14, BX
	JCS   bad

	// Found before the match is copied, neither waits for the other.
	LOOKUP
	REFILL
	ADDQ DI, DX
	CMPQ AX, $16
	JCS  near
	MOVOU (R14), X0
	MOVOU X0, (DI)
	MOVOU 16(R14), X0
	MOVOU X0, 16(DI)
	ADDQ  $32, DI
	CMPQ  DI, DX
	JCC   copied

far:
	MOVOU 32(R14), X0
	MOVOU X0, (DI)
	ADDQ  $16, R14
	ADDQ  $16, DI
	CMPQ  DI, DX
	JCS   far

copied:
	MOVQ DX, DI
	JMP  round

near:
	CMPQ AX, $8
	JCS  nearer

words:
	MOVQ (R14), R15
	MOVQ R15, (DI)
	ADDQ $8, R14
	ADDQ $8, DI
	CMPQ DI, DX
	JCS  words
	MOVQ DX, DI
	JMP  round

nearer:
	CMPQ AX, $1
	JNE  pattern
	MOVBLZX (R14), R15
	MOVQ    $0x0101010101010101, R14
	IMULQ   R14, R15

same:
	MOVQ R15, (DI)
	ADDQ $8, DI
	CMPQ DI, DX
	JCS  same
	MOVQ DX, DI
	JMP  round

	// Of each word as many bytes are right as the distance is.
pattern:
	MOVQ (R14), R15
	MOVQ R15, (DI)
	ADDQ AX, R14
	ADDQ AX, DI
	CMPQ DI, DX
	JCS  pattern
	MOVQ DX, DI
	JMP  round

special:
	TESTL $SECOND, CX
	JZ    end
	LOOKUP_SECOND(R10)
	CONSUME
	TESTL CX, CX
	JPL   longCode
	LITERAL
	REFILL
	JMP   round

longCode:
	TESTL $SPECIAL, CX
	JZ    length

end:
	TESTL $END_OF_BLOCK, CX
	JZ    bad
	MOVQ  $1, AX
	JMP   done

specialDistance:
	TESTL $SECOND, CX
	JZ    bad
	SHRQ  $8, R8
	SUBQ  $8, R9
	LOOKUP_SECOND(R11)
	TESTL $SPECIAL, CX
	JZ    distance

bad:
	MOVQ $2, AX
	JMP  done

room:
	XORL AX, AX

done:
	MOVQ    at+64(FP), DX
	SUBQ    src_base+16(FP), SI
	SUBQ    BX, DI
	MOVBLZX R9, R9
	MOVQ    SI, position_pos(DX)
	MOVQ    R8, position_buf(DX)
	MOVQ    R9, position_have(DX)
	MOVQ    DI, position_out(DX)
	MOVQ    AX, ret+72(FP)
	RET
