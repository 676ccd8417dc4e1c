package propose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"loopd/candidates"
)

// rewritten is a body that an operator made.
type rewritten struct{ operator, body string }

// settled numbers the lists of a body again where they were in order before.
func (p page) settled(body string) string {
	if renumbered(p.body) == p.body {
		return renumbered(body)
	}
	return body
}

// deletions take away a sentence, an item of a list, a paragraph or a section.
func (p page) deletions() []rewritten {
	var out []rewritten
	add := func(operator, body string) { out = append(out, rewritten{operator, p.settled(body)}) }
	all := blocks(p.body)
	for i, b := range all {
		if b.plain {
			if list := sentences(p.body, b.content(p.body)); len(list) > 1 {
				for _, s := range list {
					add("delete a sentence", cut(p.body, s))
				}
			}
		}
		switch {
		case b.kind == item && len(run(all, i)) > 1:
			add("delete an item", cut(p.body, span{b.start, b.end}))
		case b.kind == text && len(all) > 2:
			add("delete a paragraph", cut(p.body, span{b.start, b.end}))
		case b.kind == heading && b.level > 1:
			add("delete a section", cut(p.body, section(all, i)))
		}
	}
	return out
}

// run is the list that an item belongs to: the indexes of the items around it.
func run(all []block, i int) []int {
	first := i
	for first > 0 && all[first-1].kind == item && all[first-1].numbered == all[i].numbered {
		first--
	}
	var out []int
	for j := first; j < len(all) && all[j].kind == item && all[j].numbered == all[i].numbered; j++ {
		out = append(out, j)
	}
	return out
}

// section is a heading with everything below it.
func section(all []block, i int) span {
	s := span{all[i].start, all[i].end}
	for _, b := range all[i+1:] {
		if b.kind == heading && b.level <= all[i].level {
			break
		}
		s.end = b.end
	}
	return s
}

// swapped exchanges two stretches that follow each other.
func swapped(body string, a, b span) string {
	return body[:a.start] + body[b.start:b.end] + body[a.end:b.start] + body[a.start:a.end] + body[b.end:]
}

// swaps exchange two neighbours: sentences, items of a list, sections.
func (p page) swaps() []rewritten {
	var out []rewritten
	all := blocks(p.body)
	for i, b := range all {
		if b.plain {
			list := sentences(p.body, b.content(p.body))
			for j := range len(list) - 1 {
				out = append(out, rewritten{"swap two sentences", swapped(p.body, list[j], list[j+1])})
			}
		}
		if b.kind == item && i+1 < len(all) && all[i+1].kind == item && all[i+1].numbered == b.numbered {
			out = append(out, rewritten{"swap two items", p.settled(swapped(p.body, span{b.start, b.end}, span{all[i+1].start, all[i+1].end}))})
		}
		if b.kind == heading && b.level > 1 {
			own := section(all, i)
			next := slices.IndexFunc(all, func(n block) bool { return n.start >= own.end })
			if next >= 0 && all[next].kind == heading && all[next].level == b.level {
				out = append(out, rewritten{"swap two sections", swapped(p.body, own, section(all, next))})
			}
		}
	}
	return out
}

// asked are ways to begin a sentence that an instruction does without.
var asked = regexp.MustCompile(`(?i)^(?:you (?:should|can|may|must|need to|will want to|have to)|please|then|next|afterwards|first|finally)[, ]+`)

// recipes turn a paragraph of several sentences into numbered steps.
func (p page) recipes() []rewritten {
	var out []rewritten
	for _, b := range blocks(p.body) {
		list := []span(nil)
		if b.kind == text && b.plain {
			list = sentences(p.body, span{b.start, b.end})
		}
		if len(list) < 2 || strings.HasPrefix(p.body[b.start:], "[") {
			continue // a tag before a note is no step
		}
		steps := make([]string, len(list))
		for i, s := range list {
			steps[i] = strconv.Itoa(i+1) + ". " + imperative(joined(p.body[s.start:s.end]))
		}
		out = append(out, rewritten{"number the steps", p.body[:b.start] + strings.Join(steps, "\n") + p.body[b.end:]})
	}
	return out
}

// imperative takes the address off a sentence and begins it with a capital.
func imperative(sentence string) string {
	rest := asked.ReplaceAllString(sentence, "")
	first, size := utf8.DecodeRuneInString(rest)
	if size == 0 {
		return sentence
	}
	return string(unicode.ToUpper(first)) + rest[size:]
}

// hedge is a turn of phrase and the shorter one that says the same.
type hedge struct {
	find *regexp.Regexp
	with string
}

// hedges are what prose can do without.
var hedges = []hedge{
	{regexp.MustCompile(`(?i)\b(?:very|really|simply|basically|generally|usually|typically|normally|probably|perhaps|quite|actually|certainly|of course) `), ""},
	{regexp.MustCompile(`(?i)\b(?:please|kindly) `), ""},
	{regexp.MustCompile(`(?i)\b(?:make|be) sure (?:to|that you) `), ""},
	{regexp.MustCompile(`(?i)\b(?:it is|it's) (?:recommended|advisable|a good idea|best|important) to `), ""},
	{regexp.MustCompile(`(?i)\byou (?:may|might|can|should|could) (?:want to |wish to )?`), ""},
	{regexp.MustCompile(`(?i)\bin order to\b`), "to"},
	{regexp.MustCompile(`(?i)\b(?:due to the fact that|owing to the fact that)\b`), "because"},
	{regexp.MustCompile(`(?i)\bin the (?:case|event) (?:that|of)\b`), "if"},
	{regexp.MustCompile(`(?i)\bat (?:this|that) point in time\b`), "then"},
	{regexp.MustCompile(`(?i)\bcan help when\b`), "help when"},
	{regexp.MustCompile(`(?i)\bif (?:possible|needed|necessary|applicable),? `), ""},
	{regexp.MustCompile(`(?i), for example [^.,;]+`), ""},
	{regexp.MustCompile(`(?i) \((?:for example|such as|e\.g\.) [^()]+\)`), ""},
}

// tightened drops one kind of hedge wherever it stands in prose, and all of them at once.
func (p page) tightened() []rewritten {
	var out []rewritten
	all := p.body
	for _, h := range hedges {
		if body := drop(p.body, h); body != p.body {
			out = append(out, rewritten{"tighten", body})
		}
		all = drop(all, h)
	}
	if len(out) > 1 {
		out = append(out, rewritten{"tighten everything", all})
	}
	return out
}

// drop replaces a hedge in the prose of a body. A sentence that lost its first word begins with a capital again.
func drop(body string, h hedge) string {
	for _, b := range slices.Backward(blocks(body)) {
		if !b.plain {
			continue
		}
		for _, s := range slices.Backward(sentences(body, b.content(body))) {
			was := body[s.start:s.end]
			now := h.find.ReplaceAllString(was, h.with)
			first, size := utf8.DecodeRuneInString(now)
			if now == was || strings.TrimSpace(now) == "" || strings.Contains(was, "`") {
				continue
			}
			if old, _ := utf8.DecodeRuneInString(was); unicode.IsUpper(old) {
				now = string(unicode.ToUpper(first)) + now[size:]
			}
			body = body[:s.start] + now + body[s.end:]
		}
	}
	return body
}

// moves carry a sentence between the description of a skill, its body and the note.
func moves(wording []File) []variant {
	var out []variant
	for _, f := range wording {
		if f.Note {
			continue
		}
		out = append(out, fromDescription(f)...)
		out = append(out, toDescription(f)...)
		for _, note := range wording {
			if note.Note {
				out = append(out, toNote(f, note)...)
			}
		}
	}
	return out
}

// fromDescription moves each sentence but one of a description to the head of the body.
func fromDescription(f File) []variant {
	description, err := candidates.Description([]byte(f.Text))
	list := sentences(description, span{0, len(description)})
	if err != nil || len(list) < 2 {
		return nil
	}
	var out []variant
	for _, s := range list {
		moved, rest := description[s.start:s.end], strings.TrimSpace(cut(description, s))
		next, err := candidates.SetDescription([]byte(f.Text), joined(rest))
		if err != nil {
			continue
		}
		p := newPage(File{Path: f.Path, Text: string(next)})
		out = append(out, variant{"move a sentence from the description to the body", f.Path, map[string]string{f.Path: p.with(p.opened(joined(moved)))}})
	}
	return out
}

// opened is the body with a paragraph before its first one.
func (p page) opened(paragraph string) string {
	for _, b := range blocks(p.body) {
		if b.kind != heading {
			return p.body[:b.start] + paragraph + "\n\n" + p.body[b.start:]
		}
	}
	return strings.TrimRight(p.body, "\n") + "\n\n" + paragraph + "\n"
}

// toDescription moves each sentence of the body's paragraphs to the end of the description.
func toDescription(f File) []variant {
	description, err := candidates.Description([]byte(f.Text))
	if err != nil {
		return nil
	}
	p := newPage(f)
	var out []variant
	for _, sentence := range p.prose() {
		moved := p.body[sentence.start:sentence.end]
		without := p.with(p.settled(cut(p.body, sentence)))
		next, err := candidates.SetDescription([]byte(without), strings.TrimSpace(description)+" "+joined(moved))
		if err == nil {
			out = append(out, variant{"move a sentence from the body to the description", f.Path, map[string]string{f.Path: string(next)}})
		}
	}
	return out
}

// toNote moves each sentence of a skill's paragraphs to the end of the note.
func toNote(f, note File) []variant {
	p := newPage(f)
	end := note.Text[len(strings.TrimRight(note.Text, " \t\r\n")):]
	var out []variant
	for _, sentence := range p.prose() {
		out = append(out, variant{"move a sentence to the note", f.Path, map[string]string{
			f.Path:    p.with(p.settled(cut(p.body, sentence))),
			note.Path: strings.TrimSuffix(note.Text, end) + " " + joined(p.body[sentence.start:sentence.end]) + end,
		}})
	}
	return out
}

// prose lists the sentences of the paragraphs of a page.
func (p page) prose() []span {
	var out []span
	for _, b := range blocks(p.body) {
		if b.kind == text && b.plain {
			out = append(out, sentences(p.body, span{b.start, b.end})...)
		}
	}
	return out
}
