// Rules about MCP calls: which calls they match, and that an unknown call passes none of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { matchCall, readCall, withoutCalls } from './call-rule.ts';
import { compilePaths } from './path-match.ts';
import type { PathRule } from './path-rule.ts';
import { compileRules } from './rule-match.ts';

test('a rule matches its method and name, and says nothing where servers may differ', (t) => {
  const rows: [string, string, string | null, boolean | null][] = [
    ['tools/list', 'tools/list', null, true],
    ['tools/list', 'tools/call', 'x', false],
    ['tools/list', 'tools/List', null, null],
    ['tools/*', 'tools/call', 'x', true],
    ['tools/*', 'toolsx/call', 'x', false],
    ['tools/call delete_*', 'tools/call', 'delete_', true],
    ['tools/call delete_*', 'tools/call', 'read', false],
    ['tools/call delete_*', 'tools/call', 'DELETE_x', null],
    ['tools/call delete_*', 'tools/call', null, null],
    ['tools/call delete_*', 'tools/list', null, false],
    ['prompts/get my prompt', 'prompts/get', 'my prompt', true],
    ['resources/read file:///open/*', 'resources/read', 'file:///open/../secret', null],
    ['resources/read file:///open/*', 'resources/read', 'file:///open/a%2e', null],
    ['resources/read file:///open/*', 'resources/read', 'file:///open/a.txt', true],
  ];
  eachCase(t, rows, ([pattern, method, name, matches]) => assert.equal(matchCall(pattern, { method, name }), matches));
});

test('reads a call that is plain, and no other', (t) => {
  const rows: [string | null, string | null, boolean][] = [
    ['tools/list', null, true],
    ['ping', null, true],
    ['prompts/get', 'my prompt', true],
    [null, 'x', false],
    ['', null, false],
    ['tools/call', '', false],
    ['tools/*', null, false],
    ['tools/list,tools/call', null, false],
    ['tools/call', '=?base64?eA==?=', false],
    ['tools/call', 'x\ty', false],
    ['tools/call', 'x'.repeat(513), false],
  ];
  eachCase(t, rows, ([method, name, reads]) => assert.equal(readCall(method, name) !== null, reads));
});

const path = fc.constantFrom('/mcp', '/mcp/*', '/*', '/a');
const call = fc.constantFrom('', '#tools/list', '#tools/*', '#tools/call delete_*', '#tools/call read');
const rule = fc.record({ path: path, call, action: fc.constantFrom('public', 'sign-in', 'deny') });
const ruleList = fc
  .array(rule, { maxLength: 6 })
  .map((list) => list.map((each) => ({ path: each.path + each.call, action: each.action }) as PathRule));
const target = fc.constantFrom('/mcp', '/mcp/', '/MCP', '/mcp/x', '/a', '/%6dcp', '/b');

test('a known call is decided by the first rule that matches path and call, an unknown one never more openly than by the path', () => {
  const calls = fc.constantFrom(['tools/list', null], ['tools/call', 'delete_x'], ['tools/call', 'read'], ['x/y', null]);
  fc.assert(
    fc.property(ruleList, target, calls, (rules, where, [method, name]) => {
      const asked = readCall(method as string, name as string | null)!;
      const matching = rules.filter((each) => {
        const [, pattern] = each.path.split('#');
        return pattern === undefined || matchCall(pattern, asked);
      });
      const byPath = matching.map((each) => ({ ...each, path: each.path.replace(/#.*/, '') }));
      const { decide } = compileRules(rules);
      assert.equal(decide(where, 'path', asked).action, compilePaths(byPath)(where).action);
      assert.equal(decide(where, 'path', null).action, compilePaths(withoutCalls(rules))(where).action);
    }),
  );
});

test('rules without a call decide alike for every call, and ask for none', () => {
  const rules: readonly PathRule[] = [{ path: '/a', action: 'public' }];
  assert.equal(compileRules(rules).asksForCall, false);
  assert.equal(compileRules([...rules, { path: '/a#tools/list', action: 'deny' }]).asksForCall, true);
});

test('names the rule as its maker wrote it', () => {
  const rules: readonly PathRule[] = [{ path: '/mcp#tools/list', action: 'public' }];
  assert.equal(compileRules(rules).decide('/mcp', 'path', { method: 'tools/list', name: null }).rule, rules[0]);
  assert.equal(compileRules(rules).decide('/mcp').rule, rules[0]);
});
