// What the legal texts must contain (spec 2, Legal pages; spec 9), for any operator.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { OperatorIdentity } from '@underpass/rules/entity/resource.ts';
import { durations, retentionDays } from '@underpass/rules/limits.ts';
import { type LegalDocument, parseLegalDocument } from './legal-document.ts';

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
const privacyPolicy = (operator: OperatorIdentity) => parseLegalDocument(read('privacy-policy.md'), operator);
const termsOfService = (operator: OperatorIdentity) => parseLegalDocument(read('terms-of-service.md'), operator);

const operatorIdentity = {
  name: 'Example Tunnels Ltd',
  email: 'legal@tunnels.example',
  address: '1 High Street, Leeds',
  companyNumber: '01234567',
};
const small = { name: 'Example Tunnels Ltd', email: 'legal@tunnels.example' };

function sectionText(document: LegalDocument, id: string): string {
  const section = document.sections.find((each) => each.id === id);
  assert.ok(section, `no section ${id}`);
  return section.blocks.map((block) => (typeof block === 'string' ? block : block.join('\n'))).join('\n');
}
const wholeText = (document: LegalDocument): string => document.sections.map(({ id }) => sectionText(document, id)).join('\n');

test('the policy names the three kinds of data that are collected', () => {
  const collected = sectionText(privacyPolicy(operatorIdentity), 'what-we-collect');
  for (const kind of ['Contact information:', 'Tunnel configuration:', 'Logs:']) assert.ok(collected.includes(kind), kind);
});

test('the terms are governed by the law of England and Wales', () => {
  assert.match(sectionText(termsOfService(operatorIdentity), 'governing-law'), /governed by the law of England and Wales/);
});

test('users are 18 or older, in both texts', () => {
  assert.match(sectionText(termsOfService(operatorIdentity), 'eligibility'), /18 or older/);
  assert.match(sectionText(privacyPolicy(operatorIdentity), 'children'), /18 or older/);
});

test('liability is capped at the greater of 100 pounds and the fees of the six months before, and never for death or fraud', () => {
  const liability = sectionText(termsOfService(operatorIdentity), 'liability');
  assert.match(
    liability,
    /the greater of 100 pounds sterling \(£100\) and the fees that you paid us .* in the six months before/,
  );
  assert.match(liability, /Nothing in these terms limits or excludes liability:\nfor death or personal injury/);
});

test('the operator is named with its number and office where they are known, and without them where not', () => {
  for (const document of [privacyPolicy(operatorIdentity), termsOfService(operatorIdentity)]) {
    assert.match(
      wholeText(document),
      /Example Tunnels Ltd, a company registered in England and Wales \(company number 01234567\), whose registered office is at 1 High Street, Leeds/,
    );
  }
  for (const document of [privacyPolicy(small), termsOfService(small)]) {
    assert.doesNotMatch(wholeText(document), /undefined|company number|registered office/);
  }
});

test('the policy states the retention times of the product', () => {
  const retention = sectionText(privacyPolicy(operatorIdentity), 'retention');
  assert.ok(retention.includes(`Sign-in links: ${durations.loginLinkMinutes} minutes`));
  assert.ok(retention.includes(`${durations.generatedNameRestDays} days`));
  assert.ok(retention.includes(`Sign-ins of visitors: ${retentionDays.accessSignIn} days`));
});

test('every section number in the policy refers to the intended section', () => {
  const { sections } = privacyPolicy(operatorIdentity);
  assert.equal(sections[7 - 1]?.id, 'traffic');
  assert.equal(sections[11 - 1]?.id, 'retention');
  assert.equal(sections[13 - 1]?.id, 'your-rights');
  const numbers = [...wholeText(privacyPolicy(operatorIdentity)).matchAll(/section (\d+)/gi)].map(([, number]) => Number(number));
  assert.deepEqual(
    [...new Set(numbers)].sort((a, b) => a - b),
    [7, 11, 13],
  );
});

test('anchors are unique within a text', () => {
  for (const document of [privacyPolicy(operatorIdentity), termsOfService(operatorIdentity)]) {
    const ids = document.sections.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  }
});

test('every placeholder has a value, and every section a title, an anchor and a text', () => {
  for (const document of [privacyPolicy(small), termsOfService(small)]) {
    assert.match(document.updated, /^\d{4}-\d\d-\d\d$/);
    assert.doesNotMatch(wholeText(document), /[{}]/);
    for (const { id, title, blocks } of document.sections) assert.ok(id && title && blocks.length > 0, title);
  }
});
