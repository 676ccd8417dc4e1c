package repostate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// place is where in a state something is: the way to it in words, the key it is
// under, and whether it is an entry of a list.
type place struct {
	owner string // such as issue 1, empty at the top
	name  string // the key
	loose bool   // an entry of the list under that key
}

// key is the place of a part of the object here.
func (p place) key(name string) place { return place{owner: p.here(), name: name} }

// entry is the place of an entry of the list here.
func (p place) entry(v any) place {
	return place{owner: joined(title(p.name, v), p.owner), name: ""}
}

// loosely is the place of an entry of the list here that has no counterpart.
func (p place) loosely() place { return place{owner: p.owner, name: p.name, loose: true} }

// here names the place itself as the owner of its parts.
func (p place) here() string {
	if p.name == "" {
		return p.owner
	}
	return joined(words(p.name), p.owner)
}

func joined(what, owner string) string {
	if owner == "" {
		return what
	}
	return what + " on " + owner
}

// on is the owner, as it follows a noun.
func (p place) on() string {
	if p.owner == "" {
		return ""
	}
	return " on " + p.owner
}

// noun names a value at this place.
func (p place) noun(v any) string {
	if p.loose {
		o, _ := v.(map[string]any)
		return title(p.name, v) + text(o)
	}
	return words(p.name) + " " + short(v)
}

// text is what an entry says, where its name does not.
func text(o map[string]any) string {
	for _, key := range []string{"title", "body", "subject"} {
		if s, ok := o[key].(string); ok {
			return ` "` + clip(s) + `"`
		}
	}
	return ""
}

// title names an entry of a list: issue 1, label "bug", comment by sam.
func title(key string, v any) string {
	noun := singular(key)
	o, ok := v.(map[string]any)
	if !ok {
		return noun + " " + short(v)
	}
	if n, ok := o["number"].(json.Number); ok {
		return noun + " " + clip(string(n))
	}
	for _, key := range []string{"name", "path"} {
		if s, ok := o[key].(string); ok {
			return fmt.Sprintf("%s %q", noun, clip(s))
		}
	}
	if s, ok := o["author"].(string); ok {
		return noun + " by " + clip(s)
	}
	return noun
}

// identity is what makes two entries the same thing: number, name or path;
// author, kind and body of what somebody wrote; else all of it.
func identity(v any) string {
	o, _ := v.(map[string]any)
	if n, ok := o["number"].(json.Number); ok {
		return "#" + string(n)
	}
	for _, key := range []string{"name", "path"} {
		if s, ok := o[key].(string); ok {
			return key + " " + s
		}
	}
	if author, ok := o["author"]; ok {
		return "by " + canonical([]any{author, o["kind"], o["body"]})
	}
	return "=" + canonical(v)
}

// hump is where a word begins within a key.
var hump = regexp.MustCompile(`([a-z])([A-Z])`)

// words writes a key as one would say it: pullRequests is pull requests.
func words(key string) string {
	return strings.ToLower(strings.ReplaceAll(hump.ReplaceAllString(key, "$1 $2"), "_", " "))
}

// singular is the noun for one entry of the list under a key.
func singular(key string) string {
	w := words(key)
	for _, end := range []struct{ plural, one string }{{"branches", "branch"}, {"ies", "y"}, {"s", ""}} {
		if rest, ok := strings.CutSuffix(w, end.plural); ok {
			return rest + end.one
		}
	}
	return w
}

// short is a value as it stands in a message.
func short(v any) string {
	if s, ok := v.(string); ok {
		return `"` + clip(s) + `"`
	}
	return clip(canonical(v))
}

// clip bounds what is repeated of a text and keeps it on its line.
func clip(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}
