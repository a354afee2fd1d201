package checkout

// hasModes says that files are executable or not.
const hasModes = false
