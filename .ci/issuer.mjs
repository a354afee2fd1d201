// A real authorization server on the loopback interface: the Provider of oidc-provider, with dynamic
// registration of clients, PKCE, resource indicators (RFC 8707) and JSON Web Tokens. Its one user
// agrees to everything.

import { createServer } from "node:http";

export const scope = "repomcp:read";

// startIssuer runs an issuer. Its tokens last for lifetime seconds, and those for a resource have
// the scopes that it grants.
export async function startIssuer(Provider, { grants = scope, lifetime = 600 } = {}) {
  let handler;
  const server = createServer((request, response) => handler(request, response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const asked = []; // resources that tokens were asked for
  const provider = new Provider(url, {
    clients: [],
    scopes: ["openid", "offline_access", scope, grants],
    responseTypes: ["code"],
    cookies: { keys: ["of a test"] },
    clientDefaults: { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: () => true,
    extraTokenClaims: () => ({ groups: ["core"] }),
    interactions: { url: (_, interaction) => `/agree/${interaction.uid}` },
    ttl: { AccessToken: lifetime, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 60, RefreshToken: 600, Session: 600 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          asked.push(resource);
          return { scope: grants, audience: resource, accessTokenFormat: "jwt", accessTokenTTL: lifetime, jwt: { sign: { alg: "RS256" } } };
        },
      },
    },
  });
  const serve = provider.callback();
  handler = async (request, response) => {
    if (!request.url.startsWith("/agree/")) {
      return serve(request, response);
    }
    const { params, session } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: "alice", clientId: params.client_id });
    grant.addOIDCScope(`openid offline_access ${scope}`);
    for (const resource of [params.resource].flat().filter(Boolean)) {
      grant.addResourceScope(resource, grants);
    }
    const consent = { grantId: await grant.save() };
    const result = session ? { consent } : { login: { accountId: "alice" }, consent };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  };
  return { url, asked, close: () => { server.closeAllConnections(); server.close(); } };
}

// agree does what the browser of the user does: it follows the issuer's redirects with its cookies,
// up to the client's own address, which it returns.
export async function agree(authorization, home) {
  const jar = new Map();
  for (let at = new URL(authorization), steps = 0; steps < 20; steps++) {
    if (at.href.startsWith(home)) {
      return at.searchParams;
    }
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const reply = await fetch(at, { redirect: "manual", headers: { cookie } });
    for (const line of reply.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      jar.set(name, value);
    }
    if (!reply.headers.has("location")) {
      throw new Error(`${at}: ${reply.status} ${await reply.text()}`);
    }
    at = new URL(reply.headers.get("location"), at);
  }
  throw new Error("the issuer redirects without end");
}
