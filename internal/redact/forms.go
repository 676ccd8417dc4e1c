package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// exactForms returns every spelling under which one of the values is looked
// for, in a fixed order.
func exactForms(secrets []string) []string {
	forms := map[string]bool{}
	for _, s := range secrets {
		if len(s) < minExact {
			continue
		}
		for _, spelling := range spellings(s) {
			forms[spelling] = true
		}
		for _, core := range base64Cores(s) {
			// A short core is found in any long blob by chance.
			if len(core) >= 8 {
				forms[core] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(forms))
}

func spellings(s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	all := []string{s, query, path, lowerHex(query), lowerHex(path)}
	for _, plain := range all[:len(all):len(all)] {
		for _, once := range inJSON(plain) {
			// A tool's JSON output is a string in the stream's JSON.
			all = append(all, once)
			all = append(all, inJSON(once)...)
		}
	}
	return all
}

// inJSON returns s as it stands between the quotes of a JSON string: plain, with
// the escapes that protect HTML, and with escaped slashes.
func inJSON(s string) []string {
	var forms []string
	for _, html := range []bool{false, true} {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(html)
		if err := enc.Encode(s); err != nil {
			continue
		}
		text := strings.TrimSuffix(buf.String(), "\n")
		inner := text[1 : len(text)-1]
		forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	return forms
}

func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// base64Cores returns the characters that stand for s in the base64 of any text
// around it, one for each way the bytes can fall into groups of three. The
// characters at both ends are shared with the neighbours and left out.
func base64Cores(s string) []string {
	var cores []string
	shared := [...]int{0, 2, 3}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for lead := range 3 {
			text := enc.EncodeToString([]byte(strings.Repeat("x", lead) + s))
			end := len(text)
			if (lead+len(s))%3 != 0 {
				end--
			}
			cores = append(cores, text[shared[lead]:end])
		}
	}
	return cores
}
