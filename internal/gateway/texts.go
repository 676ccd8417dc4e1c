package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
)

// modelRequest is what is looked at in a request.
type modelRequest struct {
	Model    string  `json:"model"`
	System   content `json:"system"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
}

// parseRequest decodes a request. With an error comes what could be read.
func parseRequest(body []byte) (modelRequest, error) {
	var r modelRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("read request: %w", err)
	}
	return r, nil
}

// texts are what a request puts before the model on its own account: the system
// prompt and what is said in the user's and the system's name. Answers and tool
// results are left out: a model that quotes the note, or reads a skill's file,
// was not exposed by it.
func (r modelRequest) texts() []string {
	texts := []string(r.System)
	for _, m := range r.Messages {
		if m.Role != "assistant" {
			texts = append(texts, m.Content...)
		}
	}
	return texts
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
