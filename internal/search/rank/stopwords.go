package rank

import "strings"

// stopWords join other words in English sentences: pronouns, articles, prepositions, conjunctions,
// auxiliary verbs and question words.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`
		a an the this that these those such
		i me my we us our you your he him his she her it its they them their one
		what which who whom whose where when why how
		of in on at by for with without about against between among into onto through during before after above
		below to from up down out off over under within across via per upon toward towards
		and or but nor so than as if then else because while although though whether however
		is am are was were be been being do does did doing done has have had having
		can could may might must shall should will would cannot
		not no yes there here also too very just only own same other another each every both all any some more most
		many much few several s t`) {
		set[w] = true
	}
	return set
}()
