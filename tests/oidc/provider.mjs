// A real provider of OpenID Connect that can also be told to misbehave.
//
//   node provider.mjs PORT REDIRECT_URI
//
// POST /control {"mode":"ok|forged|none|hs256|expired|aud|nonce|stranger"}   what tokens it gives
// POST /control {"rotate":true}                                             new keys from now on
// POST /control {"groups":{"alice":["ops"]}}                                who is in which group
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

import { calculateJwkThumbprint, exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';

const [port, redirect] = [Number(process.argv[2]), process.argv[3]];
const issuer = `http://127.0.0.1:${port}`;
let mode = 'ok';
let groups = {};
let key; // { jwk, alg, publicKey }
let provider;

async function makeKey(alg) {
  const pair = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(pair.privateKey);
  return { jwk: { ...jwk, alg, use: 'sig', kid: await calculateJwkThumbprint(jwk) }, alg, publicKey: pair.publicKey };
}

const plain = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function sign(claims, by, alg) {
  return new SignJWT(claims).setProtectedHeader({ alg, kid: by.kid }).sign(await importJWK(by, alg));
}

async function spoil(token) {
  const [head, body, signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url'));
  switch (mode) {
    case 'forged':
      return [head, plain({ ...claims, groups: ['admins'] }), signature].join('.');
    case 'none':
      return `${plain({ alg: 'none' })}.${body}.`;
    case 'hs256': {
      const text = `${plain({ alg: 'HS256', kid: key.jwk.kid })}.${body}`;
      return `${text}.${createHmac('sha256', await exportSPKI(key.publicKey)).update(text).digest('base64url')}`;
    }
    case 'expired':
      return sign({ ...claims, iat: claims.iat - 7200, exp: claims.iat - 3600 }, key.jwk, key.alg);
    case 'aud':
      return sign({ ...claims, aud: 'another' }, key.jwk, key.alg);
    case 'nonce':
      return sign({ ...claims, nonce: 'x'.repeat(43) }, key.jwk, key.alg);
    case 'stranger': {
      const other = await makeKey('RS256');
      return sign(claims, other.jwk, 'RS256');
    }
    default:
      return token;
  }
}

function makeProvider() {
  const made = new Provider(issuer, {
    jwks: { keys: [key.jwk] },
    clients: [{
      client_id: 'waybill', client_secret: 's3cret/+ of it', redirect_uris: [redirect],
      id_token_signed_response_alg: key.alg, token_endpoint_auth_method: 'client_secret_basic',
    }],
    pkce: { required: () => true, methods: ['S256'] },
    claims: { openid: ['sub', 'groups'], profile: ['name', 'preferred_username'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['of a test'] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256'] },
    findAccount: (ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: groups[id] || [], name: `${id} of the provider`, preferred_username: id }),
    }),
    async loadExistingGrant(ctx) { // nobody is asked for consent
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  made.use(async (ctx, next) => {
    await next();
    if (ctx.path === '/token' && ctx.body && ctx.body.id_token) {
      ctx.body.id_token = await spoil(ctx.body.id_token);
    }
  });
  return made.callback();
}

async function control(request, response) {
  let text = '';
  for await (const piece of request) text += piece;
  const said = JSON.parse(text);
  if (said.mode) mode = said.mode;
  if (said.groups) groups = said.groups;
  if (said.rotate) {
    key = await makeKey(key.alg === 'RS256' ? 'ES256' : 'RS256');
    provider = makeProvider();
  }
  response.end('{}\n');
}

key = await makeKey('RS256');
provider = makeProvider();
createServer((request, response) => {
  if (request.url === '/control') control(request, response);
  else provider(request, response);
}).listen(port, '127.0.0.1', () => console.log('ready'));
