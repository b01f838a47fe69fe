import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createElement, type ReactNode } from 'react';
import { renderToString } from 'react-dom/server';
import { prerender } from 'react-dom/static';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { runnerImport } from 'vite';

type Module = typeof import('./fixture/load-module.ts');

let loaded: Module;

before(async () => {
  const file = join(import.meta.dirname, 'fixture/load-module.ts');
  loaded = (await runnerImport<Module>(file, { configFile: false, logLevel: 'error' })).module;
});

type Props = Partial<Parameters<Module['Load']>[0]>;

function pageOf(promise: Promise<string>, props: Props) {
  promise.catch(() => {});
  const children = (value: unknown): ReactNode => `Loaded ${value}`;
  const page = createElement(loaded.Load, { promise, ...props, children });
  return createElement(RouterProvider, { router: createMemoryRouter([{ path: '/', element: page }]) });
}

const textOf = (html: string): string =>
  html
    .replaceAll(/<script.*?<\/script>|<[^>]*>/gs, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The text once everything has settled. */
async function render(promise: Promise<string>, props: Props = {}): Promise<string> {
  const { prelude } = await prerender(pageOf(promise, props));
  return textOf(await new Response(prelude).text());
}

test('what a loader promised shows at once if it is there', async () => {
  const promise = loaded.later(Promise.resolve('rows'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(textOf(renderToString(pageOf(promise, {}))), 'Loaded rows');
});

const failed = (status: number, text: string): Promise<string> => Promise.reject(new loaded.ApiError(status, text));
const never = new Promise<string>(() => {});

test('shows what the loader promised', async () => {
  assert.match(await render(Promise.resolve('tunnels')), /Loaded tunnels/);
});

test('shows the placeholder and its header until the answer is there', async () => {
  const text = textOf(renderToString(pageOf(never, { fallback: 'Bones', fallbackHeader: 'Head' })));
  assert.match(text, /Head.*Bones/);
  assert.doesNotMatch(text, /Loaded/);
});

test('shows the reason of a failure under its header, with a retry unless that is of no use', async () => {
  const busy = await render(failed(503, 'The server is stopping.'), { failedHeader: 'Head' });
  assert.match(busy, /Head.*The server is stopping\..*Try Again/);
  const refused = await render(failed(403, 'Your role does not allow this.'));
  assert.match(refused, /Your role does not allow this\./);
  assert.doesNotMatch(refused, /Try Again/);
});

test('shows the view for failures that the page brings', async () => {
  assert.match(await render(failed(500, 'No.'), { failed: 'Not now' }), /Not now/);
});

test('calls a thing deleted only after the page has shown it', async () => {
  const thing = { name: 'shop', list: '/', listLabel: 'Tunnels' };
  const text = await render(failed(404, "Tunnel 'shop' not found"), { thing });
  assert.match(text, /not found/);
  assert.doesNotMatch(text, /was deleted/);
});
