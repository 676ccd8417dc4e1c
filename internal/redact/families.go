package redact

import (
	"bytes"
	"strings"
)

// class is a set of bytes that a part of a secret is made of.
type class int

const (
	alnum     class = iota
	base64URL       // letters, digits, - and _
	base64Any       // what may stand in a bearer token
	value           // a word up to white space, a quote or a backslash
	line            // words up to the end of the line, a quote or a backslash
	joint           // what may stand between a key and its value
	pemBody         // base64 and line ends, also as JSON writes them
	pemText         // the same with header lines
	classCount
)

// members answers has by a look into a table; it is made once and never changes.
var members = func() (table [classCount][256]bool) {
	for c := range classCount {
		for b := range 256 {
			table[c][b] = c.has(byte(b))
		}
	}
	return table
}()

func (c class) has(b byte) bool {
	letter := 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9'
	switch c {
	case alnum:
		return letter
	case base64URL:
		return letter || b == '-' || b == '_'
	case base64Any:
		return letter || strings.IndexByte("-_.~+/=", b) >= 0
	case value:
		return b > ' ' && b != 0x7f && strings.IndexByte("\"'`\\<>", b) < 0
	case line:
		return b >= ' ' && b != 0x7f && strings.IndexByte("\"'`\\", b) < 0
	case joint:
		return strings.IndexByte(" \t\"'\\]:=>", b) >= 0
	case pemBody:
		return letter || strings.IndexByte("+/= \t\r\n\\", b) >= 0
	case pemText:
		return letter || strings.IndexByte("+/= \t\r\n\\-:,.()", b) >= 0
	}
	return false
}

// prefixed are the families that are known by how they begin.
var prefixed = [...]struct {
	label    string
	least    int // bytes that must follow
	prefixes []string
}{
	{"anthropic", 8, []string{"sk-ant-"}},
	{"slack", 8, []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}},
	{"github", 16, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
	{"stripe", 16, []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}},
	{"oauth", 16, []string{"ya29."}},
}

// keys are what secrets are known by when they have no form of their own. No
// label may contain a key, or a second pass would find more.
var keys = [...]struct {
	label string
	least int // bytes of the value
	names []string
}{
	{"header", 8, []string{"authorization", "x-api-key"}},
	{"oauth", 16, []string{"access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token", "client_secret", "clientsecret"}},
	{"aws", 16, []string{"aws_secret_access_key", "secretaccesskey", "aws_session_token"}},
}

// families are the forms of secrets that give themselves away. None asks what
// stands before: in JSON a key may follow the "n" of an escaped line end.
func families() []rule {
	var rules []rule
	for _, f := range prefixed {
		for _, p := range f.prefixes {
			rules = append(rules, rule{prefix: p, label: f.label, rest: token(base64URL, f.least)})
		}
	}
	for _, k := range keys {
		for _, name := range k.names {
			rules = append(rules, rule{prefix: name, fold: true, label: k.label, rest: keyed(k.least)})
		}
	}
	return append(rules,
		rule{prefix: "AKIA", label: "aws", rest: accessKeyID},
		rule{prefix: "ASIA", label: "aws", rest: accessKeyID},
		rule{prefix: "hooks.slack.com/services/", label: "slack", rest: token(base64Any, 16)},
		rule{prefix: "bearer ", fold: true, label: "bearer", rest: token(base64Any, 20)},
		rule{prefix: "eyJ", label: "jwt", rest: jwt},
		rule{prefix: "-----BEGIN ", label: "private-key", rest: privateKey},
	)
}

// token is a prefix followed by at least least bytes of a class.
func token(c class, least int) func(t *text, start, after int) match {
	return func(t *text, start, after int) match {
		end := t.run(c, after)
		m := match{from: start, more: end == len(t.data)}
		if end-after >= least {
			m.to = end
		}
		return m
	}
}

// accessKeyID is exactly sixteen capitals and digits after the prefix.
func accessKeyID(t *text, start, after int) match {
	for end := after; end < after+16; end++ {
		if end == len(t.data) {
			return match{more: true}
		}
		if b := t.data[end]; (b < 'A' || b > 'Z') && (b < '0' || b > '9') {
			return match{}
		}
	}
	return match{from: start, to: after + 16}
}

// jwt is two or more further parts in base64, joined by dots. The signature may
// be empty.
func jwt(t *text, start, after int) match {
	end := t.run(base64URL, after)
	parts := 1
	for ; end < len(t.data) && t.data[end] == '.'; parts++ {
		from := end + 1
		end = t.run(base64URL, from)
		if parts == 1 && end < len(t.data) && end-from < 4 {
			return match{}
		}
	}
	m := match{from: start, more: end == len(t.data)}
	if parts >= 3 && end-start >= 24 {
		m.to = end
	}
	return m
}

// keyed is a value of at least least bytes behind a key, as headers, JSON and
// assignments write it. The key stays, so that one can see what was there.
func keyed(least int) func(t *text, start, after int) match {
	return func(t *text, _, after int) match {
		from := t.run(joint, after)
		if from == len(t.data) {
			return match{more: true}
		}
		if !bytes.ContainsAny(t.data[after:from], ":=") {
			return match{}
		}
		end := t.run(value, from)
		if end < len(t.data) && t.data[end] == ' ' && scheme(t.data[from:end]) {
			end = t.run(line, from)
		}
		m := match{from: from, more: end == len(t.data)}
		if end-from >= least && !marker(t.data[from:end]) {
			m.to = end
		}
		return m
	}
}

// marker reports whether a value is what an earlier pass put in its place, one marker
// or several.
func marker(v []byte) bool {
	for len(v) > 0 {
		rest, ok := bytes.CutPrefix(v, []byte("[redacted:"))
		end := bytes.IndexByte(rest, ']')
		if !ok || end < 0 {
			return false
		}
		v = rest[end+1:]
	}
	return true
}

// scheme reports whether word opens a value of several words.
func scheme(word []byte) bool {
	switch strings.ToLower(string(word)) {
	case "bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256":
		return true
	}
	return false
}

// privateKey is a PEM block to its last line, or as much of one as is there.
func privateKey(t *text, start, after int) match {
	const end = "-----END "
	head := t.data[after:min(after+64, len(t.data))]
	dashes := bytes.Index(head, []byte("-----"))
	if dashes < 0 {
		return match{more: len(head) < 64}
	}
	if !bytes.Contains(head[:dashes], []byte("PRIVATE KEY")) {
		return match{}
	}
	body := after + dashes + 5
	stop := t.run(pemText, body)
	m := match{from: start, more: stop == len(t.data)}
	if i := bytes.Index(t.data[body:stop], []byte(end)); i >= 0 {
		tail := body + i + len(end)
		if j := bytes.Index(t.data[tail:stop], []byte("-----")); j >= 0 {
			return match{from: start, to: tail + j + 5}
		}
		m.to = tail
		return m
	}
	// A block cut off in the middle. A backslash at its end belongs to the quote
	// behind it.
	stop = t.run(pemBody, body)
	for stop > body && t.data[stop-1] == '\\' {
		stop--
	}
	m.to = stop
	return m
}
