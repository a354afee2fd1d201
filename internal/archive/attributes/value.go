package attributes

// State is what .gitattributes say of one attribute and one path
// (gitattributes(5)).
type State byte

// The states.
const (
	Unspecified State = iota // not mentioned, or "!name"
	Set                      // "name"
	Unset                    // "-name"
	Valued                   // "name=value"
)

// Value is an attribute of a path. The zero value is unspecified.
type Value struct {
	State State
	Text  string // of Valued
}

// IsSet reports whether the attribute is set to true, without a value.
func (v Value) IsSet() bool { return v.State == Set }

// Is reports whether the attribute has this value.
func (v Value) Is(text string) bool { return v.State == Valued && v.Text == text }

// Attributes are those of one path that an archive depends on, by their [ID].
type Attributes [outputs]Value
