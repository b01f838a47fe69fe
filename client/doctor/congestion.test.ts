import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Controls } from '@underpass/wire/path/core/congestion.ts';
import { judgeCongestion } from './congestion.ts';

const withBbr: Controls = { system: 'cubic', far: 'bbr', near: 'cubic' };
const without: Controls = { system: 'cubic', far: null, near: 'cubic' };

describe('the doctor on congestion control', () => {
  it('names the control and the round trip', () => {
    const { state, detail } = judgeCongestion('bbr', 48.4, withBbr);
    assert.deepEqual([state, detail], ['ok', 'bbr, with a round trip of 48 ms']);
  });

  it('says how to offer BBR on a long path without it', () => {
    const { state, fix } = judgeCongestion('cubic', 48, without);
    assert.equal(state, 'warning');
    assert.match(fix ?? '', /modprobe tcp_bbr/);
  });

  it('finds nothing wrong with a short path without BBR', () => {
    const { state, detail } = judgeCongestion('cubic', 0.03, without);
    assert.deepEqual([state, detail], ['ok', 'cubic, with a round trip of less than 1 ms']);
  });

  it('does not advise against the setting', () => {
    assert.equal(judgeCongestion('cubic', 48, null).state, 'ok');
  });
});
