// An MCP server on standard input and output, of the MCP SDK, for tests of `underpass mcp`.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'notes', version: '1.2.3' });
const said = (text) => ({ content: [{ type: 'text', text }] });

server.registerTool('pid', { description: 'Says which process answers.' }, () => said(String(process.pid)));

server.registerTool('count', { description: 'Counts to three, and says where it is.' }, async ({ _meta, sendNotification }) => {
  for (const progress of [1, 2, 3]) {
    const params = { progressToken: _meta?.progressToken, progress, total: 3 };
    if (params.progressToken !== undefined) await sendNotification({ method: 'notifications/progress', params });
  }
  return said('three');
});

server.registerTool('ask', { description: 'Asks the person.' }, async () => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  const { action, content } = await server.server.elicitInput({ message: 'Who are you?', requestedSchema });
  return said(`${action} ${content?.name}`);
});

server.registerTool('grow', { description: 'Adds a tool.' }, () => {
  server.registerTool(`tool-${Date.now()}`, {}, () => said('new'));
  return said('grown');
});

process.stderr.write(`the notes server has ${process.env.NOTES_TOKEN}\n`);
await server.connect(new StdioServerTransport());
