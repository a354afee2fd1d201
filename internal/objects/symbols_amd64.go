//go:build amd64 && !purego

package objects

import "golang.org/x/sys/cpu"

// quickAvailable is for the shifts and masks of BMI2, which are most of what the
// loop does: they take their counts from any register, in a third of the time.
var quickAvailable = cpu.X86.HasBMI2

// quick is [decoder.portable] in assembly, half as fast again: it inflates from
// a position on, while there are fastInput bytes of src and fastOutput of dst.
// The caller has made sure that there are at the beginning, and that buildTable
// made both tables: they are read without a check of their bounds.
//
//go:noescape
func quick(lit *[litTable]uint32, dist *[distTable]uint32, src, dst []byte, at *position) verdict
