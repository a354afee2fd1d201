package unpack

// unpolled opens a new file as any: nothing is asked here, and the flag of other
// systems means something else.
const unpolled = 0
