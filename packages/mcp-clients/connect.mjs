// Uses a server as the official TypeScript clients do, of both generations; prints what they saw.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, token] = process.argv.slice(2);
const options = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const about = { name: 'tests', version: '1' };

async function use(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: 'list_projects', arguments: {} });
  const refused = await client.callTool({ name: 'list_testimonials', arguments: { limit: 0 } });
  const { resources } = await client.listResources();
  const guide = await client.readResource({ uri: resources[0].uri });
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: 'triage_inbox', arguments: {} });
  const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
  await client.close();
  return {
    version,
    tools: tools.map(each => each.name),
    projects: called.structuredContent.data.map(each => each.publicPageConfig.slug),
    refused: refused.isError && refused.content[0].text,
    guide: guide.contents[0].text.slice(0, 14),
    prompts: prompts.length,
    prompt: prompt.messages[0].content.type,
  };
}

console.log(JSON.stringify([
  await use(new Client(about, { versionNegotiation: { mode: 'auto' } }), new StreamableHTTPClientTransport(new URL(url), options)),
  await use(new OlderClient(about), new OlderTransport(new URL(url), options)),
]));
