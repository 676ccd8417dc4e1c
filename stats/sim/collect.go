package sim

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// parts is how many parts the runs of a check are cut into. It is fixed, so that sums are added in the same order
// however many workers there are, and memory does not grow with the runs.
const parts = 64

// Sum is a running sum with its squares.
type Sum struct {
	N          int
	Total, Sqr float64
}

// Add counts one value.
func (s *Sum) Add(x float64) {
	s.N++
	s.Total += x
	s.Sqr += x * x
}

func (s *Sum) merge(o Sum) {
	s.N += o.N
	s.Total += o.Total
	s.Sqr += o.Sqr
}

// Mean returns the mean, 0 of nothing.
func (s Sum) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return s.Total / float64(s.N)
}

// SE returns the standard error of the mean.
func (s Sum) SE() float64 {
	if s.N < 2 {
		return 0
	}
	n, m := float64(s.N), s.Mean()
	return math.Sqrt(max(0, s.Sqr/n-m*m) / (n - 1))
}

// Options are what every measurement takes.
type Options struct {
	Seed    uint64
	Workers int
}

// gathered is a pointer to sums that can be merged.
type gathered[T any] interface {
	*T
	merge(T)
}

// collect plays runs 0 to runs-1 and merges what they add up to. name keeps the draws of two measurements apart. It
// stops between two parts when ctx ends; what it returns is then of no use.
func collect[T any, P gathered[T]](ctx context.Context, o Options, name string, runs int, play func(*engine, P)) T {
	results := make([]T, parts)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, o.Workers) {
		wg.Go(func() {
			e := newEngine()
			for {
				part := int(next.Add(1)) - 1
				if part >= parts || ctx.Err() != nil {
					return
				}
				for run := part * runs / parts; run < (part+1)*runs/parts; run++ {
					e.reset(o.Seed, name, run)
					play(e, P(&results[part]))
				}
			}
		})
	}
	wg.Wait()
	var sum T
	for _, r := range results {
		P(&sum).merge(r)
	}
	return sum
}

// reset makes the generator that of one run.
func (e *engine) reset(seed uint64, name string, run int) {
	h := mix(seed)
	for _, b := range []byte(name) {
		h = mix(h ^ uint64(b))
	}
	h = mix(h ^ uint64(run))
	e.source.Seed(h, mix(h^0x9e3779b97f4a7c15))
	e.odds = 1
}

// mix spreads every bit of x over the result, so that neighbouring runs have nothing in common.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
