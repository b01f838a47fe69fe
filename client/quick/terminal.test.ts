import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProcessIo } from '../process/process-io.ts';
import { clipboardPrograms, copyToClipboard } from './clipboard.ts';
import { renderQrCode } from './qr-code.ts';

const out = (columns: number, rows: number) => ({
  stdout: { write: () => {}, isTTY: true, columns: () => columns, rows: () => rows, onResize: () => () => {} },
  env: {},
});
const url = 'https://calm-otter-abcdefghij.tunnels.example.com';

test('the QR code appears only where it fits beside the live status', () => {
  const code = renderQrCode(url, out(80, 40)) ?? '';
  const lines = code.trimEnd().split('\n');
  assert.equal(lines.length, 19);
  for (const line of lines) assert.match(line, /^\x1b\[97;40m[█▀▄ ]{37}\x1b\[0m$/);
  for (const [columns, rows] of [
    [37, 40],
    [80, 32],
  ] as const)
    assert.equal(renderQrCode(url, out(columns, rows)), undefined);
  assert.doesNotMatch(renderQrCode(url, { ...out(80, 40), env: { NO_COLOR: '1' } }) ?? '\x1b', /\x1b/);
});

test('the clipboard is that of the desktop; without one no program is tried', () => {
  const first = (platform: 'linux' | 'darwin' | 'win32', env: Record<string, string>) =>
    clipboardPrograms({ platform, env }).map(([file]) => file);
  assert.deepEqual(first('linux', {}), []);
  assert.deepEqual(first('linux', { DISPLAY: ':0' }), ['xclip', 'xsel']);
  assert.deepEqual(first('linux', { DISPLAY: ':0', WAYLAND_DISPLAY: 'w' }), ['wl-copy', 'xclip', 'xsel']);
  assert.deepEqual(first('linux', { WSL_DISTRO_NAME: 'Debian' }), ['clip.exe']);
  assert.deepEqual(first('darwin', {}), ['pbcopy']);
  assert.deepEqual(first('win32', {}), ['clip.exe']);
});

test('a missing program is no failure, one that fails gives way to the next, and one that stays has the text', async () => {
  const tried: (string | undefined)[] = [];
  const copy = (answers: readonly (number | 'stays')[]) => {
    tried.length = 0;
    const execute = async (file: string, _args: readonly string[], options?: { readonly input?: string }) => {
      const answer = answers[tried.length] ?? 127;
      tried.push(`${file} ${options?.input}`);
      return answer === 'stays' ? new Promise<never>(() => {}) : { code: answer, stdout: '', stderr: '' };
    };
    return copyToClipboard({ ...createProcessIo({ DISPLAY: ':0' }), platform: 'linux', execute }, 'text');
  };
  assert.equal(await copy([127, 1]), false);
  assert.deepEqual(tried, ['xclip text', 'xsel text']);
  assert.equal(await copy([1, 0]), true);
  assert.equal(await copy(['stays']), true);
  assert.equal(tried.length, 1);
});
