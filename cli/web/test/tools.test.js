import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callView, closeOpenCalls, keepOrder, pretty, resultsById } from '../src/lib/tools.js'

const call = (more) => ({ type: 'tool-call', id: 'c1', name: 't', arguments: '{"a":1}', state: 'input-complete', ...more })
const result = (content, state = 'complete') => ({ type: 'tool-result', toolCallId: 'c1', content, state })
const text = (content) => ({ type: 'text', content })
const message = (...parts) => ({ id: 'm1', role: 'assistant', parts })

test('JSON is indented, other text is as it is', () => {
  assert.equal(pretty('{"a":1}'), '{\n  "a": 1\n}')
  assert.equal(pretty('plain'), 'plain')
  assert.equal(pretty({ a: 1 }), '{\n  "a": 1\n}')
})

test('the last result of a call counts', () => {
  const results = resultsById([message(call(), result('one')), message(result('two'))])
  assert.equal(results.get('c1').content, 'two')
})

test('a call goes through its states', () => {
  assert.equal(callView(call({ state: 'input-streaming' })).state, 'streaming')
  assert.equal(callView(call()).state, 'running')
  assert.equal(callView(call(), undefined, true).state, 'waiting')
  assert.equal(callView(call({ state: 'approval-requested' }), undefined, true).state, 'approval')
  assert.deepEqual(callView(call(), result('ok')), { state: 'complete', text: 'ok' })
  assert.deepEqual(callView(call({ state: 'complete', output: { b: 2 } })), { state: 'complete', text: '{\n  "b": 2\n}' })
  assert.deepEqual(callView(call(), result('{"error":"no"}', 'error')), { state: 'error', text: 'no' })
})

test('an approved call is running until its real result', () => {
  const placeholder = result('{"approved":true,"pendingExecution":true,"message":"User approved this action"}')
  assert.equal(callView(call(), placeholder).state, 'running')
})

test('a denied call says so, by decision or by result', () => {
  assert.equal(callView(call({ approval: { approved: false } })).state, 'denied')
  assert.equal(callView(call(), result('{"approved":false,"message":"User denied this action"}')).state, 'denied')
})

test('a result that has a member called error is no failure by itself', () => {
  assert.equal(callView(call(), result('{"error":"a word"}')).state, 'complete')
})

test('calls without a result are closed with an error that the next request carries', () => {
  const [closed] = closeOpenCalls([message(text('a'), call(), text('b'))])
  assert.deepEqual(closed.parts.map((part) => part.type), ['text', 'tool-call', 'tool-result', 'text'])
  assert.equal(callView(closed.parts[1], closed.parts[2]).state, 'error')
  assert.deepEqual(Object.keys(JSON.parse(closed.parts[2].content)), ['error'])
})

test('an approval that never ran is closed too, its placeholder replaced', () => {
  const [closed] = closeOpenCalls([message(call(), result('{"approved":true,"pendingExecution":true}'))])
  assert.deepEqual(closed.parts.map((part) => part.type), ['tool-call', 'tool-result'])
  assert.match(closed.parts[1].content, /error/)
})

test('a call whose arguments are cut off is left out', () => {
  const [closed] = closeOpenCalls([message(text('a'), call({ arguments: '{"a":' }))])
  assert.deepEqual(closed.parts, [text('a')])
})

test('nothing open, nothing changed', () => {
  const messages = [message(call(), result('ok')), message(call({ id: 'c2', output: 0 }))]
  assert.equal(closeOpenCalls(messages), messages)
})

test('parts keep the order in which they came through a snapshot', () => {
  const before = message(call(), result('ok'), text('after'))
  const snapshot = message(text('after'), call({ state: 'complete' }), result('ok'))
  const kept = keepOrder(before, snapshot)
  assert.deepEqual(kept.parts.map((part) => part.type), ['tool-call', 'text', 'tool-result'])
  assert.equal(kept.parts[0].state, 'complete')
})

test('a message that really changed keeps its new form', () => {
  const before = message(call(), text('after'))
  const longer = message(text('after that'), call())
  assert.equal(keepOrder(before, longer), longer)
  assert.equal(keepOrder(undefined, longer), longer)
  assert.equal(keepOrder(longer, longer), longer)
})
