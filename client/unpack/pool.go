package unpack

import (
	"errors"
	"io"
	"runtime"
	"sync"
)

// pool writes small files in several goroutines: creating and renaming them takes longer than
// reading.
type pool struct {
	run     *run
	jobs    chan job
	buffers chan []byte // as many as may wait, nil until used
	workers sync.WaitGroup
}

type job struct {
	file
	content []byte
}

func (p *pool) start(r *run) {
	*p = pool{run: r, jobs: make(chan job, waiting), buffers: make(chan []byte, waiting)}
	for range waiting {
		p.buffers <- nil
	}
	for range min(max(minWorkers, runtime.GOMAXPROCS(0)), maxWorkers) {
		p.workers.Go(p.work)
	}
}

// add reads a file and passes it to a worker. It waits while all buffers are in use.
func (p *pool) add(f file, content io.Reader) error {
	buffer := <-p.buffers
	if buffer == nil {
		buffer = make([]byte, smallFile)
	}
	if _, err := io.ReadFull(content, buffer[:f.size]); err != nil {
		if errors.Is(err, io.EOF) { // Choose has read it
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	f.folder.users.Add(1)
	p.jobs <- job{f, buffer[:f.size]}
	return nil
}

// work ends the run at the first file that fails, and writes none after that.
func (p *pool) work() {
	for j := range p.jobs {
		if p.run.ctx.Err() == nil {
			if err := p.run.write(j.file, j.writeTo); err != nil {
				p.run.cancel(err)
			}
		}
		j.folder.release()
		p.buffers <- j.content[:smallFile]
	}
}

func (j job) writeTo(w io.Writer) (int64, error) {
	n, err := w.Write(j.content)
	return int64(n), err
}

func (p *pool) finish() {
	close(p.jobs)
	p.workers.Wait()
}
