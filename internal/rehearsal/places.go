package rehearsal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"loopd/candidates"
)

// resolve turns each place into a path and the text a phrase is put behind, and
// leaves out what a plugin without a note cannot have.
func (p *Planting) resolve() error {
	if p.note == "" {
		p.Sown = slices.DeleteFunc(p.Sown, func(s Sown) bool { return s.Kind == LongNote })
	}
	if !p.hook {
		p.Faults = slices.DeleteFunc(p.Faults, func(f SownFault) bool { return f.Fault == NoHook })
	}
	for i := range p.Sown {
		s := &p.Sown[i]
		if s.Place == "" {
			continue
		}
		if s.Path != "" || s.After != "" {
			return fmt.Errorf("candidates[%d]: has both a place and a path", i)
		}
		var err error
		if s.Path, s.After, err = p.spot(s.Place); err != nil {
			return fmt.Errorf("candidates[%d]: place: %s: %w", i, s.Place, err)
		}
	}
	return nil
}

// spot finds where a place ends.
func (p *Planting) spot(at Place) (file, after string, err error) {
	skill := ""
	for _, name := range p.surface().Paths {
		if skill == "" && name != p.note {
			skill = name
		}
	}
	switch {
	case at == AtNote && p.note != "":
		after, err = lastWords(string(p.files[p.note]), string(p.files[p.note]))
		return p.note, after, err
	case skill == "":
		return "", "", errors.New("the plugin has no skill")
	case at == AtDescription:
		text, err := candidates.Description(p.files[skill])
		if err != nil {
			return "", "", err
		}
		after, err = lastWords(text, string(p.files[skill]))
		return skill, after, err
	case at == AtBody || at == AtNote:
		after, err = lastLine(string(p.files[skill]))
		return skill, after, err
	}
	return "", "", errors.New("want description, body or note")
}

// lastWords is the longest end of a text, from a word on, that stands in a file
// exactly once as it is: a description may be folded over lines there.
func lastWords(text, file string) (string, error) {
	text = strings.TrimSpace(text)
	for i, r := range text {
		opens := i == 0 || unicode.IsSpace(rune(text[i-1]))
		if end := text[i:]; opens && !unicode.IsSpace(r) && !strings.Contains(end, "\n") && strings.Count(file, end) == 1 {
			return end, nil
		}
	}
	return "", errors.New("its end stands in the file more than once, or not as it reads")
}

// lastLine is the last line of a file that ends like prose and stands in it
// exactly once; a phrase behind anything else could break a list or a fence.
func lastLine(file string) (string, error) {
	lines := strings.Split(file, "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		last := line
		if len(line) > 0 {
			last = line[len(line)-1:]
		}
		if strings.ContainsAny(last, ".!?") && strings.Count(file, line) == 1 {
			return line, nil
		}
	}
	return "", errors.New("no line ends like a sentence and stands in the file once")
}
