package links

// IDs lists the ids of the keys, the oldest first.
func (kr *Keyring) IDs() []string {
	var ids []string
	for _, k := range kr.Value() {
		ids = append(ids, k.id)
	}
	return ids
}
