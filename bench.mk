# Measurements. `make bench` compares the program with git, compressors and
# go-git, and writes docs/performance.md; it wants Linux, git, gzip, zstd,
# openssl, some GiB of disk for repositories that it keeps, and a quiet machine for
# half an hour. REPOMCP_BENCH_REPO names a repository of your own to measure as
# well; BENCH has flags, for example
#
#	make bench BENCH='-quick -o -'
#
# `make bench-sync` compares sync alone with git, curl and rsync, and prints that; it
# wants rsync, too, and 15 GiB of disk, or of memory with BENCH='-dir /dev/shm/bench'.
# `make bench-go` runs the benchmarks of single functions.

.PHONY: bench bench-sync bench-go

bench:
	go run ./bench $(BENCH)

bench-sync:
	go run ./bench -only sync -o - $(BENCH)

bench-go:
	go test -run '^$$' -bench . -benchmem ./...
