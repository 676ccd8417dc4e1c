package agent

// keyScan reads a stream of JSON lines and tells init and result lines, which
// it knows by the values of "type" and "subtype" at the top of the object,
// wherever in the line they stand. It keeps no line: one of 20 MB costs a pass
// over its bytes and nothing else.
type keyScan struct {
	begun    bool // past the first byte of the line
	noise    bool // the line is not an object
	depth    int
	inString bool
	escaped  bool
	afterKey bool   // past a colon at the top of the object
	text     []byte // of the current string at the top, cut at maxText
	key      string
	typ, sub string
	cut      bool // text was cut, so it equals nothing
}

const maxText = 16 // longer than any name or value looked for

// feed scans the next bytes and calls found for each complete line of interest.
func (k *keyScan) feed(p []byte, found func(lineKind)) {
	for _, c := range p {
		switch {
		case c == '\n':
			if kind, ok := k.kind(); ok {
				found(kind)
			}
			*k = keyScan{text: k.text[:0]}
		case k.noise:
		case k.inString:
			k.inside(c)
		default:
			k.outside(c)
		}
	}
}

func (k *keyScan) kind() (lineKind, bool) {
	switch {
	case k.noise || k.depth != 0:
		return "", false
	case k.typ == "result":
		return lineResult, true
	case k.typ == "system" && k.sub == "init":
		return lineInit, true
	}
	return "", false
}

func (k *keyScan) inside(c byte) {
	switch {
	case k.escaped:
		k.escaped = false
		k.add(c)
	case c == '\\':
		k.escaped = true
	case c == '"':
		k.inString = false
		if k.depth == 1 {
			k.endString()
		}
	default:
		k.add(c)
	}
}

func (k *keyScan) add(c byte) {
	if k.depth != 1 {
		return
	}
	if len(k.text) == maxText {
		k.cut = true
		return
	}
	k.text = append(k.text, c)
}

func (k *keyScan) endString() {
	text := string(k.text)
	if k.cut {
		text = ""
	}
	switch {
	case !k.afterKey:
		k.key = text
	case k.key == "type":
		k.typ = text
	case k.key == "subtype":
		k.sub = text
	}
}

func (k *keyScan) outside(c byte) {
	switch c {
	case ' ', '\t', '\r':
		return
	case '"':
		k.inString, k.cut, k.text = true, false, k.text[:0]
	case '{', '[':
		k.depth++
	case '}', ']':
		k.depth--
	case ':':
		k.afterKey = k.afterKey || k.depth == 1
	case ',':
		k.afterKey = k.afterKey && k.depth != 1
	}
	if !k.begun {
		k.begun, k.noise = true, c != '{'
	}
}
