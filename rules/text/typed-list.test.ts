import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitEntries, unwrapHost } from './typed-list.ts';

test('a pasted list is split at commas, semicolons and white space', () => {
  assert.deepEqual(splitEntries(' 10.0.0.1, 10.0.0.2;\n10.0.0.3\t10.0.0.4,,'), ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']);
  assert.deepEqual(splitEntries(' , '), []);
});

test('a pasted address of a page becomes its host, and other text stays for the rule to judge', () => {
  const rows: [string, string][] = [
    ['https://app.example.com/', 'app.example.com'],
    ['HTTP://App.Example.com:8443/login?next=/#top', 'App.Example.com'],
    ['app.example.com/login', 'app.example.com'],
    [' app.example.com ', 'app.example.com'],
    ['https://bücher.example', 'bücher.example'],
    ['app.example.com:8443', 'app.example.com:8443'],
    ['https://user@app.example.com/', 'https://user@app.example.com/'],
    ['https://[::1]/', 'https://[::1]/'],
    ['ftp://app.example.com/', 'ftp://app.example.com/'],
    ['*.example.com', '*.example.com'],
    ['', ''],
  ];
  for (const [typed, host] of rows) assert.equal(unwrapHost(typed), host, typed);
});
