// Own tools that ask for input in the middle of a call, and the real chat client that answers.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assistantText, newClient, partsOf } from './drive.mjs'
import { fixtures, scenarios, startFixture, withHost } from './host.mjs'
import { diff, normalState } from './normal.mjs'

const form = JSON.parse(readFileSync(join(scenarios, 'input-form.server.json'), 'utf8')).tools[0].results[0].needsInput.request

/** Opens a scenario with the real client, sends `go`, and hands both to `check`. */
function paused(scenario, check, thread = `thread-${scenario}`) {
  return withHost(startFixture(join(scenarios, `${scenario}.server.json`)), async (host) => {
    const chat = newClient(host.chat, { thread })
    try {
      await chat.send('ask')
      assert.equal(chat.state().status, 'ready')
      assert.deepEqual(chat.state().errors, [])
      await check(chat, host)
    } finally {
      chat.dispose()
    }
  })
}

/** The output of a tool call part, and that the result row says the same. */
function outputOf(state, toolCallId) {
  const call = partsOf(state, 'tool-call').find((part) => part.id === toolCallId)
  const result = partsOf(state, 'tool-result').find((part) => part.toolCallId === toolCallId)
  assert.ok(result, `a result of ${toolCallId}`)
  assert.deepEqual(JSON.parse(result.content), call.output)
  return { output: call.output, state: result.state, error: result.error }
}

/** Everything a finished conversation must be. */
function finished(chat, text) {
  const state = chat.state()
  assert.equal(state.status, 'ready')
  assert.deepEqual(state.errors, [])
  assert.deepEqual(state.interrupts, [])
  assert.equal(assistantText(state), text)
  return state
}

/** The continuation as it was posted. */
function continuation(chat) {
  const [first, second] = chat.seen.bodies
  assert.equal(chat.seen.bodies.length, 2)
  assert.equal(second.parentRunId, first.runId)
  assert.notEqual(second.runId, first.runId)
  return second
}

test('a form is listed exactly as the client can answer it', () =>
  paused(
    'input-form',
    (chat) => {
      const recorded = JSON.parse(readFileSync(join(fixtures, 'mcp-input-minimal.client.json'), 'utf8'))
      const list = (interrupts) => normalState({ messages: [], interrupts })
      assert.deepEqual(diff(list(recorded.notes.listed), list(chat.state().interrupts)), [])
      assert.deepEqual(partsOf(chat.state(), 'tool-result'), [])
    },
    'thread-mcp-input-minimal',
  ))

test('a form that is answered', () =>
  paused('input-form', async (chat, host) => {
    await chat.answer(0, { value: 'Oslo' })
    const state = finished(chat, 'Thanks.')
    assert.deepEqual(outputOf(state, 'call_m').output, { received: { status: 'resolved', payload: { value: 'Oslo' } } })
    assert.deepEqual(continuation(chat).resume, [
      { interruptId: 'mcp_input_call_m', payload: { value: 'Oslo' }, status: 'resolved' },
    ])
    const log = await host.log()
    assert.deepEqual(log.problems, [])
    assert.equal(log.modelCalls, 2)
    assert.deepEqual(log.toolRuns, [
      { tool: 'ask_city', toolCallId: 'call_m', arguments: {} },
      {
        tool: 'ask_city',
        toolCallId: 'call_m',
        arguments: {},
        input: { status: 'resolved', payload: { value: 'Oslo' } },
      },
    ])
  }))

test('a form that is cancelled', () =>
  paused('input-form', async (chat) => {
    await chat.cancel(0)
    const state = finished(chat, 'Thanks.')
    assert.deepEqual(outputOf(state, 'call_m').output, { received: { status: 'cancelled' } })
    assert.deepEqual(continuation(chat).resume, [{ interruptId: 'mcp_input_call_m', status: 'cancelled' }])
  }))

test('a form that is declined', () =>
  paused('input-form', async (chat) => {
    await chat.answer(0, { action: 'decline' })
    const state = finished(chat, 'Thanks.')
    assert.deepEqual(outputOf(state, 'call_m').output, { received: { status: 'resolved', payload: { action: 'decline' } } })
  }))

test('an answer that does not fit the form can be given again', () =>
  paused('input-form', async (chat, host) => {
    await chat.answer(0, { value: 7 })
    const refused = chat.state()
    assert.equal(refused.status, 'error')
    assert.equal(refused.interrupts.length, 1, 'the question is still open')
    const [error] = refused.interrupts[0].errors
    assert.equal(error?.code, 'invalid-payload')
    assert.deepEqual(error.path, ['value'])
    assert.equal((await host.log()).toolRuns.filter((run) => run.input).length, 0, 'nothing ran')
    await chat.answer(0, { value: 'Oslo' })
    const state = chat.state()
    assert.equal(state.status, 'ready')
    assert.deepEqual(outputOf(state, 'call_m').output, { received: { status: 'resolved', payload: { value: 'Oslo' } } })
    assert.equal((await host.log()).toolRuns.filter((run) => run.input).length, 1)
  }))

test('a question for the model that is answered', () =>
  paused('input-sampling', async (chat) => {
    const [item] = chat.state().interrupts
    assert.equal(item.reason, 'mcp_input')
    assert.equal(item.metadata['tanstack:interruptPayload'].kind, 'sampling')
    assert.equal(item.metadata['tanstack:interruptPayload'].request.messages[0].content.text, 'Summarize: cats')
    await chat.answer(0, 'They purr.')
    const state = finished(chat, 'Done.')
    assert.deepEqual(outputOf(state, 'call_s').output, { received: { status: 'resolved', payload: 'They purr.' } })
  }))

test('a question for the model that is cancelled', () =>
  paused('input-sampling', async (chat) => {
    await chat.cancel(0)
    const state = finished(chat, 'Done.')
    assert.deepEqual(outputOf(state, 'call_s').output, { received: { status: 'cancelled' } })
  }))

test('a tool that pauses with a reason of its own', () =>
  paused('input-own-reason', async (chat) => {
    const [item] = chat.state().interrupts
    assert.equal(item.id, 'mcp_input_call_a')
    assert.equal(item.reason, 'auth_required')
    assert.equal(item.kind, 'generic')
    assert.equal(item.canResolve, true)
    await chat.answer(0, { token: 't' })
    const state = finished(chat, 'Done.')
    assert.deepEqual(outputOf(state, 'call_a').output, { received: { status: 'resolved', payload: { token: 't' } } })
  }))

test('two questions and a finished tool in one turn', () =>
  paused('input-two', async (chat, host) => {
    const before = chat.state()
    assert.deepEqual(
      before.interrupts.map((item) => item.id),
      ['mcp_input_call_1', 'mcp_input_call_3'],
    )
    assert.deepEqual(outputOf(before, 'call_2').output, { temperature: 4 }, 'the sibling has its result')
    await chat.answer(0, { value: 'Oslo' })
    assert.equal(chat.seen.bodies.length, 1, 'nothing is posted before both are answered')
    await chat.answer(1, { day: 3 })
    const state = finished(chat, 'All three.')
    assert.deepEqual(outputOf(state, 'call_1').output.received.payload, { value: 'Oslo' })
    assert.deepEqual(outputOf(state, 'call_3').output.received.payload, { day: 3 })
    const runs = (await host.log()).toolRuns
    assert.equal(runs.filter((run) => run.tool === 'get_weather').length, 1, 'the sibling did not run again')
    assert.equal(runs.filter((run) => run.input).length, 2)
  }))

test('one of two questions cancelled', () =>
  paused('input-two', async (chat) => {
    await chat.answer(0, { value: 'Oslo' })
    await chat.cancel(1)
    const state = finished(chat, 'All three.')
    assert.deepEqual(outputOf(state, 'call_1').output, { received: { status: 'resolved', payload: { value: 'Oslo' } } })
    assert.deepEqual(outputOf(state, 'call_3').output, { received: { status: 'cancelled' } })
  }))

test('a tool that fails after the answer', () =>
  paused('input-failing', async (chat) => {
    await chat.answer(0, { value: 'Atlantis' })
    const state = finished(chat, 'Sorry.')
    const result = outputOf(state, 'call_m')
    assert.deepEqual(result.output, { error: 'no such city' })
    assert.equal(result.state, 'error')
  }))

test('the question blocks other input while it is open', () =>
  paused('input-form', async (chat) => {
    assert.deepEqual(chat.state().interrupts[0].metadata['tanstack:interruptPayload'].request, form)
    await assert.rejects(chat.send('never mind'), /pending interrupts/)
    assert.equal(chat.seen.bodies.length, 1)
  }))
