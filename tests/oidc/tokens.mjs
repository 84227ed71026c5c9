// A provider that gives tokens for client credentials, and says whether a token is good.
//
//   node tokens.mjs PORT LIFE_S          POST /token, POST /token/introspection
//
// POST /control {"revoke":true}      no token of before is good any more
// POST /control {}                   {"given":N}: how many were given
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

const [port, life] = [Number(process.argv[2]), Number(process.argv[3])];
const given = [];
const ways = { basic: 'client_secret_basic', form: 'client_secret_post', receiver: 'client_secret_basic' };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: Object.entries(ways).map(([name, way]) => ({
    client_id: `way bill ${name}`, client_secret: 's3cret/+:% of it', token_endpoint_auth_method: way,
    redirect_uris: [], response_types: [], grant_types: ['client_credentials'], scope: 'orders.write orders.read',
  })),
  scopes: ['orders.write', 'orders.read'],
  ttl: { ClientCredentials: life },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
  },
  cookies: { keys: ['of a test'] },
});
provider.use(async (ctx, next) => {
  await next();
  if (ctx.path === '/token' && ctx.body && ctx.body.access_token) given.push(ctx.body.access_token);
});
const serve = provider.callback();

async function control(request, response) {
  let text = '';
  for await (const piece of request) text += piece;
  if (JSON.parse(text).revoke) {
    for (const text of given) {
      const token = await provider.ClientCredentials.find(text);
      if (token) await token.destroy();
    }
  }
  response.end(JSON.stringify({ given: given.length }));
}

createServer((request, response) => {
  if (request.url === '/control') control(request, response);
  else serve(request, response);
}).listen(port, '127.0.0.1', () => console.log('ready'));
