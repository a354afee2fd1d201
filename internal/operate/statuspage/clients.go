package statuspage

import "github.com/repomcp/repomcp/internal/operate/clientconfig"

// tokenVariable is the environment variable of the instructions. The page knows no tokens.
const tokenVariable = "REPOMCP_TOKEN" //nolint:gosec // a name

// instruction is a text to copy for a client.
type instruction struct{ Name, Place, Text string }

// instructions returns what adds a server to each client: a command of the client, or the content of
// its file.
func instructions(endpoint string, tokens bool) []instruction {
	server := clientconfig.Server{Name: clientconfig.DefaultName, URL: endpoint}
	if tokens {
		server.TokenVariable = tokenVariable
	}
	var list []instruction
	for i := range clientconfig.Clients {
		client := &clientconfig.Clients[i]
		if command := client.Command(server); command != "" {
			list = append(list, instruction{client.Name, "In a terminal", command})
			continue
		}
		list = append(list, instruction{client.Name, "In " + client.Files.Shown(), client.Example(server)})
	}
	return list
}
