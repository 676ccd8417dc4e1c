package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"loopd/harness"
)

// owner is who the session's files belong to, when that is to be changed.
type owner struct {
	set      bool
	uid, gid int
}

// makeDir makes a directory and opens it.
func makeDir(parent *os.Root, name string, mode fs.FileMode, own owner) (*os.Root, error) {
	err := parent.Mkdir(name, mode)
	if err == nil && own.set {
		err = parent.Lchown(name, own.uid, own.gid)
	}
	if err == nil {
		err = parent.Chmod(name, mode) // the umask took bits away that the fixture may rely on
	}
	if err != nil {
		return nil, err
	}
	return parent.OpenRoot(name)
}

// writeTree writes the files below dir, in order, each directory opened once:
// the paths of a tree are sorted, so the files of a directory come in runs.
func writeTree(dir *os.Root, tree harness.Tree, own owner) (err error) {
	open := map[string]*os.Root{".": dir}
	defer func() {
		delete(open, ".")
		for _, d := range open {
			err = errors.Join(err, d.Close())
		}
	}()
	for _, name := range tree.Paths() {
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("write %q: not a path below the directory", name)
		}
		parent, err := openParent(open, path.Dir(name), own)
		if err != nil {
			return err
		}
		if err := writeFile(parent, path.Base(name), tree[name], own); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func openParent(open map[string]*os.Root, name string, own owner) (*os.Root, error) {
	if d, ok := open[name]; ok {
		return d, nil
	}
	parent, err := openParent(open, path.Dir(name), own)
	if err != nil {
		return nil, err
	}
	d, err := makeDir(parent, path.Base(name), 0o755, own)
	if err == nil {
		open[name] = d
	}
	return d, err
}

func writeFile(dir *os.Root, name string, file harness.File, own owner) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(file.Data)
	if own.set {
		err = errors.Join(err, f.Chown(own.uid, own.gid))
	}
	return errors.Join(err, f.Chmod(file.Mode.Perm()), f.Close())
}
