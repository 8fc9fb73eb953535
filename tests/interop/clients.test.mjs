// Every client of another maker against our server: with and without sessions, over HTTP with and without tokens, and
// on standard input and output. One cell of that matrix is one connection, and each thing it does is a test.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Children, within } from './children.mjs'
import { V2026, clients, older } from './clients.mjs'
import { eventually, mcpHost, startMcpHost } from './host.mjs'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

/** A Python takes seconds to start, and a cell starts several. */
const CELL_MS = process.env.MCP_PYTHON ? 180_000 : 30_000
/** A client may say goodbye, wait for its server and end it, all of which has deadlines of its own. */
const CLOSE_MS = 10_000

const places = [
  { name: 'HTTP', at: (host, mode) => ({ url: `${host.url}/${mode}/mcp` }), caller: 'nobody' },
  {
    name: 'HTTP with a token',
    at: (host, mode) => ({ url: `${host.url}/protected/${mode}/mcp`, token: 'writer' }),
    caller: 'writer',
  },
  { name: 'stdio', at: (_host, mode) => ({ command: [mcpHost, '--stdio', mode] }), caller: 'nobody' },
]

/** What the person, the model and the program on the client's side say. */
const answers = {
  elicitation: {
    action: 'accept',
    content: { value: 'Ada' },
    'Which dish?': { action: 'accept', content: { dish: 'soup' } },
    'How many?': { action: 'accept', content: { count: 2 } },
    'May I?': { action: 'decline' },
    'Please sign in': { action: 'accept' },
  },
  sampling: { model: 'm', role: 'assistant', content: { type: 'text', text: 'Cats purr.' } },
  roots: { roots: [{ uri: 'file:///home/ada', name: 'home' }] },
}

const TOOLS = [
  'add', 'ask_name', 'change', 'clear', 'confirm', 'echo', 'finish', 'hold', 'long', 'order', 'order_later', 'region',
  'roots', 'seen', 'sign_in', 'slow', 'steps', 'summarize', 'wait', 'whoami',
]

const text = (result) => result.content.map((block) => block.text ?? '').join('')
const names = (list) => list.map((item) => item.name).sort()

/** What a call that must fail says: its tool error, or the error of its request. */
async function failureOf(call) {
  let result
  try {
    result = await call
  } catch (error) {
    return { code: error.code, message: error.message }
  }
  assert.equal(result.isError, true, `a result came: ${JSON.stringify(result)}`)
  return { message: text(result) }
}

describe('clients', () => {
  let host
  const children = new Children()
  before(async () => {
    host = await startMcpHost()
  })
  after(async () => {
    children.end()
    if (!host) return
    const open = async () => (await fetch(`${host.url}/open`)).json()
    await eventually('all sessions and calls have ended', async () => {
      const { sessions, calls } = await open()
      return sessions + calls === 0
    })
    await host.stop()
  })

  for (const client of clients) {
    test(`${client.name} reads lists of many pages`, async () => {
      const session = await client.open({ url: `${host.url}/paged/mcp` }, {}, children)
      try {
        const tools = []
        let cursor
        do {
          const page = await session.request('tools/list', cursor === undefined ? {} : { cursor })
          tools.push(...page.tools)
          cursor = page.nextCursor
        } while (cursor !== undefined)
        assert.deepEqual(names(tools), TOOLS)
      } finally {
        await session.close()
      }
    })

    test(`${client.name} at a server of 2026 alone`, async () => {
      const place = { url: `${host.url}/modern/mcp` }
      if (client.version !== V2026) {
        await assert.rejects(client.open(place, {}, children), /unsupported protocol version|2026-07-28|-32022/i)
        return
      }
      const session = await client.open(place, {}, children)
      try {
        const sum = await session.request('tools/call', { name: 'add', arguments: { a: 1, b: 1 } })
        assert.deepEqual(sum.structuredContent, { sum: 2 })
      } finally {
        await session.close()
      }
    })
  }

  for (const client of [...clients, ...older]) {
    for (const mode of ['stateless', 'memory']) {
      for (const place of older.includes(client) ? places.slice(0, 1) : places) {
        const modern = client.version === V2026
        const http = place.name !== 'stdio'
        describe(`${client.name}, ${mode}, ${place.name}`, { timeout: CELL_MS }, () => {
          cell({ client, mode, place, modern, http, sessions: mode === 'memory', at: () => place.at(host, mode) })
        })
      }
    }
  }
})

test('a host that ends tells every client', { timeout: CELL_MS }, async () => {
  const host = await startMcpHost()
  const sessions = []
  const children = new Children()
  try {
    const waiting = []
    for (const client of clients) {
      const session = await client.open({ url: `${host.url}/memory/mcp` }, answers, children)
      sessions.push(session)
      if (client.version === V2026) await session.request('subscriptions/listen', { toolsListChanged: true })
      const call = session.request('tools/call', { name: 'wait', arguments: { tag: client.name } })
      waiting.push(failureOf(call).then(({ message }) => [client.name, message]))
      await eventually('the call runs', async () => {
        const seen = await session.request('tools/call', { name: 'seen', arguments: { tag: client.name } })
        return seen.structuredContent.started === 1
      })
    }
    await host.stop()
    for (const [name, message] of await Promise.all(waiting)) assert.match(message, /shutting down|cancelled/, name)
  } finally {
    await host.kill()
    const left = Promise.allSettled(sessions.map((session) => session.leave()))
    await within(CLOSE_MS, 'the clients leave', left).finally(() => children.end())
  }
})

function cell({ client, place, modern, http, sessions, at }) {
  /** Whether the server can say something that no request waits for, and can ask. */
  const reachable = modern || sessions
  let session
  const children = new Children()
  /** A cell that takes too long ends while something may still wait for its programs. */
  let late
  before(
    async () => {
      late = setTimeout(() => children.end(), CELL_MS)
      session = await client.open(at(), answers, children)
    },
    { timeout: CELL_MS },
  )
  after(async () => {
    try {
      await within(CLOSE_MS, 'the client closes', session?.close())
    } finally {
      clearTimeout(late)
      children.end()
    }
  })

  const call = (name, args = {}, options = undefined, meta = undefined) =>
    session.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }, options)
  const heard = (event) => session.events.filter((item) => item.event === event).map((item) => item.params)
  /** What comes in while something is done. */
  const during = async (event, act) => {
    const begin = heard(event).length
    const result = await act()
    return { result, came: () => heard(event).slice(begin) }
  }

  const PROGRESS = 'notifications/progress'
  /** Calls `steps`, and lets it end when its progress was heard. */
  const steps = async (meta) => {
    const tag = randomUUID()
    const begin = heard(PROGRESS).length
    const done = call('steps', { tag }, undefined, meta)
    await eventually('the last step', () => heard(PROGRESS).slice(begin).some((params) => params.progress === 3))
    await call('finish', { tag })
    assert.equal(text(await done), 'done')
  }

  test('connects', () => {
    assert.equal(session.version, client.version)
    assert.equal(session.server.name, 'interop')
    assert.equal(session.instructions, 'A server for tests.')
  })

  test('lists what is there', async () => {
    const { tools } = await session.request('tools/list', {})
    assert.deepEqual(names(tools), TOOLS)
    const add = tools.find((tool) => tool.name === 'add')
    assert.equal(add.title, 'Add')
    assert.equal(add.annotations.readOnlyHint, true)
    assert.deepEqual(add.inputSchema.required, ['a', 'b'])
    assert.deepEqual(add.outputSchema.required, ['sum'])
    const { resources } = await session.request('resources/list', {})
    assert.deepEqual(resources.map((item) => [item.uri, item.mimeType]), [['note://today', 'text/plain']])
    const { resourceTemplates } = await session.request('resources/templates/list', {})
    assert.deepEqual(resourceTemplates.map((item) => item.uriTemplate), ['note://day/{day}'])
    const { prompts } = await session.request('prompts/list', {})
    assert.deepEqual(names(prompts), ['ask_topic', 'greet'])
    const greet = prompts.find((prompt) => prompt.name === 'greet')
    assert.deepEqual(greet.arguments, [{ name: 'name', description: 'Who is greeted', required: true }])
  })

  test('calls tools', async () => {
    const result = await call('add', { a: 2, b: 3 })
    assert.deepEqual(result.structuredContent, { sum: 5 })
    assert.deepEqual(JSON.parse(text(result)), { sum: 5 })
    assert.equal(text(await call('whoami')), place.caller)
    const wrong = await call('add', { a: 'two', b: 3 })
    assert.equal(wrong.isError, true)
    assert.match(text(wrong), /a/)
    await assert.rejects(call('nothing'), (error) => {
      assert.equal(error.code, -32602, String(error))
      return true
    })
  })

  test('calls tools at the same time', async () => {
    const sums = Array.from({ length: 10 }, (_, i) => call('add', { a: i, b: 1 }))
    const results = await Promise.all(sums)
    assert.deepEqual(results.map((result) => result.structuredContent.sum), results.map((_, i) => i + 1))
  })

  test('brings any text there and back', async () => {
    // What could break a line, an event, a header or a string.
    const lines = '\r\n\r\ndata: {}\n: x\n'
    for (const said of [lines, '\u2028\u2029\u0085\u0000\ufeff', 'zwölf Käse 🧀', 'x'.repeat(100_000)]) {
      assert.equal(text(await call('echo', { text: said })), said)
      if (said.length < 100) assert.equal(text(await call('region', { region: said })), JSON.stringify(said))
    }
  })

  test('reads resources', async () => {
    const today = await session.request('resources/read', { uri: 'note://today' })
    assert.deepEqual(today.contents, [{ uri: 'note://today', mimeType: 'text/plain', text: 'Buy milk.' }])
    const { contents } = await session.request('resources/read', { uri: 'note://day/monday' })
    assert.equal(contents[0].uri, 'note://day/monday')
    assert.deepEqual(JSON.parse(contents[0].text), { day: 'monday', text: 'Rest.' })
    await assert.rejects(session.request('resources/read', { uri: 'note://gone' }), (error) => {
      assert.equal(error.code, client.notFound, String(error))
      return true
    })
  })

  test('gets prompts', async () => {
    const { messages } = await session.request('prompts/get', { name: 'greet', arguments: { name: 'Ada' } })
    assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Say hello to Ada.' } }])
    await assert.rejects(session.request('prompts/get', { name: 'greet', arguments: {} }), (error) => {
      assert.equal(error.code, -32602, String(error))
      assert.match(error.message, /name/)
      return true
    })
  })

  test('completes', async () => {
    const prompt = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'a' } }
    assert.deepEqual((await session.request('completion/complete', prompt)).completion.values, ['Ada', 'Alan'])
    const template = {
      ref: { type: 'ref/resource', uri: 'note://day/{day}' },
      argument: { name: 'day', value: 't' },
    }
    const { completion } = await session.request('completion/complete', template)
    assert.deepEqual(completion.values, ['tuesday', 'thursday'])
  })

  if (reachable) {
    test('is asked', async () => {
      const { result, came } = await during('elicitation/create', () => call('ask_name'))
      assert.equal(text(result), 'Hello, Ada!')
      assert.deepEqual(came().map((params) => params.message), ['What is your name?'])
    })

    test('is asked twice in one call', async () => {
      const { result, came } = await during('elicitation/create', () => call('order'))
      assert.equal(text(result), '2 of "soup"')
      assert.deepEqual(came().map((params) => params.message), ['Which dish?', 'How many?'])
    })

    test('is asked to open a page', async () => {
      if (older.includes(client)) {
        const failed = await failureOf(call('sign_in'))
        assert.match(failed.message, /client does not declare/)
        return
      }
      const { result, came } = await during('elicitation/create', () => call('sign_in'))
      assert.equal(text(result), 'signed in')
      assert.deepEqual(came().map((params) => [params.mode, params.url]), [['url', 'https://example.com/sign-in']])
    })

    test('says no', async () => {
      const failed = await failureOf(call('confirm'))
      assert.equal(failed.code, undefined, 'a result of the tool')
      assert.match(failed.message, /declin|accept/i)
    })

    test('is asked for a model reply', async () => {
      const { result, came } = await during('sampling/createMessage', () => call('summarize', { text: 'cats' }))
      assert.equal(text(result), 'Cats purr.')
      assert.match(JSON.stringify(came()[0].messages), /Summarize: cats/)
    })

    test('is asked for its roots', async () => {
      const result = await call('roots')
      assert.match(text(result), /file:\/\/\/home\/ada/)
    })

    test('is asked by a prompt', async () => {
      const { messages } = await session.request('prompts/get', { name: 'ask_topic', arguments: {} })
      assert.equal(messages[0].content.text, 'Write about Ada.')
    })
  } else {
    test('without a session cannot be asked', async () => {
      for (const [name, args] of [['ask_name', {}], ['summarize', { text: 'cats' }], ['roots', {}]]) {
        const failed = await failureOf(call(name, args))
        assert.match(failed.message, /session/, name)
      }
      const failed = await failureOf(session.request('prompts/get', { name: 'ask_topic', arguments: {} }))
      assert.match(failed.message, /session/)
    })
  }

  test('that declares nothing is not asked', async () => {
    const other = await client.open(at(), {}, children)
    try {
      for (const name of ['ask_name', 'roots']) {
        const failed = await failureOf(other.request('tools/call', { name, arguments: {} }))
        if (modern) assert.equal(failed.code, -32021, failed.message)
        assert.match(failed.message, reachable ? /client/ : /session/)
      }
      assert.deepEqual(other.events, [])
    } finally {
      await other.close()
    }
  })

  test('hears of the progress', async () => {
    const { came } = await during(PROGRESS, () => steps())
    assert.equal(came().at(-1).total, 3)
    assert.equal(came().at(-1).message, 'counting')
  })

  test('gets an answer whose stream ended before', async () => {
    assert.equal(text(await call('long')), 'came back')
  })

  test('hears the log at the level it asks for', async () => {
    const log = 'notifications/message'
    if (modern) {
      const silent = await during(log, () => steps())
      assert.deepEqual(silent.came(), [])
      const { came } = await during(log, () => steps({ [LOG_LEVEL]: 'info' }))
      await eventually('three lines', () => came().length === 3)
      assert.deepEqual(came().map((params) => params.data), ['step 1', 'step 2', 'step 3'])
      const fewer = await during(log, () => steps({ [LOG_LEVEL]: 'warning' }))
      assert.deepEqual(fewer.came(), [])
      return
    }
    if (!sessions) {
      const failed = await failureOf(session.request('logging/setLevel', { level: 'info' }))
      assert.match(failed.message, /logging|not found/i)
      return
    }
    await session.request('logging/setLevel', { level: 'info' })
    const { came } = await during(log, () => steps())
    await eventually('three lines', () => came().length === 3)
    await session.request('logging/setLevel', { level: 'warning' })
    const fewer = await during(log, () => steps())
    assert.deepEqual(fewer.came(), [])
  })

  test('cancels a call, and the tool sees it', async () => {
    const tag = randomUUID()
    const seen = async () => (await call('seen', { tag })).structuredContent
    const end = new AbortController()
    const rejected = assert.rejects(call('wait', { tag }, { signal: end.signal }))
    await eventually('the call runs', async () => (await seen()).started === 1)
    await eventually('it says so', () => heard(PROGRESS).some((params) => params.message === 'waiting'))
    assert.equal((await seen()).cancelled, 0)
    end.abort(new Error('enough'))
    await rejected
    if (!reachable && http) {
      // In 2025 a request has a name only within its session, and the end of its connection means nothing: the call
      // goes on, and what the client says about it is taken and has no effect.
      await call('finish', { tag })
      await eventually('the call ends', async () => (await seen()).finished === 1)
      assert.equal((await seen()).cancelled, 0)
    } else {
      await eventually('the tool is cancelled', async () => (await seen()).cancelled === 1)
      assert.equal((await seen()).finished, 0)
      assert.deepEqual(heard('error').map(String), [], 'and there is no answer')
    }
    assert.equal(text(await call('whoami')), place.caller, 'the connection goes on')
  })

  if (client.tasks) {
    test('runs tools as tasks', async () => {
      const { tasks } = session
      const slow = await tasks.start('slow', { text: 'at last' })
      assert.equal(text(await tasks.result(slow)), 'at last')
      assert.equal(await tasks.status(slow), 'completed')

      const tag = randomUUID()
      const seen = async () => (await call('seen', { tag })).structuredContent
      const hold = await tasks.start('hold', { tag })
      await eventually('the task runs', async () => (await seen()).started === 1)
      assert.equal(await tasks.status(hold), 'working')
      await tasks.cancel(hold)
      await eventually('the tool is cancelled', async () => (await seen()).cancelled === 1)
      assert.equal(await tasks.status(hold), 'cancelled')
    })

    if (!modern && sessions) {
      test('is asked by a task', async () => {
        const order = await session.tasks.start('order_later', {})
        assert.equal(text(await session.tasks.result(order)), '2 of "soup"')
      })
    }
  }

  test('hears of changes', async () => {
    const uri = 'note://today'
    if (!reachable) {
      const failed = await failureOf(session.request('resources/subscribe', { uri }))
      assert.match(failed.message, /subscri|not found/i)
      return
    }
    if (modern) {
      const notifications = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: [uri],
      }
      const honoured = await session.request('subscriptions/listen', notifications)
      assert.deepEqual(honoured, notifications)
    } else {
      await session.request('resources/subscribe', { uri })
    }
    for (const [what, event] of [
      ['tools', 'notifications/tools/list_changed'],
      ['prompts', 'notifications/prompts/list_changed'],
      ['resources', 'notifications/resources/list_changed'],
      ['today', 'notifications/resources/updated'],
    ]) {
      const { came } = await during(event, () => call('change', { what }))
      await eventually(event, () => came().length > 0)
      if (what === 'today') assert.equal(came()[0].uri, uri)
    }
    if (modern) return
    await session.request('resources/unsubscribe', { uri })
    const updated = 'notifications/resources/updated'
    const { came } = await during(updated, async () => {
      await call('change', { what: 'today' })
      const tools = await during('notifications/tools/list_changed', () => call('change', { what: 'tools' }))
      await eventually('the change after it', () => tools.came().length > 0)
    })
    assert.deepEqual(came(), [])
  })

  if (place.name !== 'HTTP with a token') return

  test('without a token, or with a wrong one, does not connect', async () => {
    const { url } = at()
    for (const token of [undefined, 'guessed']) {
      await assert.rejects(client.open({ url, token }), client.refused ?? /401|auth|invalid_token/i)
    }
  })

  test('with a token that allows less is told so', async () => {
    const reader = await client.open({ ...at(), token: 'reader' })
    try {
      assert.equal(text(await reader.request('tools/call', { name: 'whoami', arguments: {} })), 'reader')
      const failed = await failureOf(reader.request('tools/call', { name: 'clear', arguments: {} }))
      assert.match(failed.message, client.refused ?? /insufficient.scope|403|notes:write/i)
      assert.equal(text(await call('clear')), 'cleared')
    } finally {
      await reader.close()
    }
  })
}
