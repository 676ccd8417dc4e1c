package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"loopd/harness"
	"loopd/report"
)

// longestDocument bounds what is read of one document.
const longestDocument = 64 << 20

// judged is what an evaluator makes of one file: of its bytes, or of the reason
// why they could not be read.
type judged struct {
	bytes  func(name string, data []byte) (harness.Evaluated, error)
	unread func(name, reason, what string) harness.Evaluated
}

// file reads and judges one file. Nothing that could keep it waiting is opened.
func (j judged) file(dir, name string) (harness.Evaluated, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return j.unread(name, "unreadable", errors.Unwrap(err).Error()), nil
	case !info.Mode().IsRegular():
		return j.unread(name, "unreadable", "not a regular file"), nil
	case info.Size() > longestDocument:
		return j.unread(name, "too_large", fmt.Sprintf("over %d MiB", longestDocument>>20)), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return j.unread(name, "unreadable", errors.Unwrap(err).Error()), nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestDocument))
	if err != nil {
		return j.unread(name, "unreadable", err.Error()), nil
	}
	return j.bytes(name, data)
}

// promise is a result that a worker will bring.
type promise struct {
	name string
	done chan struct{}
	out  harness.Evaluated
	err  error
}

// sideBySide judges the files in parallel and hands the results on in the order
// of the files. At most a few per processor are in memory, however many there are.
func sideBySide(ctx context.Context, j judged, dir string, names []string, each func(harness.Evaluated) error) error {
	workers := runtime.GOMAXPROCS(0)
	ordered, todo := make(chan *promise, 4*workers), make(chan *promise)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // before the wait
	running.Go(func() { promiseAll(ctx, names, ordered, todo) })
	for range workers {
		running.Go(func() {
			for p := range todo {
				p.out, p.err = j.file(dir, p.name)
				close(p.done)
			}
		})
	}
	for p := range ordered {
		select {
		case <-p.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.err != nil {
			return p.err
		}
		if err := each(p.out); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// promiseAll hands every file to whoever keeps the order and to a worker.
func promiseAll(ctx context.Context, names []string, ordered, todo chan<- *promise) {
	defer close(ordered)
	defer close(todo)
	for _, name := range names {
		p := &promise{name: name, done: make(chan struct{})}
		for _, to := range []chan<- *promise{ordered, todo} {
			select {
			case to <- p:
			case <-ctx.Done():
				return
			}
		}
	}
}

// spool keeps results in a file that has no name, so that reports can be written
// of them without holding them.
type spool struct {
	file *os.File
	buf  *bufio.Writer
	enc  *json.Encoder
	sum  report.Tally
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "loopd-eval-*")
	if err != nil {
		return nil, fmt.Errorf("keep results: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("keep results: %w", err), f.Close())
	}
	buf := bufio.NewWriterSize(f, 1<<18)
	return &spool{file: f, buf: buf, enc: json.NewEncoder(buf)}, nil
}

func (s *spool) add(r harness.Evaluated) error {
	s.sum.Add(r)
	if err := s.enc.Encode(r); err != nil {
		return fmt.Errorf("keep results: %w", err)
	}
	return nil
}

// all reads the results again from the beginning.
func (s *spool) all(yield func(harness.Evaluated, error) bool) {
	err := s.buf.Flush()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	dec := json.NewDecoder(bufio.NewReaderSize(s.file, 1<<18))
	for err == nil {
		var r harness.Evaluated
		if err = dec.Decode(&r); err == nil && !yield(r, nil) {
			return
		}
	}
	if !errors.Is(err, io.EOF) {
		yield(harness.Evaluated{}, fmt.Errorf("read results again: %w", err))
	}
}

func (s *spool) close() error { return s.file.Close() }

// interruptible returns a context that ends with the first interrupt: there is
// no session that would have to be waited for.
func interruptible(ctx context.Context, e env) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-e.drain:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}

// job is one run of one of the two evaluators.
type job struct {
	report report.Eval // its head: what was evaluated, and by which rules
	judge  judged
	dir    string // of the documents
	names  []string
	rest   []harness.Evaluated // what no document stands for
	next   string              // what to type when all is well
}

// run judges the documents, writes the reports and tells what came of it.
func (j job) run(ctx context.Context, e env, o evalOptions) error {
	s, err := j.evaluate(ctx, e, o)
	if err != nil {
		return err
	}
	defer s.close()
	j.report.Schema, j.report.Summary = report.EvalSchema, s.sum.Summary()
	return evaluation{j.report, s}.tell(e, o, j.next)
}

// evaluate judges the documents and keeps what came of them.
func (j job) evaluate(ctx context.Context, e env, o evalOptions) (*spool, error) {
	s, err := newSpool()
	if err != nil {
		return nil, err
	}
	p := newPrinter(e, o.quiet(), len(j.names))
	bar := newDocuments(e, len(j.names))
	add := func(r harness.Evaluated) error {
		p.result(r)
		return s.add(r)
	}
	ctx, stop := interruptible(ctx, e)
	err = sideBySide(ctx, j.judge, j.dir, j.names, func(r harness.Evaluated) error {
		err := add(r)
		bar.next()
		return err
	})
	stop()
	bar.close()
	for _, r := range j.rest {
		if err == nil {
			err = add(r)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	p.close()
	return s, nil
}
