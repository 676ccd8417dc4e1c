package frozen

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watch is an alarm over a sealed directory: whenever something in it may have
// changed, Changed has a value. It finds nothing that Verify would not find, only
// sooner, and it misses what reaches a file by another name; so it is a reason to
// verify at once and never a reason to halt, or not to.
type Watch struct {
	watcher *fsnotify.Watcher
	changed chan struct{}
	done    chan struct{}
}

// NewWatch watches dir, every directory below it, and the name of dir itself.
// Close it.
func NewWatch(dir string) (*Watch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	// The parent says when another directory takes the place of dir.
	err = w.Add(filepath.Dir(filepath.Clean(dir)))
	err = errors.Join(err, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return w.Add(path)
	}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), w.Close())
	}
	out := &Watch{watcher: w, changed: make(chan struct{}, 1), done: make(chan struct{})}
	go out.follow(filepath.Clean(dir))
	return out, nil
}

// Changed has a value when something may have changed since it was last read.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Close ends the watch and waits for it.
func (w *Watch) Close() error {
	err := w.watcher.Close()
	<-w.done
	return err
}

// follow turns any number of changes into one value. An error, of a queue that
// ran over for one, may stand for a change that nobody tells of any more.
func (w *Watch) follow(dir string) {
	defer close(w.done)
	for {
		select {
		case e, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if filepath.Dir(e.Name) == filepath.Dir(dir) && e.Name != dir {
				continue // a neighbour
			}
		case _, ok := <-w.watcher.Errors:
			if !ok {
				return
			}
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}
