package candidates

import (
	"bytes"
	"strings"
)

// bom is the mark some editors put before the first byte of a file.
const bom = "\ufeff"

// eolAt is the line end in use at a place of a text: that of its own line, else
// of the line before, else a line feed.
func eolAt(text string, pos int) string {
	end := strings.IndexByte(text[pos:], '\n')
	if end >= 0 {
		end += pos
	} else {
		end = strings.LastIndexByte(text[:pos], '\n')
	}
	if end > 0 && text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// folding is a text with every line end as one line feed, and where each of its
// bytes stands in the original.
type folding struct {
	text string
	from []int // one more than bytes: the last is the original's length
}

func foldEnds(content []byte) folding {
	f := folding{from: make([]int, 0, len(content)+1)}
	var b strings.Builder
	for i, c := range content {
		if c == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			continue
		}
		at := i
		if c == '\n' && i > 0 && content[i-1] == '\r' {
			at = i - 1
		}
		f.from = append(f.from, at)
		b.WriteByte(c)
	}
	f.text, f.from = b.String(), append(f.from, len(content))
	return f
}

// replaceOnce puts next in the only place of old in content. Line ends need not
// agree: what is replaced keeps those of the file, and so do lines that old and
// next have in common. n is the number of places found, up to two.
func replaceOnce(content []byte, old, next string) (result []byte, n int) {
	if bytes.HasPrefix(content, []byte(bom)) && strings.HasPrefix(old, bom) {
		old, next = strings.TrimPrefix(old, bom), strings.TrimPrefix(next, bom)
	}
	file := foldEnds(content)
	old, next = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(next, "\r\n", "\n")
	n = places([]byte(file.text), old)
	if short, ends := strings.CutSuffix(old, "\n"); n == 0 && ends && short != "" && strings.HasSuffix(file.text, short) {
		// The patch ends its last line and the file does not.
		old, next = short, strings.TrimSuffix(next, "\n")
		n = places([]byte(file.text), old)
	}
	if n != 1 {
		return nil, n
	}
	at := strings.Index(file.text, old)
	head, tail := common(old, next)
	start, end := file.from[at+head], file.from[at+len(old)-tail]
	middle := strings.ReplaceAll(next[head:len(next)-tail], "\n", eolAt(string(content), start))
	return bytes.Join([][]byte{content[:start], []byte(middle), content[end:]}, nil), 1
}

// common is how many bytes of whole lines two texts begin and end with alike.
func common(a, b string) (head, tail int) {
	first, second := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for len(first) > 0 && len(second) > 0 && first[0] == second[0] {
		head += len(first[0])
		first, second = first[1:], second[1:]
	}
	for len(first) > 0 && len(second) > 0 && first[len(first)-1] == second[len(second)-1] {
		tail += len(first[len(first)-1])
		first, second = first[:len(first)-1], second[:len(second)-1]
	}
	return head, tail
}
