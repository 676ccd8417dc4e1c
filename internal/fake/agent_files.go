package fake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLines is how much of a file one Read shows.
const maxLines = 2000

func (s *session) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// load reads a file for a tool and explains why it cannot.
func (s *session) load(path string) (string, *toolResult) {
	data, err := os.ReadFile(path)
	var r toolResult
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r = failed("File does not exist. Note: your current working directory is %s.", s.dir)
	case err != nil:
		r = failed("%v", err)
	default:
		return string(data), nil
	}
	return "", &r
}

// see remembers that the model knows a file as it is now.
func (s *session) see(path string) {
	if info, err := os.Stat(path); err == nil {
		s.files[path] = info.ModTime()
	}
}

// unseen refuses to change a file the model does not know.
func (s *session) unseen(path string) *toolResult {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	seen, ok := s.files[path]
	var r toolResult
	switch {
	case !ok:
		r = refuse("File has not been read yet. Read it first before writing to it.")
	case !seen.Equal(info.ModTime()):
		r = refuse("File has been modified since read. Read it again before writing to it.")
	default:
		return nil
	}
	return &r
}

func (s *session) read(_ context.Context, in input) toolResult {
	path := s.abs(in.FilePath)
	text, bad := s.load(path)
	if bad != nil {
		return *bad
	}
	s.see(path)
	lines := strings.Split(text, "\n")
	start := min(max(in.Offset, 1), len(lines))
	count := maxLines
	if in.Limit > 0 {
		count = in.Limit
	}
	shown := lines[start-1 : min(start-1+count, len(lines))]
	numbered := make([]string, len(shown))
	for i, l := range shown {
		numbered[i] = fmt.Sprintf("%d\t%s", start+i, l)
	}
	return toolResult{content: strings.Join(numbered, "\n"), ran: true, result: object{"type": "text", "file": object{
		"filePath": path, "content": strings.Join(shown, "\n"), "numLines": len(shown), "startLine": start, "totalLines": len(lines),
	}}}
}

func (s *session) write(_ context.Context, in input) toolResult {
	path := s.abs(in.FilePath)
	if bad := s.unseen(path); bad != nil {
		return *bad
	}
	old, err := os.ReadFile(path)
	created := errors.Is(err, fs.ErrNotExist)
	if err := save(path, in.Content); err != nil {
		return failed("%v", err)
	}
	s.see(path)
	result := object{"type": "update", "filePath": path, "content": in.Content, "userModified": false,
		"structuredPatch": hunks(string(old), in.Content), "originalFile": string(old)}
	content := "The file " + path + " has been updated successfully."
	if created {
		result["type"], result["originalFile"], result["structuredPatch"] = "create", nil, []object{}
		content = "File created successfully at: " + path
	}
	return toolResult{content: content, ran: true, result: result}
}

func (s *session) edit(_ context.Context, in input) toolResult {
	path := s.abs(in.FilePath)
	text, bad := s.load(path)
	if bad == nil {
		bad = s.unseen(path)
	}
	if bad != nil {
		return *bad
	}
	n := strings.Count(text, in.OldString)
	switch {
	case in.OldString == in.NewString || in.OldString == "":
		return refuse("old_string and new_string must differ, and old_string must not be empty.")
	case n == 0:
		return refuse("String to replace not found in file.\nString: %s", in.OldString)
	case n > 1 && !in.ReplaceAll:
		return refuse("Found %d matches of the string to replace, but replace_all is false.\nString: %s", n, in.OldString)
	}
	changed := strings.ReplaceAll(text, in.OldString, in.NewString)
	if err := save(path, changed); err != nil {
		return failed("%v", err)
	}
	s.see(path)
	return toolResult{content: "The file " + path + " has been updated successfully.", ran: true, result: object{
		"filePath": path, "oldString": in.OldString, "newString": in.NewString, "originalFile": text,
		"structuredPatch": hunks(text, changed), "userModified": false, "replaceAll": in.ReplaceAll,
	}}
}

// save writes a file in place and keeps the mode of one that was there.
func save(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// hunks describes a change as one hunk: the lines between the common head and
// the common tail.
func hunks(before, after string) []object {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	gone, come := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(gone)+len(come) == 0 {
		return []object{}
	}
	return []object{{
		"oldStart": head + 1, "oldLines": len(gone), "newStart": head + 1, "newLines": len(come),
		"lines": slices.Concat(prefixed("-", gone), prefixed("+", come)),
	}}
}

func prefixed(mark string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = mark + l
	}
	return out
}
