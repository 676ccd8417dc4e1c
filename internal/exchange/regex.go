package exchange

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// jsSpace is what \s stands for in JavaScript, and goSpace in Go: a pattern
// that looked for a blank must not miss or find another one.
const (
	jsSpace = `\t\n\v\f\r\x{feff}\p{Z}`
	goSpace = `\t\n\f\r `
)

// fromJS turns a pattern of JavaScript into one of Go that matches the same. A
// pattern for which there is none is an error; it is never loosened.
func fromJS(pattern, flags string) (string, error) {
	var keep string
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			if !strings.ContainsRune(keep, f) {
				keep += string(f)
			}
		case 'g', 'd', 'u': // change what is reported, not what matches
		default:
			return "", fmt.Errorf("flag %c has no form here", f)
		}
	}
	body, err := rewriteEscapes(pattern, jsEscape)
	if err != nil {
		return "", err
	}
	if keep != "" {
		keep = "(?" + sorted(keep) + ")"
	}
	if _, err := regexp.Compile(keep + body); err != nil {
		return "", errors.New("no pattern of this program: look-around, back-references and the like are not known")
	}
	return keep + body, nil
}

func sorted(flags string) string {
	letters := strings.Split(flags, "")
	slices.Sort(letters)
	return strings.Join(letters, "")
}

// jsEscape rewrites one escape of JavaScript; the letters Go gives another
// meaning are refused.
func jsEscape(c byte, inClass bool) (string, error) {
	switch {
	case c == 's' && inClass:
		return jsSpace, nil
	case c == 's':
		return "[" + jsSpace + "]", nil
	case c == 'S' && !inClass:
		return "[^" + jsSpace + "]", nil
	case c == 'b' && inClass:
		return `\x08`, nil
	case strings.IndexByte("dDwWbBnrtfvx", c) >= 0:
		return `\` + string(c), nil
	case c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z':
		return `\` + string(c), nil
	}
	return "", fmt.Errorf(`\%c has no form here`, c)
}

// goEscape rewrites one escape of Go for JavaScript.
func goEscape(c byte, inClass bool) (string, error) {
	switch {
	case c == 's' && inClass:
		return goSpace, nil
	case c == 's':
		return "[" + goSpace + "]", nil
	case c == 'S' && !inClass:
		return "[^" + goSpace + "]", nil
	case strings.IndexByte("dDwWnrtfv", c) >= 0, !inClass && (c == 'b' || c == 'B'):
		return `\` + string(c), nil
	case c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z':
		return `\` + string(c), nil
	}
	return "", fmt.Errorf(`\%c has no form in JavaScript`, c)
}

// rewriteEscapes walks over a pattern and hands every escape to rule. Groups
// with flags, POSIX classes and a class that JavaScript and Go begin
// differently are refused: the two would read them differently.
func rewriteEscapes(pattern string, rule func(c byte, inClass bool) (string, error)) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			if pattern[i] >= 0x80 {
				return "", errors.New("an escaped letter has no form here")
			}
			text, err := rule(pattern[i], inClass)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			continue
		case inClass && c == '[':
			b.WriteString(`\[`) // Go would look for a class by name
			continue
		case !inClass && c == '[':
			inClass = true
			if rest := strings.TrimPrefix(pattern[i+1:], "^"); strings.HasPrefix(rest, "]") {
				return "", errors.New("an empty class has no form here")
			}
		case c == ']':
			inClass = false
		case c == '(' && !inClass:
			if err := plainGroup(pattern[i+1:]); err != nil {
				return "", err
			}
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// plainGroup lets (…), (?:…) and (?<name>…) through.
func plainGroup(rest string) error {
	if !strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "?:") {
		return nil
	}
	if strings.HasPrefix(rest, "?<") && !strings.HasPrefix(rest, "?<=") && !strings.HasPrefix(rest, "?<!") {
		return nil
	}
	return errors.New("a group of this kind has no form here")
}

// goFlags are the flags a pattern of Go begins with.
var goFlags = regexp.MustCompile(`^\(\?([ims]+)\)`)

// toJS turns patterns of Go, of which any may match, into one of JavaScript. A
// pattern with flags that the others cannot bear is an error.
func toJS(patterns []string) (pattern, flags string, err error) {
	var bodies []string
	var all string
	for _, p := range patterns {
		own := ""
		if m := goFlags.FindStringSubmatch(p); m != nil {
			own, p = m[1], p[len(m[0]):]
		}
		if strings.Contains(p, "[:") {
			return "", "", errors.New("a class by name has no form in JavaScript")
		}
		if strings.IndexFunc(p, func(r rune) bool { return r > 0xffff }) >= 0 {
			return "", "", errors.New("a character beyond the first plane has no form in JavaScript without its flag u")
		}
		body, err := rewriteEscapes(p, goEscape)
		if err != nil {
			return "", "", err
		}
		bodies = append(bodies, body)
		all += own
	}
	for _, f := range "ims" {
		if strings.ContainsRune(all, f) {
			flags += string(f)
		}
	}
	for i, p := range patterns {
		if err := bears(p, bodies[i], flags); err != nil {
			return "", "", err
		}
	}
	if len(bodies) == 1 {
		return bodies[0], flags, nil
	}
	return "(?:" + strings.Join(bodies, ")|(?:") + ")", flags, nil
}

// bears reports whether a pattern means the same under all flags: i always
// matters, m only where a line begins or ends, s only where any character may
// stand.
func bears(pattern, body, flags string) error {
	own := ""
	if m := goFlags.FindStringSubmatch(pattern); m != nil {
		own = m[1]
	}
	for f, minds := range map[string]bool{"i": true, "m": strings.ContainsAny(body, "^$"), "s": strings.Contains(body, ".")} {
		if strings.Contains(flags, f) && !strings.Contains(own, f) && minds {
			return fmt.Errorf("patterns of which some have the flag %s have no form in JavaScript", f)
		}
	}
	return nil
}

// alternatives splits (?:…)|(?:…) into its parts, each with the flags of the
// whole. Anything else is one part.
func alternatives(pattern string) []string {
	flags := goFlags.FindString(pattern)
	rest := pattern[len(flags):]
	var out []string
	for strings.HasPrefix(rest, "(?:") {
		end := closing(rest)
		if end < 0 {
			break
		}
		out = append(out, flags+rest[3:end])
		rest = rest[end+1:]
		if rest == "" && len(out) > 1 {
			return out
		}
		var more bool
		if rest, more = strings.CutPrefix(rest, "|"); !more {
			break
		}
	}
	return []string{pattern}
}

// closing is the place of the bracket that closes the one a pattern begins
// with, -1 where there is none.
func closing(pattern string) int {
	depth, inClass := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case inClass:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
