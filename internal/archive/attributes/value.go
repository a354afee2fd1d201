package attributes

// State is the state of one attribute for one path (gitattributes(5)).
type State byte

// States of an attribute, with their notations.
const (
	Unspecified State = iota // not mentioned, or "!name"
	Set                      // "name"
	Unset                    // "-name"
	Valued                   // "name=value"
)

// Value is the value of an attribute for a path. The zero value is unspecified.
type Value struct {
	State State
	Text  string // of Valued
}

// IsSet reports whether the attribute is set to true, without a value.
func (v Value) IsSet() bool { return v.State == Set }

// Is reports whether the attribute has this value.
func (v Value) Is(text string) bool { return v.State == Valued && v.Text == text }

// Attributes are the attributes of one path that affect an archive, by [ID].
type Attributes [outputs]Value
