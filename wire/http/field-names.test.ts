import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertedFields,
  assertedPrefixes,
  hopFields,
  identityFields,
  isEdgeField,
  messageFields,
  methodFields,
  pathFields,
} from '@underpass/rules/visit/edge-fields.ts';
import fc from 'fast-check';
import { fieldKind, kindOfName } from './field-names.ts';

const names = [
  ...assertedFields,
  ...assertedPrefixes.map((prefix) => `${prefix}x`),
  ...messageFields,
  ...hopFields,
  ...identityFields,
  ...pathFields,
  ...methodFields,
  'x-forwarded-for',
  'x-underpass-user',
];
const others = ['authorization', 'x-api-key', 'x-forwarde', 'x-underpassed', 'accept'];

test('a policy may name exactly the fields that the edge leaves to the service, however their marks are written', () => {
  const name = fc.constantFrom(...names, ...others);
  const mark = fc.constantFrom('-', '_', '.', '!', '~', '');
  fc.assert(
    fc.property(name, mark, fc.constantFrom('', 'a', '-'), (text, by, end) => {
      const written = text.replaceAll('-', by) + end;
      const kind = kindOfName(written);
      assert.equal(isEdgeField(written), kind !== fieldKind.other && kind !== fieldKind.authorization, written);
    }),
    { numRuns: 2_000 },
  );
  for (const owned of names) assert.ok(isEdgeField(owned), owned);
  for (const other of others) assert.ok(!isEdgeField(other), other);
});
