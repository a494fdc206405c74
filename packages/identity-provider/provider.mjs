// A certified OpenID Connect provider for the tests. What it reads from its input, one JSON object a
// line, changes what it does; it answers each line with a line.
import { createInterface } from 'node:readline';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const { clients, algorithm = 'RS256' } = JSON.parse(process.argv[3]);
const people = new Map();

function makeKey(kid) {
  const pair =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...pair.privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: algorithm };
}

function makeProvider(keys) {
  const provider = new Provider(issuer, {
    clients: clients.map((each) => ({ id_token_signed_response_alg: algorithm, ...each })),
    jwks: { keys },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    // Only the userinfo has them, as many providers do it.
    conformIdTokenClaims: true,
    clockTolerance: 5,
    cookies: { keys: ['tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256'] },
    features: { devInteractions: { enabled: true } },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...(people.get(sub) ?? {}) }),
    }),
    pkce: { required: () => true },
  });
  return provider.callback();
}

const keys = [makeKey('first')];
let answer = makeProvider(keys);
const { createServer } = await import('node:http');
createServer((request, response) => answer(request, response)).listen(port, '127.0.0.1', () =>
  console.log('{"ready":true}'),
);

createInterface({ input: process.stdin }).on('line', (line) => {
  const told = JSON.parse(line);
  for (const [sub, claims] of Object.entries(told.people ?? {})) people.set(sub, claims);
  if (told.rotate) {
    keys.splice(0, keys.length, makeKey(told.rotate));
    answer = makeProvider(keys);
  }
  console.log('{"done":true}');
});
process.stdin.on('end', () => process.exit());
