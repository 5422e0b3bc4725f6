package digest

import "strings"

// folded breaks a line at blanks where it is wider than a page. What follows stands below the text behind the line's title.
func folded(line string, columns int) []string {
	at, last, visible := 0, -1, 0
	for at < len(line) {
		if line[at] == '\x1b' { // a colour takes no room
			if m := strings.IndexByte(line[at:], 'm'); m >= 0 {
				at += m + 1
				continue
			}
		}
		if visible == columns {
			break
		}
		if line[at] == ' ' {
			last = at
		}
		for at++; at < len(line) && line[at]&0xc0 == 0x80; at++ {
		}
		visible++
	}
	indent := hanging(line)
	if at < len(line) && line[at] == ' ' {
		last = at
	}
	if at >= len(line) || last <= indent {
		return []string{line}
	}
	rest := strings.Repeat(" ", indent) + strings.TrimLeft(line[last:], " ")
	return append([]string{strings.TrimRight(line[:last], " ")}, folded(rest, columns)...)
}

// hanging is where the text behind a line's title begins: behind the first two blanks in a row, if that is not far in.
func hanging(line string) int {
	const most = 14
	text := strings.TrimLeft(line, " ")
	lead := len(line) - len(text)
	if title := strings.Index(text, "  "); title > 0 && lead == 0 || title > 0 && lead+title < most {
		behind := len(line) - len(strings.TrimLeft(text[title:], " "))
		if behind <= most {
			return behind
		}
	}
	return lead
}
