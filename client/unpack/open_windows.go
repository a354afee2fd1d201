package unpack

// unpolled is not needed here, and the flag of other systems means something else.
const unpolled = 0
