package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits bound what Parse reads and keeps. Zero means the default. A stream
// that passes one is damaged by Oversize: it is never taken for a shorter one.
type Limits struct {
	Line  int   // bytes of one line
	Kept  int   // bytes of texts, tool inputs and tool outputs of the whole stream
	Total int64 // bytes of the whole stream
}

// The default limits: far above any honest session, and so low that a session
// which prints without end costs no more than some 100 MB of memory.
const (
	DefaultLine  = 24 << 20
	DefaultKept  = 24 << 20
	DefaultTotal = 1 << 30
)

const (
	keptNoise    = 2 << 10 // bytes of noise kept for the limit table
	unknownTypes = 200     // distinct unknown types counted by name
	unknownName  = 64      // bytes of such a name
	readBuffer   = 256 << 10
)

// Parse reads a session's stream to its end. Only a failing reader is an
// error; what the stream holds never is.
func Parse(r io.Reader, lim Limits) (*Transcript, error) {
	if lim.Line <= 0 {
		lim.Line = DefaultLine
	}
	if lim.Kept <= 0 {
		lim.Kept = DefaultKept
	}
	if lim.Total <= 0 {
		lim.Total = DefaultTotal
	}
	p := parser{in: bufio.NewReaderSize(r, readBuffer), lim: lim, t: &Transcript{Unknown: map[string]int{}}}
	for {
		line, ended, err := p.next()
		if errors.Is(err, errTooLong) {
			p.t.Lines++
			p.damage(&p.t.Damage.Oversize, "is over the limit")
			return p.t, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		p.line(line, ended)
		if p.kept > lim.Kept {
			p.damage(&p.t.Damage.Oversize, "brings what the session said over the limit")
			return p.t, nil
		}
		if err != nil {
			return p.t, nil
		}
	}
}

var errTooLong = errors.New("line too long")

type parser struct {
	in    *bufio.Reader
	lim   Limits
	total int64
	kept  int // bytes of the blocks so far
	lineN int
	t     *Transcript
}

// next returns the next line without its end, and whether it had one. The
// bytes are valid until the next call.
func (p *parser) next() (line []byte, ended bool, err error) {
	p.lineN++
	var parts [][]byte // of a line longer than the buffer: one that grew would be there twice
	size := 0
	for {
		part, err := p.in.ReadSlice('\n')
		p.total += int64(len(part))
		if size+len(part) > p.lim.Line || p.total > p.lim.Total {
			return nil, false, errTooLong
		}
		if err == nil && size == 0 {
			return part[:len(part)-1], true, nil
		}
		parts, size = append(parts, bytes.Clone(part)), size+len(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(bytes.Join(parts, nil), []byte("\n")), err == nil, err
	}
}

// line reads one line: an object, noise, or damage.
func (p *parser) line(line []byte, ended bool) {
	if n := bytes.Count(line, []byte{0}); n > 0 {
		p.t.NULs += n
		line = slices.DeleteFunc(slices.Clone(line), func(b byte) bool { return b == 0 })
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	p.t.Lines++
	if !utf8.Valid(line) {
		p.t.BadUTF8++
	}
	switch {
	case line[0] != '{':
		p.noise(line)
	case json.Valid(line):
		p.object(value(line).object())
	case ended:
		p.damage(&p.t.Damage.Malformed, "starts like an object and does not parse")
	default:
		p.damage(&p.t.Damage.Truncated, "is the last and was cut")
	}
}

func (p *parser) noise(line []byte) {
	p.t.Noise++
	if room := keptNoise - len(p.t.NoiseText); room > 0 {
		p.t.NoiseText += string(line[:min(room, len(line))]) + "\n"
	}
}

func (p *parser) damage(where *int, why string) {
	if *where == 0 {
		*where = p.lineN
	}
	if p.t.Damage.Why == "" {
		p.t.Damage.Why = fmt.Sprintf("line %d %s", p.lineN, why)
	}
}

// keep adds a block.
func (p *parser) keep(b Block) {
	p.kept += len(b.Text) + len(b.Input)
	p.t.Blocks = append(p.t.Blocks, b)
}

func (p *parser) unknown(name string) {
	name = strings.ToValidUTF8(name[:min(len(name), unknownName)], "")
	if _, ok := p.t.Unknown[name]; !ok && len(p.t.Unknown) >= unknownTypes {
		name = "other"
	}
	p.t.Unknown[name]++
}

// whole reports whether every object has each key once, and damages the line
// if not: evidence must not depend on which of two values a reader takes.
func (p *parser) whole(objects ...object) bool {
	for _, o := range objects {
		if key, twice := o.duplicate(); twice {
			p.damage(&p.t.Damage.Malformed, fmt.Sprintf("has the key %q twice", key))
			return false
		}
	}
	return true
}
