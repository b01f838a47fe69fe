// Path rules against servers: whatever target a server resolves to the protected folder, the rules must not call public.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { type TestContext, test } from 'node:test';
import { compilePaths } from '@underpass/rules/visit/path-match.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram } from '../helpers/process.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const decide = compilePaths([
  { path: '/secret/*', action: 'sign-in' },
  { path: '/*', action: 'public' },
]);

const dots = [
  '..',
  '%2e%2e',
  '.%2e',
  '%2E.',
  '%252e%252e',
  '..;',
  '..;a=b',
  '%2e%2e;',
  '..%3b',
  '%ef%bc%8e%ef%bc%8e',
  '%c0%ae%c0%ae',
  '%u002e%u002e',
];
const slashes = ['/', '%2f', '%5c', '\\', '%252f', '%255c', '//', '/./', '%2f/', ';/', '%ef%bc%8f', '%c0%af'];
const names = [
  ...['/secret', '/secret/', '/secret/x', '//secret/x', '///secret/x', '/./secret/x', '/%2e/secret/x', '/.//secret/x'],
  ...['/%2fsecret/x', '/%5csecret/x', '/\\secret/x', '/secret\\x', '/secret%5cx', '/secret%2fx', '/secret//x', '/secret/./x'],
  ...['/%73ecret/x', '/%73%65%63%72%65%74/x', '/%2573ecret/x', '/secre%74', '/SECRET/x', '/Secret', '/%53ecret/x'],
  ...['/secret;/x', '/secret;a=b/x', '/;/secret/x', '/;a=b/secret/x', '/secret%3b/x', '/secret%3ba/x', '/secret;'],
  ...[
    '/secret?x',
    '/secret%3fx',
    '/secret%3Fx',
    '/secret%23x',
    '/secret/x?/../open',
    '/secret%00',
    '/secret%00/x',
    '/secret/%00',
  ],
  ...['/secret.', '/secret%2e', '/secret./x', '/secret%20', '/secret%20/x', '/secret/..', '/secret/../secret/x', '/secret/x/..'],
  ...['//host/secret/x', '/\\host/secret/x', '///host/secret/x', '/%2fhost/secret/x', '//host//secret/x', '/\\/host/secret/x'],
  ...[
    '/open/../../secret/x',
    '/../secret/x',
    '/../../secret',
    '/..%2fsecret/x',
    '/%2e%2e/%2e%2e/secret/x',
    '/open/x/../../secret',
  ],
  ...['/open%2f..%2fsecret', '/open%2f../secret/x', '/open/%2fx/../../secret/x', '/a%2fb/%2e%2e/secret/x', '/open//../secret/x'],
  ...['/open;/../secret/x', '/open/.;/../secret/x', '/open;%2f..%2fsecret/x', '/open%3b%2f../secret/x', '/open/..%00/secret/x'],
  ...[
    '/%25%32%66secret/x',
    '/%25%37%33ecret/x',
    '/se%63ret%2f',
    '/secret%2f',
    '/secret%252f',
    '/secret/%2e',
    '/secret/%2e%2e/secret',
  ],
  ...[
    '/%ef%bd%93ecret/x',
    '/%c5%bfecret/x',
    '/%E2%93%A2ecret/x',
    '/%73%e9/../secret/x',
    '/open/%zz/../../secret/x',
    '/se%09cret/x',
  ],
];
const targets = [...new Set([...names, ...dots.flatMap((dot) => slashes.map((slash) => `/open/${dot}${slash}secret/x`))])];

/** What the server answers to the target, written as it is. */
async function ask(port: number, target: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(`GET ${target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  return text;
}

async function assertGuarded(port: number, least: number): Promise<void> {
  const opened: string[] = [];
  let reached = 0;
  for (const target of targets) {
    const answer = await ask(port, target);
    if (!answer.includes('PROTECTED')) continue;
    reached++;
    if (decide(target).action === 'public') opened.push(`${target}: ${answer.split('\n').at(-1)}`);
  }
  assert.deepEqual(opened, []);
  assert.ok(reached >= least, `only ${reached} of ${targets.length} targets reach the folder`);
}

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-paths-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('the corpus has at least 150 targets, and honest paths stay public', () => {
  assert.ok(targets.length >= 150, String(targets.length));
  const honest = [
    '/',
    '/open',
    '/a.b/c-d_e~f',
    '/a%20b',
    '/%C3%BCber',
    '/a,b@c:d=e',
    '/x;v=1/y',
    '/a//b',
    '/100%25',
    '/a%2Fb',
    '/.well-known/x',
  ];
  assert.deepEqual(
    honest.filter((path) => decide(path).action !== 'public'),
    [],
  );
});

/** Ways in which programs for Node get from a target to a path. */
const readers: Readonly<Record<string, (target: string) => string>> = {
  raw: (target) => target.split('?')[0] as string,
  'new URL': (target) => new URL(target, 'http://base').pathname,
  'new URL, decoded': (target) => decodeURIComponent(new URL(target, 'http://base').pathname),
  'decoded, normalised': (target) => posix.normalize(decodeURIComponent(target.split('?')[0] as string)),
  'normalised, decoded': (target) => decodeURIComponent(posix.normalize(target.split('?')[0] as string)),
  'decoded twice, normalised': (target) => posix.normalize(decodeURIComponent(decodeURIComponent(target))),
  'decoded, new URL': (target) => new URL(decodeURIComponent(target), 'http://base').pathname,
  'without parameters (Tomcat)': (target) => posix.normalize(decodeURIComponent(target.replace(/;[^/]*/g, ''))),
  'decoded, then without parameters': (target) => posix.normalize(decodeURIComponent(target).replace(/;[^/]*/g, '')),
  'backslashes as slashes (IIS)': (target) => posix.normalize(decodeURIComponent(target).replaceAll('\\', '/')),
  'in any case (Express)': (target) => decodeURIComponent(target.split('?')[0] as string).toLowerCase(),
  'compatible letters': (target) => posix.normalize(decodeURIComponent(target).normalize('NFKC')),
  'cut at NUL': (target) => decodeURIComponent(target).split('\0')[0] as string,
  'one byte, one letter': (target) =>
    posix.normalize(target.replace(/%([0-9a-f]{2})/gi, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)))),
};

function isProtected(read: (target: string) => string, target: string): boolean {
  try {
    return /^\/+secret(\/|$)/.test(read(target));
  } catch {
    return false;
  }
}

test('no target that a server on Node resolves to the folder is public', async (t) => {
  const server = createServer((request, response) => {
    const reader = Object.keys(readers).find((name) => isProtected(readers[name]!, request.url as string));
    response.end(reader === undefined ? 'open' : `PROTECTED by ${reader}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  await assertGuarded((server.address() as AddressInfo).port, 100);
});

test('no target that nginx resolves to the folder is public', { skip: skipWithout('nginx') }, async (t) => {
  const folder = scratch(t);
  const [merging = 0, keeping = 0] = await freePorts(2);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`);
  const locations =
    'location ^~ /secret { return 200 PROTECTED; } location ~* ^/+secret { return 200 PROTECTED; } location / { return 200 open; }';
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/pid; error_log stderr; daemon off; master_process off; events {}
http { access_log off; ${places.join(' ')}
server { listen 127.0.0.1:${merging}; ${locations} }
server { listen 127.0.0.1:${keeping}; merge_slashes off; ${locations} } }`,
  );
  const nginx = startProgram(t, requireTool('nginx'), ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr']);
  await nginx.listening(merging);
  await assertGuarded(merging, 40);
  await assertGuarded(keeping, 40);
});

const pythonProgram = `
import http.server, posixpath, sys, threading, urllib.parse, wsgiref.simple_server
def guarded(path): return path.strip('/').split('/')[0] == 'secret'
class Files(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        body = b'PROTECTED' if guarded(self.translate_path(self.path)) else b'open'
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *rest): pass
class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *rest): pass
def app(environ, start):
    path = environ['PATH_INFO']
    ways = [path, posixpath.normpath(path), urllib.parse.urlparse(path).path, posixpath.normpath(urllib.parse.unquote(path))]
    start('200 OK', [])
    return [b'PROTECTED' if any(guarded(way) for way in ways) else b'open']
files = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), lambda *rest: Files(*rest, directory='/'))
threading.Thread(target=files.serve_forever, daemon=True).start()
wsgiref.simple_server.make_server('127.0.0.1', int(sys.argv[2]), app, handler_class=Quiet).serve_forever()
`;

test('no target that a server in Python resolves to the folder is public', { skip: skipWithout('python3') }, async (t) => {
  const [files = 0, wsgi = 0] = await freePorts(2);
  const python = startProgram(t, requireTool('python3'), ['-c', pythonProgram, String(files), String(wsgi)]);
  await python.listening(wsgi);
  await assertGuarded(files, 30);
  await assertGuarded(wsgi, 40);
});

const goProgram = `package main
import ("net/http"; "os"; "path"; "strings")
func say(text string) http.HandlerFunc { return func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(text)) } }
func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/secret", say("PROTECTED")); mux.HandleFunc("/secret/", say("PROTECTED")); mux.HandleFunc("/", say("open"))
	go http.ListenAndServe("127.0.0.1:"+os.Args[1], mux)
	http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean("/" + r.URL.Path)
		if clean == "/secret" || strings.HasPrefix(clean, "/secret/") { w.Write([]byte("PROTECTED")) } else { w.Write([]byte("open")) }
	}))
}
`;

test('no target that a server in Go resolves to the folder is public', { skip: skipWithout('go') }, async (t) => {
  const folder = scratch(t);
  writeFileSync(join(folder, 'main.go'), goProgram);
  const program = join(folder, 'server');
  execFileSync(requireTool('go'), ['build', '-o', program, 'main.go'], { cwd: folder });
  const [mux = 0, clean = 0] = await freePorts(2);
  const server = startProgram(t, program, [String(mux), String(clean)]);
  await server.listening(clean);
  await assertGuarded(mux, 5);
  await assertGuarded(clean, 40);
});
