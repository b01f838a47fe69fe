// Path rules against real servers: thousands of spellings of a protected path, each asked of the server itself and through an edge
// with an access policy. Whatever the server takes for the protected file, the edge must not pass on without a session.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRig, tunnelOf } from '@underpass/edge/fixture/rig.ts';
import { visitOf } from '@underpass/edge/fixture/visits.ts';
import { compilePaths } from '@underpass/rules/visit/path-match.ts';
import type { PathRule } from '@underpass/rules/visit/path-rule.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram } from '../helpers/process.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

/** The protected folder. Its letters have relatives outside ASCII: the Kelvin sign, the dotted and the dotless i, the long s. */
const name = 'kiosk';
const file = 'secret.txt';
/** What only the protected file says. */
const marker = 'PROTECTED';

const hex = (code: number): string => code.toString(16).padStart(2, '0');
const escapes = (bytes: Iterable<number>): string => [...bytes].map((byte) => `%${hex(byte)}`).join('');
const encode = (text: string): string => escapes(Buffer.from(text));

/** One byte of ASCII in each form that some server decodes. */
function formsOf(code: number): readonly string[] {
  const once = `%${hex(code)}`;
  const forms = [once, once.toUpperCase(), `%25${hex(code)}`, `%u00${hex(code)}`];
  const overlong = [
    [0xc0 | (code >> 6), 0x80 | (code & 63)],
    [0xe0, 0x80 | (code >> 6), 0x80 | (code & 63)],
  ];
  const wide = code > 0x20 && code < 0x7f ? [encode(String.fromCharCode(code + 0xfee0))] : [];
  const raw = code > 0x20 && code < 0x7f && code !== 0x23 ? [String.fromCharCode(code)] : [];
  return [...raw, ...forms, ...overlong.map(escapes), ...wide];
}

/** Every byte that RFC 3986 or a server gives a meaning: reserved and unsafe characters, the dot, spaces and control bytes. */
const signs = [...'!"#$%&\'()*+,/:;<=>?@[\\]^`{|}~. \0\t\r\n\x7f'].flatMap((char) => formsOf(char.charCodeAt(0)));
/** Other characters that some server takes for a sign of a path, or leaves out. */
const lookalikes = [...'⁄∕∖¥₩․‥…;٪¿\u00ad\u200d\u0301\u3000\ufeff'].map(encode);

const around = (x: string): readonly string[] => [
  `/${x}${name}/${file}`,
  `/${name}${x}/${file}`,
  `/${name}${x}${file}`,
  `/${name}/${x}${file}`,
  `/${name}/${file}${x}`,
  `/ki${x}osk/${file}`,
  `/open${x}../${name}/${file}`,
  `/open/..${x}${name}/${file}`,
  `/open/${x}../${name}/${file}`,
  `/open/.${x}./${name}/${file}`,
  `/open/${x}${x}/${name}/${file}`,
];

/** Every character that some rule of Unicode brings to a letter, by letter. */
const relatives = new Map([...name].map((letter): [string, string[]] => [letter, []]));
const base = (form: string): string => form.toLowerCase().replace(/\p{M}/gu, '');
for (let code = 0x80; code < 0x110000; code++) {
  const char = String.fromCodePoint(code);
  // No rule brings these to another character.
  if (/[\p{Cn}\p{Co}\p{Cs}]/u.test(char)) continue;
  const forms = [char.toLowerCase(), char.toUpperCase(), char.normalize('NFKD'), char.toLocaleLowerCase('tr')];
  for (const letter of new Set(forms.map(base))) relatives.get(letter)?.push(char);
}

const spellings = [...new Set(name)].flatMap((letter) =>
  [...relatives.get(letter)!.map(encode), ...formsOf(letter.charCodeAt(0)), ...formsOf(letter.toUpperCase().charCodeAt(0))].map(
    (form) => name.replace(letter, form),
  ),
);

const dots = [
  ...['..', '%2e%2e', '.%2e', '%2E.', '%252e%252e', '..;', '..;a=b', '%2e%2e;', '..%3b', '%ef%bc%8e%ef%bc%8e', '%c0%ae%c0%ae'],
  ...['%u002e%u002e', '%e2%80%a5', '..%20', '..%00', '...', '.', '%c0.%c0.'],
];
const slashes = [
  ...['/', '%2f', '%5c', '\\', '%252f', '%255c', '//', '/./', '%2f/', ';/', '%ef%bc%8f', '%c0%af', '%2f%2f', '/%5c', '%u2215'],
  ...['%e2%88%95', '/;/', '/%20/', '\\/', '%c1%9c'],
];
const targets = [
  ...new Set([
    ...[...signs, ...lookalikes].flatMap(around),
    ...spellings.map((each) => `/${each}/${file}`),
    ...dots.flatMap((dot) =>
      slashes.flatMap((slash) => [`/open${slash}${dot}${slash}${name}${slash}${file}`, `/open/${dot}${slash}${name}/${file}`]),
    ),
    ...slashes.flatMap((one) => slashes.flatMap((two) => [`${one}${name}${two}${file}`, `/${one}host${two}${name}/${file}`])),
    ...['', '/', '?x', '/?x', ';a', '/.', '/..', `/../${name}/${file}`, `/x/../${file}`].map((end) => `/${name}${end}`),
  ]),
].filter((target) => target.startsWith('/'));

/** Rule sets of each kind that protect the folder, and the least that each asks. */
const kinds: readonly (readonly [least: 'sign-in' | 'deny', rules: readonly PathRule[]])[] = [
  [
    'sign-in',
    [
      { path: `/${name}/*`, action: 'sign-in' },
      { path: '/*', action: 'public' },
    ],
  ],
  [
    'deny',
    [
      { path: `/${name}/*`, action: 'deny' },
      { path: '/*', action: 'public' },
    ],
  ],
  [
    'deny',
    [
      { path: `/${name.toUpperCase()}/*`, action: 'sign-in' },
      { path: `/${name}/*`, action: 'deny' },
      { path: '/*', action: 'public' },
    ],
  ],
  ['sign-in', [{ path: '/open/*', action: 'public' }]],
];

/** Sends requests on one connection, written as they are, and reads to its end. */
async function ask(dial: () => Socket | Promise<Socket>, asked: readonly string[]): Promise<string> {
  const socket = await dial();
  let text = '';
  socket.setTimeout(10_000, () => socket.destroy(new Error(`no answer to ${asked}`)));
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  // Servers reset the connection after some malformed targets.
  socket.on('error', () => {});
  const last = asked.length - 1;
  const requests = asked.map(
    (target, at) => `GET ${target} HTTP/1.1\r\nHost: t.tunnels.test\r\n${at === last ? 'Connection: close\r\n' : ''}\r\n`,
  );
  socket.write(requests.join(''), 'latin1');
  await once(socket, 'close');
  return text;
}

/** How many requests follow each other on one connection: a server starts and ends a connection for what 25 answers cost. */
const batch = 25;

const answersIn = (text: string): readonly string[] => text.split(/(?=HTTP\/1\.[01] \d{3})/).filter((answer) => answer !== '');

/** The targets whose answer has the marker. A server ends the connection at a target that it refuses; the rest go on another. */
async function reached(from: readonly string[], dial: () => Socket | Promise<Socket>): Promise<string[]> {
  const found: string[] = [];
  let at = 0;
  const work = async (): Promise<void> => {
    while (at < from.length) {
      let asked = from.slice(at, at + batch);
      at += batch;
      while (asked.length > 0) {
        let answers = answersIn(await ask(dial, asked));
        if (answers.length === 0) answers = [await ask(dial, asked.slice(0, 1))];
        found.push(...asked.filter((_, index) => answers[index]?.includes(marker)));
        asked = asked.slice(answers.length);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return found;
}

/** `least`: how many targets must reach the file without an edge, so that the test can fail. */
async function assertGuarded(port: number, least: number): Promise<void> {
  const open = await reached(targets, () => connect(port, '127.0.0.1'));
  assert.ok(open.length >= least, `only ${open.length} of ${targets.length} targets reach the file`);
  for (const [action, rules] of kinds) {
    const decide = compilePaths(rules);
    const weak = open.filter((target) => decide(target).action !== action && decide(target).action !== 'deny');
    assert.deepEqual(weak.slice(0, 20), [], `${weak.length} targets with ${JSON.stringify(rules)}`);
  }
  const [, rules] = kinds[0]!;
  await using rig = await createRig([tunnelOf('t', { allowList: [], visit: visitOf({ rules: [...rules] }) })]);
  await rig.client('t', port);
  const visit = (): Promise<Socket> => rig.visit('t.tunnels.test');
  assert.match(await ask(visit, ['/open/x']), /^HTTP\/1\.1 (200|404)/);
  assert.deepEqual(await reached(open, visit), []);
}

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-paths-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder of files, one of them protected. */
function site(t: TestContext): string {
  const folder = join(scratch(t), 'site');
  for (const each of [name, 'open']) mkdirSync(join(folder, each), { recursive: true });
  writeFileSync(join(folder, name, file), marker);
  writeFileSync(join(folder, 'open', 'x'), 'open');
  return folder;
}

test('the corpus is large, and honest paths stay public', () => {
  assert.ok(targets.length >= 4_000, String(targets.length));
  const decide = compilePaths(kinds[0]![1]);
  const honest = [
    '/',
    '/open',
    '/a.b/c-d_e~f',
    '/a%20b',
    '/a,b@c:d=e',
    '/x;v=1/y',
    '/a//b',
    '/100%25',
    '/a%2Fb',
    '/.well-known/x',
  ];
  const words = ['über', 'café', '日本語', 'カード（株）', 'हिन्दी', 'العربية', 'Ελλάδα', 'straße', '🎉', 'a…b', '١٢'];
  for (const path of [...honest, ...words.map((word) => `/${encodeURIComponent(word)}/x`)])
    assert.equal(decide(path).action, 'public', path);
});

const decoded = (target: string): string => decodeURIComponent(target.split('?')[0] as string);
/** Ways in which programs for Node get from a target to a path. */
const readers: Readonly<Record<string, (target: string) => string>> = {
  raw: (target) => target.split('?')[0] as string,
  'new URL': (target) => new URL(target, 'http://base').pathname,
  'new URL, decoded': (target) => decodeURIComponent(new URL(target, 'http://base').pathname),
  'decoded, normalised': (target) => posix.normalize(decoded(target)),
  'normalised, decoded': (target) => decodeURIComponent(posix.normalize(target.split('?')[0] as string)),
  'decoded twice, normalised': (target) => posix.normalize(decodeURIComponent(decodeURIComponent(target))),
  'decoded, new URL': (target) => new URL(decodeURIComponent(target), 'http://base').pathname,
  'without parameters (Tomcat)': (target) => posix.normalize(decodeURIComponent(target.replace(/;[^/]*/g, ''))),
  'decoded, then without parameters': (target) => posix.normalize(decodeURIComponent(target).replace(/;[^/]*/g, '')),
  'backslashes as slashes (IIS)': (target) => posix.normalize(decoded(target).replaceAll('\\', '/')),
  'in any case (Express)': (target) => decoded(target).toLowerCase(),
  'in Turkish': (target) => decoded(target).toLocaleUpperCase('tr').toLocaleLowerCase('en'),
  'compatible letters': (target) => posix.normalize(decoded(target).normalize('NFKC')),
  'compatible letters in any case': (target) => posix.normalize(decoded(target).normalize('NFKC').toLowerCase()),
  'without marks': (target) => posix.normalize(decoded(target).normalize('NFKD').replace(/\p{M}/gu, '')),
  'cut at NUL': (target) => decodeURIComponent(target).split('\0')[0] as string,
  'one byte, one letter': (target) =>
    posix.normalize(target.replace(/%([0-9a-f]{2})/gi, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)))),
};

const protectedPath = new RegExp(`^/+${name}(/|$)`);

function isProtected(read: (target: string) => string, target: string): boolean {
  try {
    return protectedPath.test(read(target));
  } catch {
    return false;
  }
}

test('no target that a server on Node resolves to the folder passes', async (t) => {
  const server = createServer((request, response) => {
    const reader = Object.keys(readers).find((each) => isProtected(readers[each]!, request.url as string));
    response.end(reader === undefined ? 'open' : `${marker} by ${reader}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  await assertGuarded((server.address() as AddressInfo).port, 1_000);
});

test('no target that nginx resolves to the folder passes', { skip: skipWithout('nginx') }, async (t) => {
  const [folder, root] = [scratch(t), site(t)];
  const [files = 0, keeping = 0] = await freePorts(2);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/${each};`);
  const locations = `location ~* ^/+${name}(/|$) { return 200 ${marker}; } location / { return 200 open; }`;
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/pid; error_log /dev/null crit; daemon off; master_process off; user root; events {}
http { access_log off; ${places.join(' ')}
server { listen 127.0.0.1:${files}; root ${root}; }
server { listen 127.0.0.1:${keeping}; merge_slashes off; ${locations} } }`,
  );
  const nginx = startProgram(t, requireTool('nginx'), ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr']);
  await nginx.listening(keeping);
  await assertGuarded(files, 50);
  await assertGuarded(keeping, 100);
});

test('no target that haproxy resolves to the folder passes', { skip: skipWithout('haproxy') }, async (t) => {
  const folder = scratch(t);
  const [port = 0] = await freePorts(1);
  const answer = (text: string, when = ''): string =>
    `http-request return status 200 content-type text/plain string ${text}${when}`;
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `global
  expose-experimental-directives
defaults
  mode http
  timeout connect 5s
  timeout client 1m
  timeout server 1m
frontend all
  bind 127.0.0.1:${port}
  ${answer(marker, ` if { path,url_dec -i -m reg ^/${name}(/|$) }`)}
  http-request normalize-uri path-merge-slashes
  http-request normalize-uri path-strip-dot
  http-request normalize-uri path-strip-dotdot full
  ${answer(marker, ` if { path,url_dec -i -m reg ^/${name}(/|$) }`)}
  ${answer('open')}
`,
  );
  const haproxy = startProgram(t, requireTool('haproxy'), ['-f', join(folder, 'haproxy.cfg')]);
  await haproxy.listening(port);
  await assertGuarded(port, 100);
});

test('no target that Caddy resolves to the folder passes', { skip: skipWithout('caddy') }, async (t) => {
  const [folder, root] = [scratch(t), site(t)];
  const [files = 0, paths = 0] = await freePorts(2);
  writeFileSync(
    join(folder, 'Caddyfile'),
    `{
	admin off
	auto_https off
}
http://:${files} {
	bind 127.0.0.1
	root * ${root}
	file_server
}
http://:${paths} {
	bind 127.0.0.1
	handle_path /${name}/* {
		respond ${marker}
	}
	respond open
}
`,
  );
  const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const caddy = startProgram(
    t,
    requireTool('caddy'),
    ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    home,
  );
  await caddy.listening(paths);
  await caddy.listening(files);
  await assertGuarded(files, 50);
  await assertGuarded(paths, 50);
});

test('no target that a server in PHP resolves to the folder passes', { skip: skipWithout('php') }, async (t) => {
  const root = site(t);
  const [port = 0] = await freePorts(1);
  const php = startProgram(t, requireTool('php'), ['-S', `127.0.0.1:${port}`, '-t', root]);
  await php.listening(port);
  await assertGuarded(port, 20);
});

const pythonProgram = `
import http.server, os, posixpath, sys, threading, unicodedata, urllib.parse, wsgiref.simple_server
def guarded(path): return path.strip('/').split('/')[0] == '${name}'
class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *rest): pass
class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *rest): pass
def app(environ, start):
    path = environ['PATH_INFO'].encode('latin-1').decode('utf-8', 'replace')
    ways = [path, posixpath.normpath(path), urllib.parse.urlparse(path).path, posixpath.normpath(urllib.parse.unquote(path))]
    ways += [path.casefold(), path.lower(), unicodedata.normalize('NFKC', path).casefold(), os.path.normcase(path)]
    start('200 OK', [])
    return [b'${marker}' if any(guarded(way) for way in ways) else b'open']
files = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), lambda *rest: Files(*rest, directory=sys.argv[3]))
threading.Thread(target=files.serve_forever, daemon=True).start()
wsgiref.simple_server.make_server('127.0.0.1', int(sys.argv[2]), app, handler_class=Quiet).serve_forever()
`;

test('no target that a server in Python resolves to the folder passes', { skip: skipWithout('python3') }, async (t) => {
  const [files = 0, wsgi = 0] = await freePorts(2);
  const python = startProgram(t, requireTool('python3'), ['-c', pythonProgram, String(files), String(wsgi), site(t)]);
  await python.listening(wsgi);
  await assertGuarded(files, 50);
  await assertGuarded(wsgi, 300);
});

const goProgram = `package main
import ("net/http"; "os"; "path"; "strings")
func say(text string) http.HandlerFunc { return func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(text)) } }
func below(p string) bool { return p == "/${name}" || strings.HasPrefix(p, "/${name}/") }
func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/${name}", say("${marker}")); mux.HandleFunc("/${name}/", say("${marker}")); mux.HandleFunc("/", say("open"))
	go http.ListenAndServe("127.0.0.1:"+os.Args[1], mux)
	go http.ListenAndServe("127.0.0.1:"+os.Args[3], http.FileServer(http.Dir(os.Args[4])))
	http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first := strings.SplitN(strings.TrimLeft(r.URL.Path, "/"), "/", 2)[0]
		clean := path.Clean("/" + r.URL.Path)
		if below(clean) || below(strings.ToLower(clean)) || below(strings.ToLower(strings.ToUpper(clean))) || strings.EqualFold(first, "${name}") {
			w.Write([]byte("${marker}"))
		} else { w.Write([]byte("open")) }
	}))
}
`;

test('no target that a server in Go resolves to the folder passes', { skip: skipWithout('go') }, async (t) => {
  const folder = scratch(t);
  writeFileSync(join(folder, 'main.go'), goProgram);
  const program = join(folder, 'server');
  execFileSync(requireTool('go'), ['build', '-o', program, 'main.go'], { cwd: folder });
  const [mux = 0, folding = 0, files = 0] = await freePorts(3);
  const server = startProgram(t, program, [mux, folding, files].map(String).concat(site(t)));
  for (const port of [mux, folding, files]) await server.listening(port);
  await assertGuarded(mux, 10);
  await assertGuarded(folding, 300);
  await assertGuarded(files, 30);
});
