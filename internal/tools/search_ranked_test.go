package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// found returns the paths of a result of search_code, and the bytes of its texts and of its data.
func (s *site) found(arguments args) (r reply, paths []string, texts, data int) {
	s.t.Helper()
	r = s.call("search_code", arguments)
	if r.failed {
		s.t.Fatalf("%v: %s", arguments, r.text)
	}
	for _, f := range r.data["files"].([]any) {
		paths = append(paths, f.(map[string]any)["path"].(string))
	}
	return r, paths, len(r.text), len(roundTrip[rawText](s.t, r.data))
}

// A shop in some languages, for questions that use other words than its files as well.
var shop = []string{
	"shop/cart.py", "class Cart:\n    \"\"\"Items that a customer wants to buy.\"\"\"\n    def add_item(self, item, count=1):\n" +
		"        self.items[item] = self.items.get(item, 0) + count\n    def total_price(self):\n        return sum(i.price for i in self.items)\n",
	"shop/checkout.py", "from shop.cart import Cart\n\ndef place_order(cart, payment):\n    \"\"\"Charge the payment and reserve the stock.\"\"\"\n" +
		"    payment.charge(cart.total_price())\n    for item in cart.items:\n        stock.reserve(item)\n",
	"shop/payment.py", "class PaymentError(Exception): pass\n\nclass CardPayment:\n    def charge(self, amount):\n        # Declined cards are tried again.\n" +
		"        for attempt in range(MAX_RETRIES):\n            if self.gateway.charge(amount): return\n        raise PaymentError(amount)\n",
	"shop/session.py", "def load_session(cookie):\n    data = verify_signature(cookie)\n    if expired(data): return Session()\n    return Session(data)\n",
	"shop/signing.py", "import hmac\n\ndef verify_signature(value):\n    body, mac = value.rsplit('.', 1)\n    if not hmac.compare_digest(mac, sign(body)): raise BadSignature\n    return body\n",
	"shop/stock.py", "def reserve(item):\n    with lock:\n        if available[item] == 0: raise OutOfStock(item)\n        available[item] -= 1\n",
	"web/src/cartView.js", "export function renderCart(cart) {\n  return cart.items.map(renderItem).join('')\n}\n",
	"web/src/debounce.js", "export const debounce = (fn, delay) => {\n  let timer\n  return () => { clearTimeout(timer); timer = setTimeout(fn, delay) }\n}\n",
	"tests/test_payment.py", "def test_charge_again_when_card_declined():\n    payment = CardPayment(gateway=Declining(1))\n    payment.charge(5)\n",
	"tests/test_cart.py", "def test_total_price():\n    cart = Cart()\n    cart.add_item(Item(price=2))\n    assert cart.total_price() == 2\n",
	"CHANGELOG.md", "- carts have a total price, items can be added\n- payment by card, charges are retried when declined\n- sessions expire, cookies are signed and verified\n- stock is reserved when an order is placed\n",
	"docs/guide.md", "Put items into the cart, go to checkout and pay by card. The session lasts a day.\n",
}

func TestQuestionsFindTheirFiles(t *testing.T) {
	s, repo := single(t)
	var files []gittest.File
	for i := 0; i < len(shop); i += 2 {
		files = append(files, gittest.Regular(shop[i], shop[i+1]))
	}
	repo.Commit("main", files...)
	for question, want := range map[string][]string{
		"How does the shop retry a charge when the card was declined?":                    {"shop/payment.py"},
		"Where is the signature of a cookie verified?":                                    {"shop/session.py", "shop/signing.py"},
		"What happens if an item is out of stock while it is being reserved?":             {"shop/stock.py"},
		"which function computes the total price of all items in a cart":                  {"shop/cart.py"},
		"How is a function call delayed, and its timer cleared?":                          {"web/src/debounce.js"},
		"Why does placeOrder reserve stock only after charging the payment?":              {"shop/checkout.py"},
		"What does the `CardPayment.charge()` method raise, and after how many attempts?": {"shop/payment.py"},
	} {
		_, paths, texts, data := s.found(args{"query": question})
		if len(paths) < len(want) || !slices.Equal(paths[:len(want)], want) {
			t.Errorf("%s: %q, want %q first", question, paths, want)
		}
		if texts > 4<<10 || data > 4<<10 {
			t.Errorf("%s: %d bytes of text, %d of data", question, texts, data)
		}
	}
}

// Results keep to their sizes, and their pages have each file once and in order.
func TestRankedResultsAreSmall(t *testing.T) {
	gittest.Long(t)
	s, repo := single(t)
	var files []gittest.File
	for i := range 60 {
		line := "needle " + strings.Repeat("long \"line\" ", 5+i%20) + "\n"
		files = append(files, gittest.Regular(fmt.Sprintf("folder/%s/file%02d.py", strings.Repeat("name", 1+i%9), i),
			strings.Repeat(line, 1+i)))
	}
	repo.Commit("main", files...)
	pages := func(arguments args, most int) (all []string, pages int) {
		for {
			r, paths, texts, data := s.found(arguments)
			all = append(all, paths...)
			pages++
			if texts > most || data > most || texts+data > maxResult {
				t.Errorf("%v: %d bytes of text, %d of data", arguments, texts, data)
			}
			if r.data["nextCursor"] == nil {
				return all, pages
			}
			if !strings.Contains(r.content, r.data["nextCursor"].(string)) {
				t.Errorf("the text does not say how to go on: %s", r.content)
			}
			arguments["cursor"] = r.data["nextCursor"]
		}
	}
	ten, count := pages(args{"query": "needle"}, 4<<10)
	if sorted := slices.Compact(slices.Sorted(slices.Values(ten))); len(ten) != 60 || len(sorted) != 60 || count < 6 {
		t.Errorf("%d files in %d pages, %d different ones", len(ten), count, len(sorted))
	}
	for _, arguments := range []args{{"perPage": 3}, {"perPage": 60}, {"perPage": 500}, {"perPage": 20, "context_lines": 2}} {
		most := 4 << 10
		if arguments["perPage"] != 3 {
			most = maxResult
		}
		arguments["query"] = "needle"
		if got, _ := pages(arguments, most); !slices.Equal(got, ten) {
			t.Errorf("%v: %q, want %q", arguments, got, ten)
		}
	}
	r, paths, _, data := s.found(args{"query": "needle", "perPage": 60})
	if len(paths) <= 10 || data <= 4<<10 {
		t.Errorf("%d files in %d bytes on request: %s", len(paths), data, r.text)
	}
}

func TestRankedLinesAreMarked(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a.py", "x = needle()\n\ndef needle():\n    pass\n# needle\n# needle\n"),
		gittest.Regular("b.txt", "needle\n"))
	for arguments, want := range map[string]string{
		"needle":        "a.py\n  1:5: x = needle()\n  3:5= def needle():\n  5:3: # needle\n  1 line more\nb.txt\n  1:1: needle\n",
		"symbol:needle": "a.py\n  3:5= def needle():\n",
	} {
		r := s.call("search_code", args{"query": arguments})
		if !strings.HasSuffix(r.content, ":\n"+want) || !strings.Contains(r.text, "= marks definitions.") {
			t.Errorf("%s: %s%s, want %s", arguments, r.content, r.text, want)
		}
	}
	if r := s.call("search_code", args{"query": "symbol:needle"}); !strings.Contains(r.text,
		"No patterns for definitions in: 1 file with the name.") {
		t.Errorf("%s", r.text)
	}
	if r := s.call("search_code", args{"query": "needle", "context_lines": 1}); !strings.Contains(r.content,
		"  1:5: x = needle()\n  2- \n  3:5= def needle():\n  4-     pass\n") {
		t.Errorf("%s", r.content)
	}
}
