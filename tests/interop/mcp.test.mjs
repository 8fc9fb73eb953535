// The official MCP SDKs: as a server that `roscius serve` talks to, and as clients of its `/mcp`.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer, createMcpHandler, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { assistantText, newClient, partsOf } from './drive.mjs'
import { startServe } from './host.mjs'

const MODERN = '2026-07-28'

/** An MCP server of the official SDK on a free port, with a list of what it was asked. */
async function startPeer() {
  const calls = []
  const codec = createRequestStateCodec({ key: new Uint8Array(32).fill(7), ttlSeconds: 600 })
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'peer', version: '1.0.0' },
      { requestState: { verify: codec.verify } },
    )
    server.registerTool(
      'add',
      { description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
      async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
    )
    server.registerTool(
      'book_table',
      { description: 'Books a table', inputSchema: z.object({ day: z.string() }) },
      async ({ day }, ctx) => {
        const answer = ctx.mcpReq.inputResponses?.seats
        const state = ctx.mcpReq.requestState()
        calls.push({ day, answer, state })
        if (!answer) {
          return inputRequired({
            inputRequests: {
              seats: inputRequired.elicit({
                message: `How many seats on ${day}?`,
                requestedSchema: { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] },
              }),
            },
            requestState: await codec.mint({ day }),
          })
        }
        if (answer.action !== 'accept') return { content: [{ type: 'text', text: `no table: ${answer.action}` }] }
        return { content: [{ type: 'text', text: `${answer.content.seats} seats on ${state.day}` }] }
      },
    )
    return server
  })
  const http = createServer(async (request, response) => {
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        ...(hasBody && { body: Readable.toWeb(request), duplex: 'half' }),
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) Readable.fromWeb(answer.body).pipe(response)
    else response.end()
  })
  await new Promise((done) => http.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${http.address().port}/mcp`,
    calls,
    async close() {
      await handler.close()
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  }
}

describe('a server of the official SDK 2.x', () => {
  let peer
  let serve
  let threads = 0
  const directory = mkdtempSync(join(tmpdir(), 'roscius-mcp-'))
  const script = join(directory, 'script.json')

  before(async () => {
    writeFileSync(
      script,
      JSON.stringify({
        turns: [
          { toolCalls: [{ id: 'call_add', name: 'peer_add', arguments: { a: 2, b: 3 } }] },
          { toolCalls: [{ id: 'call_book', name: 'peer_book_table', arguments: { day: 'Monday' } }] },
          { text: ['Booked', '.'] },
        ],
      }),
    )
    peer = await startPeer()
    serve = await startServe(['--mcp', `peer=${peer.url}`, '--model', `scripted:${script}`, '--approve', 'never'])
  })
  after(async () => {
    await serve?.stop()
    await peer?.close()
    rmSync(directory, { recursive: true })
  })

  async function booking(check) {
    const chat = newClient(serve.chat, { thread: `thread-peer-${++threads}` })
    try {
      peer.calls.length = 0
      await chat.send('book a table')
      const paused = chat.state()
      assert.deepEqual(paused.errors, [])
      assert.deepEqual(
        partsOf(paused, 'tool-result').map((part) => [part.toolCallId, part.content]),
        [['call_add', '5']],
      )
      assert.equal(paused.interrupts.length, 1)
      const [item] = paused.interrupts
      assert.equal(item.id, 'mcp_input_call_book')
      assert.equal(item.reason, 'mcp_input')
      assert.equal(item.metadata.toolName, 'peer_book_table')
      const payload = item.metadata['tanstack:interruptPayload']
      assert.equal(payload.kind, 'form')
      assert.equal(payload.request.message, 'How many seats on Monday?')
      assert.deepEqual(payload.request.requestedSchema.required, ['seats'])
      await check(chat)
      const state = chat.state()
      assert.equal(state.status, 'ready', JSON.stringify(state.errors))
      assert.deepEqual(state.interrupts, [])
      assert.equal(assistantText(state), 'Booked.')
      assert.equal(peer.calls.length, 2, 'asked once, answered in one call')
      assert.deepEqual(peer.calls[1].state, { day: 'Monday' }, 'the state came back')
      return partsOf(state, 'tool-result').find((part) => part.toolCallId === 'call_book')
    } finally {
      chat.dispose()
    }
  }

  test('its question is answered in the chat', async () => {
    const result = await booking((chat) => chat.answer(0, { seats: 4 }))
    assert.equal(result.state, 'complete')
    assert.match(result.content, /4 seats on Monday/)
  })

  test('its question is declined', async () => {
    const result = await booking((chat) => chat.answer(0, { action: 'decline' }))
    assert.match(result.content, /no table: decline/)
  })

  test('its question is cancelled', async () => {
    const result = await booking((chat) => chat.cancel(0))
    assert.match(result.content, /no table: cancel/)
  })

  test('an answer that does not fit stays here', () =>
    booking(async (chat) => {
      await chat.answer(0, { seats: 'many' })
      assert.equal(chat.state().interrupts[0].errors[0].code, 'invalid-payload')
      assert.equal(peer.calls.length, 1)
      await chat.answer(0, { seats: 2 })
    }))
})

describe('clients of the official SDKs', () => {
  let serve
  const names = ['ask_city', 'delete_note', 'fail', 'get_weather', 'slow_count', 'summarize']
  const text = (result) => result.content.map((block) => block.text ?? '').join('')

  before(async () => {
    serve = await startServe()
  })
  after(() => serve?.stop())

  async function modern(check, { capabilities = {}, mode = 'auto', handlers = {} } = {}) {
    const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } })
    for (const [method, handler] of Object.entries(handlers)) client.setRequestHandler(method, handler)
    await client.connect(new StreamableHTTPClientTransport(new URL(`${serve.url}/mcp`)))
    try {
      assert.equal(client.getNegotiatedProtocolVersion(), MODERN)
      return await check(client)
    } finally {
      await client.close()
    }
  }

  async function old(check) {
    const client = new OldClient({ name: 'interop', version: '1.0.0' }, { capabilities: {} })
    await client.connect(new OldTransport(new URL(`${serve.url}/mcp`)))
    try {
      return await check(client)
    } finally {
      await client.close()
    }
  }

  for (const [what, open] of [
    ['2.x', modern],
    ['1.x', old],
  ]) {
    test(`${what} lists the tools`, () =>
      open(async (client) => {
        const { tools } = await client.listTools()
        assert.deepEqual(tools.map((tool) => tool.name).sort(), names)
        for (const tool of tools) assert.equal(tool.inputSchema.type, 'object')
        const weather = tools.find((tool) => tool.name === 'get_weather')
        assert.ok(weather.inputSchema.properties.city)
        assert.deepEqual(weather.inputSchema.required, ['city'])
        assert.equal(tools.find((tool) => tool.name === 'delete_note').annotations?.destructiveHint, true)
      }))

    test(`${what} calls a tool`, () =>
      open(async (client) => {
        const result = await client.callTool({ name: 'get_weather', arguments: { city: 'Oslo' } })
        assert.ok(!result.isError, text(result))
        assert.match(text(result), /Oslo|\d/)
      }))

    test(`${what} sees the error of a tool`, () =>
      open(async (client) => {
        const result = await client.callTool({ name: 'fail', arguments: { message: 'on purpose' } })
        assert.equal(result.isError, true)
        assert.match(text(result), /on purpose/)
      }))

    test(`${what} calls an unknown tool`, () =>
      open(async (client) => {
        await assert.rejects(client.callTool({ name: 'nope', arguments: {} }), (error) => {
          assert.equal(error.code, -32602, String(error))
          return true
        })
      }))

    test(`${what} sends arguments that do not fit`, () =>
      open(async (client) => {
        const answer = await client.callTool({ name: 'get_weather', arguments: { city: 7 } }).then(
          (result) => (result.isError ? 'tool error' : `a result: ${text(result)}`),
          (error) => (error.code === -32602 ? 'invalid params' : `another error: ${error}`),
        )
        assert.match(answer, /^(tool error|invalid params)$/)
      }))
  }

  test('2.x speaks the pinned revision', () => modern((client) => client.listTools(), { mode: { pin: MODERN } }))

  const elicit = (action, seen = []) => ({
    capabilities: { elicitation: { form: {} } },
    handlers: {
      'elicitation/create': async (request) => {
        seen.push(request.params)
        const [name] = Object.keys(request.params.requestedSchema.properties)
        return action === 'accept' ? { action, content: { [name]: 'Bergen' } } : { action }
      },
    },
  })

  test('2.x is asked and answers', async () => {
    const seen = []
    await modern(
      async (client) => {
        const result = await client.callTool({ name: 'ask_city', arguments: {} })
        assert.ok(!result.isError, text(result))
        assert.match(text(result), /Bergen/)
        assert.equal(seen.length, 1)
        assert.ok(seen[0].message.length > 0)
      },
      elicit('accept', seen),
    )
  })

  for (const action of ['decline', 'cancel']) {
    test(`2.x is asked and answers ${action}`, () =>
      modern(async (client) => {
        const result = await client.callTool({ name: 'ask_city', arguments: {} })
        assert.doesNotMatch(text(result), /Bergen/)
      }, elicit(action)))
  }

  test('2.x is asked for a model reply', () =>
    modern(
      async (client) => {
        const result = await client.callTool({ name: 'summarize', arguments: { text: 'cats are quick' } })
        assert.ok(!result.isError, text(result))
        assert.match(text(result), /Cats purr\./)
      },
      {
        capabilities: { sampling: {} },
        handlers: {
          'sampling/createMessage': async (request) => {
            assert.match(JSON.stringify(request.params.messages), /cats are quick/)
            return { model: 'm', role: 'assistant', content: { type: 'text', text: 'Cats purr.' } }
          },
        },
      },
    ))

  test('2.x that cannot be asked gets an error', () =>
    modern(async (client) => {
      const answer = await client.callTool({ name: 'ask_city', arguments: {} }).then(
        (result) => (result.isError ? 'error' : 'result'),
        () => 'error',
      )
      assert.equal(answer, 'error')
    }))

  test('1.x cannot be asked: the tool fails', () =>
    old(async (client) => {
      const answer = await client.callTool({ name: 'ask_city', arguments: {} }).then(
        (result) => (result.isError ? 'error' : 'result'),
        () => 'error',
      )
      assert.equal(answer, 'error')
    }))
})
