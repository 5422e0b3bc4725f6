package vault

import "errors"

// ErrDamaged: what is in a vault is not what was kept there.
var ErrDamaged = errors.New("it is damaged")

// ErrNone: there is no whole set of that name, or no such part in it.
var ErrNone = errors.New("there is no such set")
