package fake

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// request is what the model reads of a Messages API request.
type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	System   content   `json:"system"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is the texts of a message: the API takes a string or blocks.
type content []string

// UnmarshalJSON keeps the text blocks of either form; tool calls, results and
// thinking are none of the model's business here.
func (c *content) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*c = content{one}
		return nil
	}
	var blocks []struct{ Type, Text string }
	if err := json.Unmarshal(data, &blocks); err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	*c = nil
	for _, b := range blocks {
		if b.Type == "text" {
			*c = append(*c, b.Text)
		}
	}
	return nil
}

// turn is the number of the answer asked for, from 0.
func (r request) turn() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// prompt is the last text that is the user's own.
func (r request) prompt() string {
	last := ""
	for _, m := range r.Messages {
		for _, t := range m.Content {
			if m.Role == "user" && !strings.HasPrefix(strings.TrimSpace(t), "<system-reminder>") {
				last = t
			}
		}
	}
	return last
}

// wording is every text that is not the user's and was sent before the first
// answer: system blocks, role "system" messages (5.x models) and reminders in
// the first user message (4.x models).
func (r request) wording() string {
	texts := []string(r.System)
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			break
		}
		for _, t := range m.Content {
			if m.Role == "system" || strings.HasPrefix(strings.TrimSpace(t), "<system-reminder>") {
				texts = append(texts, t)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// place is what a script needs to know about the session it plays in.
type place struct {
	dir    string   // working directory, empty when the request names none
	skills []string // offered skills, as listed
}

// placeOf reads working directory and skill listing from the wording.
func placeOf(wording string) place {
	var p place
	if m := regexp.MustCompile(`(?m)Primary working directory: (.+)$`).FindStringSubmatch(wording); m != nil {
		p.dir = strings.TrimSpace(m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^- ([\w.-]+:[\w.-]+): `).FindAllStringSubmatch(wording, -1) {
		p.skills = append(p.skills, m[1])
	}
	return p
}
