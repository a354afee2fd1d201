//go:build !linux

package doctor

func watchLimit() int64  { return 0 }
func memoryLimit() int64 { return 0 }
