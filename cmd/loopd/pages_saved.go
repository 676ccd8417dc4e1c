package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/atomicfile"
	"loopd/internal/hint"
	"loopd/internal/web"
	"loopd/report"
)

// shownOptions are the flags of what can be shown as a page.
type shownOptions struct {
	open bool
	html string
}

func (o *shownOptions) flags(cmd *cobra.Command, about string) {
	f := cmd.Flags()
	f.BoolVar(&o.open, "open", false, "serve the pages on this machine until it is interrupted")
	f.StringVar(&o.html, "html", "", "write the "+about+" as one page into this `file`")
}

// asked says whether a page is wanted.
func (o shownOptions) asked() bool { return o.open || o.html != "" }

// opened is a report in a file.
func opened(e env, file string) web.Opened {
	return web.Opened{Name: file, Open: func() (io.ReadCloser, error) {
		info, err := os.Stat(e.Path(file))
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", file)
		}
		return os.Open(e.Path(file))
	}}
}

// held is a report that has been read.
func held(d report.Document) web.Opened {
	return web.Opened{Name: d.Name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(d.Data)), nil }}
}

// runSavedReport prints the report of an evaluator, or shows it as a page.
func runSavedReport(ctx context.Context, e env, o shownOptions, file string) error {
	one := opened(e, file)
	head, err := readEval(one, func(harness.Evaluated) error { return nil })
	if err != nil {
		return hint.Usagef("loopd report --help", "%w", err)
	}
	if o.asked() {
		return showOpened(ctx, e, o, web.Options{Opened: []web.Opened{one}}, "loopd report "+file+" --open")
	}
	results := func(yield func(harness.Evaluated, error) bool) {
		_, err := readEval(one, func(r harness.Evaluated) error {
			if !yield(r, nil) {
				return report.ErrEnough
			}
			return nil
		})
		if err != nil {
			yield(harness.Evaluated{}, err)
		}
	}
	if err := head.WriteMarkdown(e.stdout, results); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: loopd report %s --open\n", file)
	return err
}

func readEval(one web.Opened, each func(harness.Evaluated) error) (report.Eval, error) {
	r, err := one.Open()
	if err != nil {
		return report.Eval{}, fmt.Errorf("read report: %w", err)
	}
	defer r.Close()
	return report.ReadEval(one.Name, r, each)
}

// showOpened writes what was opened as one page, or serves it. command is what to
// type to have it served.
func showOpened(ctx context.Context, e env, o shownOptions, pages web.Options, command string) error {
	pages.Now = time.Now
	if o.html != "" {
		if err := writable(e, "write page", o.html); err != nil {
			return err
		}
		page, err := web.FileOfReport(pages)
		if err != nil {
			return err
		}
		write := func(w io.Writer) error {
			_, err := w.Write(page)
			return err
		}
		if err := atomicfile.CreateFile(e.Path(o.html), 0o644, write); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
		_, err = fmt.Fprintf(e.stdout, "wrote %s\n\nNext: %s\n", o.html, command)
		return err
	}
	dir, err := os.MkdirTemp("", "loopd-pages-*")
	if err != nil {
		return fmt.Errorf("serve pages: %w", err)
	}
	defer os.RemoveAll(dir) // it holds the token of these pages alone
	pages.Dir = filepath.Clean(dir)
	if pages.Token, err = web.Token(dir); err != nil {
		return err
	}
	return serveUntilTold(ctx, e, 0, pages, command)
}
