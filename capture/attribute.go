package capture

// stripAttributes takes the query attributes (MySQL 8.0.23) off a statement:
// their number, the number of sets (always 1), and if there are any a bitmap of
// NULLs, a flag, their types and names, and their values. Where the login was
// not seen, what looks like them is taken for them: no statement begins with
// two such characters.
func (s *session) stripAttributes(body []byte, isCut bool) []byte {
	if s.attrs == no || s.attrs == unknown && (len(body) < 2 || body[0] >= ' ' || body[1] != 1) {
		return body
	}
	r := reader{d: body}
	n, sets := r.length(), r.length()
	if r.isShort || sets != 1 || n > uint64(len(body)) {
		return body
	}
	if n == 0 {
		return r.d
	}
	nulls := r.bytes(int(n+7) / 8)
	r.bytes(1)
	types := make([]byte, 0, n)
	for k := uint64(0); k < n && !r.isShort; k++ {
		t := r.bytes(2)
		if !r.isShort {
			types = append(types, t[0])
		}
		r.string()
	}
	for k := 0; k < len(types) && !r.isShort; k++ {
		if nulls[k/8]>>(k%8)&1 == 0 {
			r.value(types[k], false)
		}
	}
	if r.isShort && !isCut {
		return body
	}
	return r.d
}
