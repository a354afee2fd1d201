package main

import "fmt"

// Figures as the report shows them; "–" stands for what was not measured.

func seconds(v float64) string {
	if v < 1 {
		return shown(v, "%.3f")
	}
	return shown(v, "%.2f")
}

func milliseconds(v float64) string { return shown(v*1000, "%.1f ms") }
func mebibytes(v float64) string    { return shown(v/(1<<20), "%.1f MiB") }

// bare are the same without the unit, for columns that name it.
func bareMilliseconds(v float64) string { return shown(v*1000, "%.1f") }
func bareMebibytes(v float64) string    { return shown(v/(1<<20), "%.1f") }

func ratio(v float64) string { return shown(v, "%.2f") }

// binarySize is a size that is a round number of its unit.
func binarySize(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	unit := 0
	for n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d %s", n, units[unit])
}
