import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Environment, readSettings, type Settings, settingTable } from './settings.ts';
import { renderSettings, renderSettingsPage, showSettings } from './settings-page.ts';

function noFile(path: string): string {
  throw new Error(`no file ${path}`);
}

function settingsFrom(env: Environment, readFile = noFile): Settings {
  const result = readSettings(env, readFile);
  assert.ok(result.ok, result.ok ? '' : result.problems.join('\n'));
  return result.settings;
}

function problemsFrom(env: Environment, readFile = noFile): readonly string[] {
  const result = readSettings(env, readFile);
  return result.ok ? [] : result.problems;
}

const production: Environment = {
  UNDERPASS_PRODUCTION: 'true',
  UNDERPASS_ORIGIN: 'https://underpass.example.com',
  UNDERPASS_OPERATOR_EMAIL: 'ops@example.com',
  UNDERPASS_MAIL_FROM: 'Underpass <no-reply@example.com>',
  UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  UNDERPASS_ACME_DIRECTORY: 'https://acme.example.com/directory',
  UNDERPASS_DATA_PLANE_HOST: 'eu.example.com',
  UNDERPASS_WILDCARD_DOMAIN: 'tunnels.example.com',
  SMTP_URL: 'smtps://user:pa55word@mail.example.com',
};

describe('readSettings', () => {
  test('an empty environment gives the laptop defaults', () => {
    const settings = settingsFrom({ HOME: '/home/ann' });
    assert.equal(settings.role, 'all');
    assert.equal(settings.home, '/home/ann/.local/state/underpass');
    assert.deepEqual([settings.port, settings.edgeHttpsPort, settings.edgeHttpPort], [8400, 8443, 8480]);
    assert.equal(settings.origin, 'http://localhost:8400');
    assert.equal(settings.publicHttpsPort, 8443);
    assert.equal(settings.listen, '127.0.0.1');
    assert.equal(settings.databaseUrl, undefined);
  });

  test('derived defaults follow the settings that they come from', () => {
    const settings = settingsFrom({ UNDERPASS_PORT: '9000', UNDERPASS_EDGE_HTTPS_PORT: '9443' });
    assert.equal(settings.origin, 'http://localhost:9000');
    assert.equal(settings.publicHttpsPort, 9443);
  });

  test('an empty variable counts as not set', () => {
    assert.equal(settingsFrom({ UNDERPASS_PORT: '' }).port, 8400);
  });

  test('all problems are reported at once, each by name', () => {
    const problems = problemsFrom({
      UNDERPASS_PORT: 'http',
      UNDERPASS_ROLE: 'boss',
      DATABASE_URL: 'mysql://x',
      UNDERPASS_DNS_SERVERS: 'one',
    });
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[0]),
      ['UNDERPASS_ROLE', 'UNDERPASS_PORT', 'DATABASE_URL', 'UNDERPASS_DNS_SERVERS'],
    );
  });

  const refused: readonly [name: string, value: string, why: string][] = [
    ['UNDERPASS_PORT', '65536', 'over the last port'],
    ['UNDERPASS_PORT', '-1', 'negative'],
    ['UNDERPASS_PORT', '0x50', 'not decimal'],
    ['UNDERPASS_PORT', '80 ', 'white space'],
    ['UNDERPASS_PORT', 'tcp://10.0.0.1:80', 'what a Kubernetes service link would put there'],
    ['UNDERPASS_ORIGIN', 'https://example.com/path', 'a path'],
    ['UNDERPASS_ORIGIN', 'https://example.com:6667', 'a port that browsers refuse'],
    ['UNDERPASS_PUBLIC_HTTPS_PORT', '10080', 'a port that browsers refuse'],
    ['UNDERPASS_ORIGIN', 'ftp://example.com', 'another scheme'],
    ['UNDERPASS_ORIGIN', 'https://user@example.com', 'credentials'],
    ['UNDERPASS_LISTEN', 'localhost', 'a name'],
    ['UNDERPASS_LISTEN', '127.0.0.1:80', 'a port'],
    ['UNDERPASS_TRUSTED_PROXIES', '10.0.0.0/33', 'prefix over the family'],
    ['UNDERPASS_TRUSTED_PROXIES', '10.0.0.0/08', 'leading zero'],
    ['UNDERPASS_TRUSTED_PROXIES', '10.0.0.0/8/8', 'two prefixes'],
    ['UNDERPASS_TRUSTED_BALANCERS', 'fe80::1%eth0', 'a zone'],
    ['UNDERPASS_DNS_SERVERS', '192.0.2.1:0', 'port 0'],
    ['UNDERPASS_DNS_SERVERS', '[2001:db8::1', 'half a bracket'],
    ['UNDERPASS_REGION', 'EU', 'upper case'],
    ['UNDERPASS_DATA_PLANE_HOST', 'a..b', 'an empty label'],
    ['UNDERPASS_DATA_PLANE_HOST', 'edge', 'one label'],
    ['UNDERPASS_WILDCARD_DOMAIN', '*.example.com', 'an asterisk'],
    ['UNDERPASS_OPERATOR_EMAIL', 'root@localhost', 'a host without a dot'],
    ['UNDERPASS_MASTER_KEY', 'c2hvcnQ=', 'too few bytes'],
    ['UNDERPASS_MASTER_KEY', Buffer.alloc(33).toString('base64'), 'too many bytes'],
    ['UNDERPASS_PRODUCTION', 'maybe', 'neither true nor false'],
    ['SMTP_URL', 'https://mail', 'another scheme'],
    ['UNDERPASS_SECURITY_CONTACT', 'ops@example.com', 'no scheme'],
    ['UNDERPASS_HOP_ADDRESS', 'edge-1', 'no port'],
  ];
  for (const [name, value, why] of refused) {
    test(`refuses ${name}="${value}": ${why}`, () => {
      assert.ok(problemsFrom({ [name]: value }).some((problem) => problem.startsWith(`${name} `)));
    });
  }

  test('addresses come with and without ports, in both families', () => {
    const { dnsServers } = settingsFrom({ UNDERPASS_DNS_SERVERS: '192.0.2.1, 192.0.2.2:5353 [2001:db8::1]:54 2001:db8::2' });
    assert.deepEqual(dnsServers, [
      { address: '192.0.2.1', port: 53 },
      { address: '192.0.2.2', port: 5353 },
      { address: '2001:db8::1', port: 54 },
      { address: '2001:db8::2', port: 53 },
    ]);
  });

  test('accepts several master keys, so that a key change never leaves a secret unreadable', () => {
    const keys = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')).join(',');
    assert.equal(settingsFrom({ UNDERPASS_MASTER_KEY: keys }).masterKey, keys);
  });

  test('a secret may come from a file, without its last newline', () => {
    const settings = settingsFrom(
      { DATABASE_URL_FILE: '/run/secrets/db' },
      (path) => `postgres://u:p@${path.split('/').pop()}\n`,
    );
    assert.equal(settings.databaseUrl, 'postgres://u:p@db');
  });

  test('a secret given twice, or in a file that cannot be read, is refused by name', () => {
    assert.match(problemsFrom({ SMTP_URL: 'smtp://a', SMTP_URL_FILE: '/x' }).join(), /^SMTP_URL is set twice/);
    assert.match(problemsFrom({ SMTP_URL_FILE: '/x' }).join(), /^SMTP_URL cannot be read from the file "\/x"/);
  });

  test('warns about a misspelt setting', () => {
    const result = readSettings({ UNDERPASS_PROT: '80', UNDERPASS_TOKEN: 'of the client' }, noFile);
    assert.ok(result.ok);
    assert.deepEqual(result.warnings, ['UNDERPASS_PROT is not a setting; run underpass-server config to see them all']);
  });

  test('warns about an origin at which no browser runs the bot check', () => {
    const warningsFor = (origin: string) => {
      const result = readSettings({ UNDERPASS_ORIGIN: origin }, noFile);
      return result.ok && result.warnings.length;
    };
    assert.equal(warningsFor('http://underpass.lan:8400'), 1);
    for (const fine of ['https://underpass.lan:8443', 'http://localhost:8400', 'http://127.0.0.1:8400', 'http://a.localhost'])
      assert.equal(warningsFor(fine), 0, fine);
  });

  test('never throws, for any text', () => {
    const names = Object.values(settingTable).map((row) => row.name);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), (name, value) => {
        readSettings({ [name]: value }, noFile);
      }),
    );
  });
});

describe('production', () => {
  test('complete settings are accepted, by either switch', () => {
    assert.deepEqual(problemsFrom(production), []);
    assert.deepEqual(problemsFrom({ ...production, UNDERPASS_PRODUCTION: undefined, NODE_ENV: 'production' }), []);
  });

  test('every laptop default is refused, and each setting is named', () => {
    const text = problemsFrom({ NODE_ENV: 'production' }).join('\n');
    for (const name of Object.keys(production).filter((each) => each !== 'UNDERPASS_PRODUCTION')) {
      assert.match(text, new RegExp(`^(UNDERPASS_\\w+ or )?${name} `, 'm'));
    }
  });

  for (const name of Object.keys(production).filter((each) => each !== 'UNDERPASS_PRODUCTION')) {
    test(`refuses to go without ${name}`, () => {
      const problems = problemsFrom({ ...production, [name]: undefined });
      assert.equal(problems.length, 1);
      assert.ok(problems[0]?.startsWith(name));
    });
  }

  test('several control processes need a database, a bus and one key', () => {
    const names = problemsFrom({ UNDERPASS_REPLICAS: '2' }).map((problem) => problem.split(' ')[0]);
    assert.deepEqual(names, ['DATABASE_URL', 'NATS_URL', 'UNDERPASS_MASTER_KEY']);
  });

  test('an edge asks only for what an edge needs', () => {
    const edge = { NODE_ENV: 'production', UNDERPASS_ROLE: 'edge' };
    assert.deepEqual(
      problemsFrom(edge).map((problem) => problem.split(' ')[0]),
      ['UNDERPASS_CONTROL_URL', 'UNDERPASS_EDGE_KEY', 'UNDERPASS_DATA_PLANE_HOST'],
    );
    const complete = {
      ...edge,
      UNDERPASS_DATA_PLANE_HOST: 'eu.example.com',
      UNDERPASS_CONTROL_URL: 'https://control.example.com',
      UNDERPASS_EDGE_KEY: 'k'.repeat(32),
    };
    assert.deepEqual(problemsFrom(complete), []);
  });
});

describe('what is printed', () => {
  test('docs/settings.md is what the table prints', () => {
    const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    assert.equal(page, renderSettingsPage(), 'run: node server/main.ts config --markdown > docs/settings.md');
  });

  test('a zone for proofs of wildcards needs an authority that looks there, and a program something to change', () => {
    const [hook, zone] = [{ UNDERPASS_ACME_DNS_HOOK: '/bin/hook' }, { UNDERPASS_ACME_CHALLENGE_ZONE: 'proofs.example.net' }];
    const { UNDERPASS_ACME_DIRECTORY } = production;
    assert.deepEqual(problemsFrom({ ...hook, ...zone, UNDERPASS_ACME_DIRECTORY }), []);
    assert.match(
      problemsFrom({ ...hook, ...zone }).join('\n'),
      /^UNDERPASS_ACME_CHALLENGE_ZONE needs UNDERPASS_ACME_DIRECTORY.*$/,
    );
    assert.match(problemsFrom({ ...hook, UNDERPASS_ACME_DIRECTORY }).join('\n'), /^UNDERPASS_ACME_DNS_HOOK needs .*_ZONE.*$/);
  });

  test('no secret is ever shown, not even inside an address or beside problems', () => {
    const env = {
      ...production,
      DATABASE_URL: 'postgres://ann:hunter2@db/underpass',
      UNDERPASS_ACME_DIRECTORY: 'https://ann:hunter2@acme.example.com/',
      UNDERPASS_EDGE_KEY: 'hunter2hunter2hunter2',
    };
    for (const extra of [{}, { UNDERPASS_PORT: 'x' }]) {
      const text = renderSettings(showSettings({ ...env, ...extra }, noFile));
      assert.doesNotMatch(text, /hunter2|BwcHBwcH|pa55word/);
      assert.match(text, /DATABASE_URL +\(hidden\)/);
    }
  });

  test('each row says whether its value is the default', () => {
    const shown = showSettings({ UNDERPASS_PORT: '9000' }, noFile);
    assert.deepEqual(
      shown.filter((row) => row.from === 'environment').map((row) => [row.name, row.value]),
      [['UNDERPASS_PORT', '9000']],
    );
    assert.equal(shown.length, Object.keys(settingTable).length);
  });
});
