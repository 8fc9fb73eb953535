// The demo story of `roscius serve`, with the real chat client.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assistantText, newClient, partsOf } from './drive.mjs'
import { eventually, startServe } from './host.mjs'

let serve
let threads = 0

/** A conversation of its own. */
async function conversation(check) {
  const chat = newClient(serve.chat, { thread: `thread-demo-${++threads}` })
  try {
    return await check(chat)
  } finally {
    chat.dispose()
  }
}

/** The only tool call so far. */
function callOf(state, name, args) {
  const calls = partsOf(state, 'tool-call')
  assert.deepEqual(
    calls.map((call) => [call.name, JSON.parse(call.arguments)]),
    [[name, args]],
  )
  return calls[0]
}

function resultOf(state) {
  const results = partsOf(state, 'tool-result')
  assert.equal(results.length, 1, JSON.stringify(results))
  return results[0]
}

/** The conversation is over, without an error, and said something. */
function finished(chat) {
  const state = chat.state()
  assert.equal(state.status, 'ready', JSON.stringify(state.errors))
  assert.deepEqual(state.errors, [])
  assert.deepEqual(state.interrupts, [])
  assert.ok(assistantText(state).length > 0, 'it said something')
  return state
}

/** The only open question, of the given kind, which can be answered. */
function question(chat, kind) {
  const state = chat.state()
  assert.equal(state.status, 'ready', JSON.stringify(state.errors))
  assert.equal(state.interrupts.length, 1, JSON.stringify(state.messages))
  const [item] = state.interrupts
  assert.equal(item.canResolve, true)
  if (kind) {
    assert.equal(item.reason, 'mcp_input')
    assert.equal(item.metadata['tanstack:interruptPayload'].kind, kind)
  }
  return item
}

describe('the demo story', () => {
  before(async () => {
    serve = await startServe()
  })
  after(() => serve?.stop())

  test('/healthz', async () => {
    const response = await fetch(`${serve.url}/healthz`)
    assert.equal(response.status, 200)
  })

  test('the page is served', async () => {
    const response = await fetch(serve.url)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type'), /^text\/html/)
    assert.match(await response.text(), /<script/)
  })

  test('hello', () =>
    conversation(async (chat) => {
      await chat.send('hello')
      assert.deepEqual(partsOf(finished(chat), 'tool-call'), [])
    }))

  test('weather in Oslo', () =>
    conversation(async (chat) => {
      await chat.send('weather in Oslo')
      const state = finished(chat)
      callOf(state, 'demo_get_weather', { city: 'Oslo' })
      assert.equal(resultOf(state).state, 'complete')
      assert.match(assistantText(state), /Oslo/)
    }))

  test('the conversation goes on after a tool', () =>
    conversation(async (chat) => {
      await chat.send('weather in Oslo')
      await chat.send('hello')
      const state = finished(chat)
      assert.equal(partsOf(state, 'tool-call').length, 1)
      assert.equal(state.messages.at(-1).role, 'assistant')
      assert.notEqual(assistantText({ messages: [state.messages.at(-1)] }), '')
    }))

  const asked = (check) =>
    conversation(async (chat) => {
      await chat.send('ask me for a city')
      const item = question(chat, 'form')
      callOf(chat.state(), 'demo_ask_city', {})
      assert.deepEqual(partsOf(chat.state(), 'tool-result'), [])
      const { properties } = item.metadata['tanstack:interruptPayload'].request.requestedSchema
      const [name] = Object.keys(properties)
      assert.equal(properties[name].type, 'string')
      await check(chat, name)
      return resultOf(finished(chat))
    })

  test('ask me for a city: answered', async () => {
    const result = await asked(async (chat, name) => {
      await chat.answer(0, { [name]: 'Paris' })
      assert.match(assistantText(chat.state()), /Paris/)
    })
    assert.equal(result.state, 'complete')
    assert.match(result.content, /Paris/)
  })

  test('ask me for a city: answered as a full MCP answer', async () => {
    const result = await asked((chat, name) => chat.answer(0, { action: 'accept', content: { [name]: 'Rome' } }))
    assert.match(result.content, /Rome/)
  })

  test('ask me for a city: declined', () => asked((chat) => chat.answer(0, { action: 'decline' })))

  test('ask me for a city: cancelled', () => asked((chat) => chat.cancel(0)))

  const summarized = (check) =>
    conversation(async (chat) => {
      await chat.send('summarize: cats are small and quick')
      const item = question(chat, 'sampling')
      const { messages } = item.metadata['tanstack:interruptPayload'].request
      assert.match(JSON.stringify(messages), /cats are small and quick/)
      await check(chat)
      const state = finished(chat)
      assert.equal(partsOf(state, 'tool-call')[0].name, 'demo_summarize')
      return resultOf(state)
    })

  test('summarize: answered', async () => {
    const result = await summarized((chat) => chat.answer(0, 'Cats purr.'))
    assert.equal(result.state, 'complete')
    assert.match(result.content, /Cats purr\./)
  })

  test('summarize: answered as a full result', async () => {
    const result = await summarized((chat) =>
      chat.answer(0, { role: 'assistant', content: { type: 'text', text: 'Cats hunt.' }, model: 'me', stopReason: 'endTurn' }),
    )
    assert.match(result.content, /Cats hunt\./)
  })

  test('summarize: cancelled', async () => {
    const result = await summarized((chat) => chat.cancel(0))
    assert.equal(result.state, 'error')
  })

  const deletion = (check) =>
    conversation(async (chat) => {
      await chat.send('delete note 3')
      const item = question(chat)
      assert.equal(item.id.startsWith('approval_'), true)
      // The client does not know the tool, so the item is a generic one that shows what would run.
      assert.equal(item.kind, 'generic')
      assert.equal(item.metadata.kind, 'approval')
      assert.equal(item.metadata.toolName, 'demo_delete_note')
      assert.deepEqual(item.metadata.input, { id: 3 })
      await check(chat)
      const state = finished(chat)
      callOf(state, 'demo_delete_note', { id: 3 })
      return state
    })

  test('delete note 3: approved', async () => {
    const state = await deletion((chat) => chat.answer(0, { approved: true }))
    assert.equal(resultOf(state).state, 'complete')
  })

  test('delete note 3: denied', async () => {
    const state = await deletion((chat) => chat.answer(0, { approved: false }))
    const [call] = partsOf(state, 'tool-call')
    const denied = call.approval?.approved === false || call.output?.approved === false || 'error' in (call.output ?? {})
    assert.ok(denied, JSON.stringify(state.messages))
    for (const result of partsOf(state, 'tool-result')) assert.notEqual(result.state, 'complete', result.content)
  })

  test('count to 5', () =>
    conversation(async (chat) => {
      await chat.send('count to 5')
      const state = finished(chat)
      callOf(state, 'demo_slow_count', { to: 5 })
      assert.equal(resultOf(state).state, 'complete')
    }))

  test('stopped in the middle of counting, and asked again', () =>
    conversation(async (chat) => {
      const sending = chat.send('count to 5')
      await eventually('the call', () => chat.seen.chunks.some((chunk) => chunk.type === 'TOOL_CALL_END'))
      chat.client.stop()
      await sending
      const stopped = chat.state()
      assert.equal(chat.client.getIsLoading(), false)
      assert.deepEqual(stopped.errors, [])
      assert.deepEqual(partsOf(stopped, 'tool-result'), [], 'the count did not end')
      await chat.send('hello')
      const state = finished(chat)
      assert.notEqual(assistantText({ messages: [state.messages.at(-1)] }), '')
    }))

  test('SIGTERM ends an open stream with an event, and the process', async () => {
    const own = await startServe()
    const chat = newClient(own.chat, { thread: 'thread-drain' })
    const sending = chat.send('count to 5')
    await eventually('the call', () => chat.seen.chunks.some((chunk) => chunk.type === 'TOOL_CALL_END'))
    const begun = Date.now()
    await own.stop()
    assert.ok(Date.now() - begun < 6_000, `${Date.now() - begun} ms`)
    await sending
    const last = chat.seen.chunks.at(-1)
    assert.ok(['RUN_ERROR', 'RUN_FINISHED'].includes(last.type), last.type)
    assert.notEqual(chat.seen.errors[0]?.name, 'StreamReadError', 'the stream ended, it was not torn')
    chat.dispose()
  })
})

test('a source that cannot be reached is named and does not stop the rest', async () => {
  const own = await startServe(['--mcp', 'gone=http://127.0.0.1:9/mcp'])
  const chat = newClient(own.chat, { thread: 'thread-gone' })
  try {
    await eventually('its name', () => /gone/.test(own.out() + own.err()))
    await chat.send('weather in Oslo')
    assert.equal(chat.state().status, 'ready')
    assert.equal(partsOf(chat.state(), 'tool-result').length, 1)
  } finally {
    chat.dispose()
    await own.stop()
  }
})
