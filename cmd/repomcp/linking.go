package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// deliveryNames are the values of --delivery.
var deliveryNames = map[string]mcp.Delivery{
	"auto": mcp.DeliveryAny, "direct": mcp.DeliveryDirect, "url": mcp.DeliveryURL,
}

type linkFlags struct {
	keyFile  string
	redis    string
	delivery string
	lifetime time.Duration
	manyUses bool
}

func (f *linkFlags) define(set *pflag.FlagSet) {
	set.StringVar(&f.keyFile, "link-key-file", "",
		"file with the keys that sign links, a line each: date, id, base64 of 32 bytes or more; servers that share "+
			"it honour each other's links (default: a key that ends with the process)")
	set.StringVar(&f.redis, "redis", "", "Redis that remembers used links for several servers, as redis://HOST:PORT/DB")
	set.StringVar(&f.delivery, "delivery", "auto",
		"of resources/stream: direct, url, or auto, which gives a URL to clients whose Accept admits no bytes")
	set.DurationVar(&f.lifetime, "link-lifetime", 5*time.Minute, "lifetime of links")
	set.BoolVar(&f.manyUses, "link-many-uses", false, "allow any number of uses of a downloadUrl until it expires")
}

// linking holds a server's links with their parts; empty if the address for links is unknown.
type linking struct {
	resources.Linking
	delivery mcp.Delivery
	keys     *links.Keyring
	redis    *links.Redis
}

// open bases links on the public URL or else, on the loopback interface, on the address of the
// listener. leases says that Redis has another use than links, for the cache.
func (f linkFlags) open(
	publicURL, scheme string, listening net.Addr, leases bool, logger *slog.Logger,
) (*linking, error) {
	delivery, err := f.mode()
	if err != nil {
		return nil, err
	}
	l := new(linking)
	local := publicURL == ""
	if local {
		if at, err := netip.ParseAddrPort(listening.String()); err != nil || !at.Addr().IsLoopback() {
			return l, f.unlinked(delivery, leases)
		}
		publicURL = scheme + "://" + listening.String()
	}
	base, err := links.ParseBase(publicURL)
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--public-url: %w", err))
	}
	if err := l.load(f); err != nil {
		return nil, errors.Join(err, l.close())
	}
	options := links.Options{Keys: l.keys, Base: base, Nonces: links.NewMemory(time.Now)}
	if l.redis != nil {
		options.Nonces = l.redis
	}
	authority, err := links.New(options)
	if err != nil {
		return nil, errors.Join(cli.Misused(err), l.close())
	}
	switch {
	case f.keyFile == "" && !local:
		logger.Info("links end with this process: there is no --link-key-file")
	case f.keyFile != "" && f.redis == "" && !f.manyUses:
		logger.Info("links for one download are good at this server only: there is no --redis")
	}
	l.Linking = resources.Linking{
		Authority: authority, Base: base, Local: local, Lifetime: f.lifetime, ManyUses: f.manyUses,
	}
	l.delivery = delivery
	return l, nil
}

// mode parses --delivery.
func (f linkFlags) mode() (mcp.Delivery, error) {
	delivery, ok := deliveryNames[f.delivery]
	if !ok {
		return delivery, cli.Misused(fmt.Errorf("--delivery %q is none of auto, direct and url", f.delivery))
	}
	return delivery, nil
}

// checkLifetime refuses links that would expire at once, or never.
func (f linkFlags) checkLifetime() error {
	if f.lifetime < time.Second || f.lifetime > links.MaxLifetime {
		return cli.Misused(fmt.Errorf("--link-lifetime must be from 1s to %v", links.MaxLifetime))
	}
	return nil
}

// unlinked refuses settings that require links.
func (f linkFlags) unlinked(delivery mcp.Delivery, leases bool) error {
	if delivery == mcp.DeliveryURL || f.keyFile != "" || f.redis != "" && !leases {
		return cli.Misused(errors.New("links need --public-url, the address under which clients reach the server"))
	}
	return nil
}

// load reads the files, and connects to Redis.
func (l *linking) load(f linkFlags) (err error) {
	if err := f.checkLifetime(); err != nil {
		return err
	}
	if f.keyFile == "" {
		if l.keys, err = links.RandomKeyring(); err != nil {
			return err
		}
	} else if l.keys, err = links.LoadKeyring(f.keyFile); err != nil {
		return cli.Misused(fmt.Errorf("--link-key-file: %w", err))
	}
	if f.redis != "" {
		if l.redis, err = links.NewRedis(f.redis, time.Now); err != nil {
			return cli.Misused(fmt.Errorf("--redis: %w", err))
		}
	}
	return nil
}

func (l *linking) close() error {
	if l.redis == nil {
		return nil
	}
	return l.redis.Close()
}
