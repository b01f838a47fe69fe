import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { readHead } from './core/head.ts';
import { createTestLog, requestOf } from './fixture/exchanges.ts';
import { summarize } from './view.ts';
import { createSignatureCheck, parseSecrets } from './webhook.ts';

/** Examples of the services' own documents. */
const documented = {
  github: {
    secret: "It's a Secret to Everybody",
    body: 'Hello, World!',
    headers: { 'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    at: null,
  },
  slack: {
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    headers: {
      'X-Slack-Request-Timestamp': '1531420618',
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    at: 1_531_420_618,
  },
  'standard-webhooks': {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    body: '{"test": 2432232314}',
    headers: {
      'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'Webhook-Timestamp': '1614265330',
      'Webhook-Signature': 'v1,wrong v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    at: 1_614_265_330,
  },
  stripe: {
    secret: 'whsec_test',
    body: '{"id":"evt_1"}',
    headers: {
      'Stripe-Signature': `t=1700000000,v0=old,v1=${createHmac('sha256', 'whsec_test').update('1700000000.{"id":"evt_1"}').digest('hex')}`,
    },
    at: 1_700_000_000,
  },
} as const;

function check(
  given: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  secrets: string,
  atSeconds: number | null,
) {
  const { clock, exchange } = createTestLog();
  if (atSeconds !== null) clock.at = atSeconds * 1_000 - 1_700_000_000_000;
  const kept = exchange(requestOf(given.headers, given.body));
  return createSignatureCheck(parseSecrets(secrets))(kept, readHead(kept.requestHead));
}

for (const [scheme, example] of Object.entries(documented)) {
  describe(`a signature of ${scheme}`, () => {
    const secrets = `# comment\nanother\n\n${example.secret}\r\n`;
    it('is valid with the right secret among several', () => {
      const found = check(example, secrets, example.at);
      assert.deepEqual([found?.scheme, found?.outcome], [scheme, 'valid']);
    });
    it('is invalid with another body, another secret, or no hash in it', () => {
      assert.equal(check({ ...example, body: `${example.body} ` }, secrets, example.at)?.outcome, 'invalid');
      assert.equal(check(example, 'another', example.at)?.outcome, 'invalid');
      const headers = Object.fromEntries(
        Object.entries(example.headers).map(([name, value]) => [name, name.endsWith('mp') || name.endsWith('Id') ? value : 'x']),
      );
      assert.equal(check({ ...example, headers }, secrets, example.at)?.outcome, 'invalid');
    });
    it('is unchecked without a secret, and if the body was cut', () => {
      assert.equal(check(example, '', example.at)?.outcome, 'unchecked');
      assert.equal(check({ ...example, body: 'x'.repeat(1_100_000) }, secrets, example.at)?.outcome, 'unchecked');
    });
    if (example.at !== null) {
      it('is late outside five minutes, before and after, and the times are shown', () => {
        for (const offset of [301, -301]) {
          const found = check(example, secrets, example.at + offset);
          assert.equal(found?.outcome, 'late');
          assert.match(found.explanation, /301 seconds .*; 300 are allowed/);
        }
        assert.equal(check(example, secrets, example.at + 300)?.outcome, 'valid');
      });
    }
  });
}

describe('a request without a signature', () => {
  it('has no check', () => {
    const { exchange } = createTestLog();
    assert.equal(summarize(exchange(requestOf({}, 'x')), createSignatureCheck(['s'])).signature, null);
  });
});
