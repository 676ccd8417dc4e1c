package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
)

// requestTexts decodes the texts a request puts before the model on its own
// account: the system prompt and what is said in the user's and the system's
// name. Answers and tool results are left out: a model that quotes the note, or
// reads a skill's file, was not exposed by it.
func requestTexts(body []byte) ([]string, error) {
	var request struct {
		System   content `json:"system"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	texts := []string(request.System)
	for _, m := range request.Messages {
		if m.Role != "assistant" {
			texts = append(texts, m.Content...)
		}
	}
	return texts, nil
}

// content is the texts of a field that is a string or a list of blocks.
type content []string

// UnmarshalJSON takes both forms, and nothing from what is not text: a block of
// a kind unknown here must not hide its neighbours. What it is given has been
// found to be JSON, so that the only error left is of such a block; the others
// are read all the same.
func (c *content) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		var one string
		if json.Unmarshal(data, &one) == nil {
			*c = content{one}
		}
	case '[':
		var blocks []textBlock
		_ = json.Unmarshal(data, &blocks)
		for _, b := range blocks {
			if b.Type == "text" {
				*c = append(*c, b.Text)
			}
		}
	}
	return nil
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// holds reports whether one text contains s whole.
func holds(texts []string, s string) bool {
	if s == "" {
		return true
	}
	for _, t := range texts {
		if strings.Contains(t, s) {
			return true
		}
	}
	return false
}
