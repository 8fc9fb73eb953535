// Clients of the official SDKs at a server that requires bearer tokens (`examples/auth_server.rs`): they find
// out who issues them, get one, and get a better one when a tool asks for more.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ClientCredentialsProvider as OldProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startExample } from './host.mjs'

describe('a server that requires tokens', () => {
  let serve
  let token
  let issuer
  const desk = { clientId: 'desk', clientSecret: 'secret' }
  const text = (result) => result.content.map((block) => block.text ?? '').join('')

  before(async () => {
    serve = await startExample('auth_server')
    token = /a token: (\S+)/.exec(serve.out())?.[1]
    const document = await fetch(`${serve.url}/.well-known/oauth-protected-resource/mcp`)
    issuer = (await document.json()).authorization_servers[0]
  })
  after(() => serve?.kill())

  const modern = (options) =>
    [new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } }),
      new StreamableHTTPClientTransport(new URL(`${serve.url}/mcp`), options)]
  const old = (options) =>
    [new OldClient({ name: 'interop', version: '1.0.0' }), new OldTransport(new URL(`${serve.url}/mcp`), options)]

  for (const [what, make, Provider, scope] of [
    ['2.x', modern, ClientCredentialsProvider, undefined],
    // 1.x does not ask for the scopes of a challenge with this grant, so it is told them.
    ['1.x', old, OldProvider, 'notes:read notes:write'],
  ]) {
    test(`${what} finds the issuer and gets a token`, async () => {
      const authProvider = new Provider({ ...desk, scope, expectedIssuer: issuer })
      const [client, transport] = make({ authProvider })
      await client.connect(transport)
      try {
        const { tools } = await client.listTools()
        assert.deepEqual(tools.map((tool) => tool.name).sort(), ['clear', 'whoami'])
        assert.equal(text(await client.callTool({ name: 'whoami', arguments: {} })), 'ada, by desk')
        const first = (await authProvider.tokens()).scope
        assert.equal(text(await client.callTool({ name: 'clear', arguments: {} })), 'cleared')
        assert.equal(first, scope ?? 'notes:read', '2.x asked for more when the tool did')
        assert.equal((await authProvider.tokens()).scope, 'notes:read notes:write')
      } finally {
        await client.close()
      }
    })

    test(`${what} brings a token of its own`, async () => {
      const headers = { authorization: `Bearer ${token}` }
      const [client, transport] = make({ requestInit: { headers } })
      await client.connect(transport)
      try {
        assert.equal(text(await client.callTool({ name: 'whoami', arguments: {} })), 'ada, by desk')
        await assert.rejects(client.callTool({ name: 'clear', arguments: {} }), /insufficient.scope|403/i)
      } finally {
        await client.close()
      }
    })

    test(`${what} without a token is told so`, async () => {
      const [client, transport] = make({})
      await assert.rejects(client.connect(transport), /401|unauthorized|Missing Authorization/i)
    })
  }
})
