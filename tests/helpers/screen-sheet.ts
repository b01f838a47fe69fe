// Draws docs/images/screens.jpg from the pictures that the screen tests leave in .artifacts/screens.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { launchChromium } from './browser.ts';

const root = new URL('../../', import.meta.url);
const width = 1664;
/** Light and dark in turn. */
const desktop = [
  ...['dashboard-empty', 'tunnels', 'tunnel-connected', 'tunnel-disconnected'],
  ...['new-tunnel-errors', 'tunnel-update-warning', 'domains', 'domain-unverified'],
  ...['security-group', 'command-palette', 'tunnels-empty', 'tunnel-delete'],
  ...['login', 'account', 'members', 'operator-registrations'],
];
const phone = [
  ...['dashboard-empty', 'tunnels', 'tunnel-connected', 'new-tunnel-errors', 'security-group'],
  ...['account-menu', 'domains', 'tunnel-pending', 'login'],
];

async function picture(name: string, index: number, size: number): Promise<string> {
  const file = new URL(`.artifacts/screens/${name}-${size}-${index % 2 === 0 ? 'light' : 'dark'}.png`, root);
  return `<img src="data:image/png;base64,${(await readFile(file)).toString('base64')}">`;
}

async function row(names: readonly string[], size: number): Promise<string> {
  const pictures = await Promise.all(names.map((name, index) => picture(name, index, size)));
  return `<div>${pictures.join('')}</div>`;
}

async function drawSheet(): Promise<void> {
  const rows = [0, 4, 8, 12].map((start) => row(desktop.slice(start, start + 4), 1440));
  const html = (await Promise.all([...rows, row(phone, 390)])).join('');
  const style =
    'body{margin:0;padding:8px;background:#8a8577}div{display:flex;gap:16px;margin-bottom:16px}img{min-width:0;flex:1}';
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    await page.setContent(`<style>${style}</style>${html}`);
    const path = fileURLToPath(new URL('docs/images/screens.jpg', root));
    await page.screenshot({ path, fullPage: true, type: 'jpeg', quality: 80 });
  } finally {
    await browser.close();
  }
}

await drawSheet();
