package candidates

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxHead bounds the YAML of a SKILL.md before it is parsed.
const maxHead = 8 << 10

// maxMarks bounds the characters that open or nest YAML collections. A parser's time grows with a power of their
// number, and no description of a skill comes near it.
const maxMarks = 250

// wordingKeys are the front-matter keys that are wording. Every other key changes what a skill may do, which model it
// runs on or when it is offered, and stays as it is in the base.
func wordingKeys() []string { return []string{"description", "when_to_use", "when-to-use"} }

// frontMatterFindings says what is wrong with the head and body of a changed SKILL.md.
func frontMatterFindings(path string, base, content []byte) []Finding {
	head, body, err := parseSkill(string(content))
	if err != nil {
		return []Finding{{FrontMatter, path, err.Error()}}
	}
	var findings []Finding
	add := func(format string, args ...any) {
		findings = append(findings, Finding{FrontMatter, path, fmt.Sprintf(format, args...)})
	}
	if name, _ := head["name"].(string); strings.TrimSpace(name) == "" {
		add("name is missing")
	}
	description, _ := head["description"].(string)
	switch n := utf8.RuneCountInString(description); {
	case strings.TrimSpace(description) == "":
		add("description is empty")
	case n > MaxDescription:
		add("description has %d characters, over the limit of %d", n, MaxDescription)
	}
	if strings.TrimSpace(body) == "" {
		add("body is empty")
	}
	was := strings.Join(headTexts(base), "\n")
	if why := hiddenUnicode(was, strings.Join(headTexts(content), "\n")); why != "" && hiddenUnicode(string(base), string(content)) == "" {
		findings = append(findings, Finding{HiddenUnicode, path, "escaped in the front matter: " + why})
	}
	if was, _, err := parseSkill(string(base)); err == nil {
		for _, key := range movedKeys(was, head) {
			add("key %q may not change", key)
		}
		for _, key := range wordingKeys() {
			if value, is := head[key]; is && !isText(value) && !reflect.DeepEqual(was[key], value) {
				add("key %q is not text", key) // its escapes would stay unread
			}
		}
	}
	return findings
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// headTexts are the wording keys of a SKILL.md as the model reads them, with YAML's escapes undone.
func headTexts(content []byte) []string {
	head, _, err := parseSkill(string(content))
	if err != nil {
		return nil
	}
	var texts []string
	for _, key := range wordingKeys() {
		if text, ok := head[key].(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func movedKeys(was, is map[string]any) []string {
	var moved []string
	for key := range was {
		if _, kept := is[key]; !kept {
			moved = append(moved, key)
		}
	}
	for key, value := range is {
		if old, existed := was[key]; !existed || !reflect.DeepEqual(old, value) {
			moved = append(moved, key)
		}
	}
	moved = slices.DeleteFunc(moved, func(key string) bool { return slices.Contains(wordingKeys(), key) })
	slices.Sort(moved)
	return moved
}

// parseSkill splits a SKILL.md and reads its front matter. Anchors and aliases are refused: they are the way a small
// head grows large.
func parseSkill(text string) (head map[string]any, body string, err error) {
	raw, body, err := splitSkill(text)
	if err != nil {
		return nil, "", err
	}
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	if err := checkTokens(raw); err != nil {
		return nil, "", err
	}
	if err := yaml.UnmarshalWithOptions([]byte(raw), &head, yaml.Strict()); err != nil {
		return nil, "", fmt.Errorf("invalid YAML: %s", firstLine(err))
	}
	return head, body, nil
}

// splitSkill cuts a SKILL.md at its two --- lines. As for the agent CLI, a byte
// order mark before the first and a carriage return behind either are nothing.
func splitSkill(text string) (head, body string, err error) {
	lines := strings.SplitAfter(strings.TrimPrefix(text, bom), "\n")
	if strings.TrimRight(lines[0], " \t\r\n") != "---" {
		return "", "", errors.New("the first line is not ---")
	}
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			return strings.Join(lines[1:i+1], ""), strings.Join(lines[i+2:], ""), nil
		}
	}
	return "", "", errors.New("no --- closes the front matter")
}

func checkTokens(raw string) error {
	if len(raw) > maxHead {
		return fmt.Errorf("front matter has %d bytes, over the limit of %d", len(raw), maxHead)
	}
	if n := marks(raw); n > maxMarks {
		return fmt.Errorf("front matter has %d list and map marks, over the limit of %d", n, maxMarks)
	}
	for _, t := range lexer.Tokenize(raw) {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return errors.New("anchors and aliases are not allowed in front matter")
		case token.TagType, token.DirectiveType, token.DocumentHeaderType, token.DocumentEndType:
			return errors.New("tags, directives and further documents are not allowed in front matter")
		}
	}
	return nil
}

// marks counts what a YAML scanner could take for structure, before any scanner sees the text.
func marks(raw string) int {
	n := 0
	for i := range len(raw) {
		end := i+1 == len(raw) || strings.IndexByte(" \t\r\n", raw[i+1]) >= 0
		if strings.IndexByte("[{", raw[i]) >= 0 || end && strings.IndexByte("-?:", raw[i]) >= 0 {
			n++
		}
	}
	return n
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Description returns the description in the front matter of a SKILL.md, as the
// model reads it.
func Description(content []byte) (string, error) {
	head, _, err := parseSkill(string(content))
	if err != nil {
		return "", fmt.Errorf("read description: %w", err)
	}
	text, ok := head["description"].(string)
	if !ok {
		return "", errors.New("read description: there is none")
	}
	return text, nil
}
