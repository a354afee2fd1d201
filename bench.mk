# Measurements. `make bench` compares the program with git, compressors and
# go-git, and writes what it found to docs/performance.md; it wants Linux, git, gzip,
# zstd, openssl, some GiB of disk for repositories that it keeps, and a quiet machine for
# half an hour. REPOMCP_BENCH_REPO names a repository of your own to measure as
# well; BENCH has flags. `go run ./bench -quick` only prints, of small repositories.
#
# `make bench-sync` does so for sync alone, with git, curl and rsync; it wants 15 GiB of
# disk, or of memory with BENCH='-dir /dev/shm/bench'.
# `make bench-git` does so for git clients alone; it wants nginx and fcgiwrap.
# `make bench-checkout` does so for archives that are clones, with nginx and fcgiwrap too.
# `make bench-search` does so for code searches with an index, in one repository and in ten thousand.
# `make bench-agents` asks search_code the questions of the sets in the folder REPOMCP_AGENT_SETS, and of mirrors there
# without a set the subjects of their commits.
# `make bench-go` runs the benchmarks of single functions.

.PHONY: bench bench-sync bench-git bench-checkout bench-search bench-agents bench-go

# record puts a report between the lines of a document that are marked for it.
record = go run ./bench $(1) $(BENCH) > report.md && sed -i -e '/<!-- $(2):begin/,/<!-- $(2):end/{//!d}' \
	-e '/<!-- $(2):begin/r report.md' docs/performance.md && rm report.md

bench:
	$(call record,,benchmark)

bench-sync:
	$(call record,-only sync,sync)

bench-git:
	$(call record,-only git,git)

bench-checkout:
	$(call record,-only checkout,checkout)

bench-search:
	$(call record,search,search)

bench-agents:
	go run ./bench agents $(BENCH)

bench-go:
	go test -run '^$$' -bench . -benchmem ./...
