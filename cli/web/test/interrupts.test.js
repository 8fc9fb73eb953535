import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classify, contentText, errorLines, fieldOrders, heldCall, isSettled } from '../src/lib/interrupts.js'

const bound = (more) => ({ id: 'x', kind: 'generic', canResolve: true, errors: [], ...more })
const withPayload = (payload) => ({ toolName: 't', 'tanstack:interruptPayload': payload })

test('form and sampling questions are told by id and payload', () => {
  const id = 'mcp_input_c1'
  const form = classify(bound({ id, metadata: withPayload({ kind: 'form', request: { message: 'q' } }) }))
  assert.deepEqual(form, { card: 'form', toolName: 't', request: { message: 'q' } })
  const sampling = classify(bound({ id, metadata: withPayload({ kind: 'sampling', request: {} }) }))
  assert.equal(sampling.card, 'sampling')
})

test('what looks like a question under another id, or has no request, is generic', () => {
  assert.equal(classify(bound({ metadata: withPayload({ kind: 'form', request: {} }) })).card, 'generic')
  const id = 'mcp_input_c1'
  assert.equal(classify(bound({ id, metadata: withPayload({ kind: 'form' }) })).card, 'generic')
  assert.equal(classify(bound({ id, metadata: withPayload({ kind: 'url', request: {} }) })).card, 'generic')
  assert.equal(classify(bound({ id })).card, 'generic')
})

test('an item that cannot be answered is closed, whatever it asks', () => {
  assert.equal(classify(bound({ kind: 'unbound', canResolve: false })).card, 'closed')
  const metadata = { kind: 'approval', toolName: 't', input: {} }
  assert.equal(classify(bound({ canResolve: false, metadata })).card, 'closed')
})

test('an approval answers in the form that its kind takes', () => {
  const calls = []
  const resolveInterrupt = (...args) => calls.push(args)
  const metadata = { kind: 'approval', toolName: 't', input: { id: 3 } }
  const plain = classify(bound({ metadata, resolveInterrupt }))
  assert.deepEqual([plain.card, plain.toolName, plain.input], ['approval', 't', { id: 3 }])
  plain.resolve(true)
  plain.resolve(true, { id: 4 })
  plain.resolve(false)
  const typed = classify(
    bound({ kind: 'tool-approval', toolName: 't', originalArgs: { id: 3 }, resolveInterrupt }),
  )
  typed.resolve(true, { id: 4 })
  typed.resolve(false)
  assert.deepEqual(calls, [
    [{ approved: true }],
    [{ approved: true, editedArgs: { id: 4 } }],
    [{ approved: false }],
    [true, { editedArgs: { id: 4 } }],
    [false, undefined],
  ])
})

test('the held call is the one named, or the rest of the id', () => {
  assert.equal(heldCall({ id: 'approval_a', toolCallId: 'b' }), 'b')
  assert.equal(heldCall({ id: 'approval_a' }), 'a')
  assert.equal(heldCall({ id: 'mcp_input_mcp_input_' }), 'mcp_input_')
  assert.equal(heldCall({ id: 'other' }), undefined)
})

test('the order of fields is read from the event, other events have none', () => {
  const item = {
    id: 'mcp_input_c1',
    metadata: withPayload({ kind: 'form', request: { requestedSchema: { properties: { b: {}, a: {} } } } }),
  }
  const chunk = { type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts: [item, { id: 'y' }, null] } }
  assert.deepEqual(fieldOrders(chunk), [['mcp_input_c1', ['b', 'a']]])
  assert.deepEqual(fieldOrders({ type: 'RUN_FINISHED' }), [])
  assert.deepEqual(fieldOrders({ type: 'TEXT_MESSAGE_START' }), [])
})

test('content is shown as text, and what is not text is named', () => {
  assert.equal(contentText({ type: 'text', text: 'a' }), 'a')
  assert.equal(contentText([{ type: 'text', text: 'a' }, { type: 'image', mimeType: 'image/png' }]), 'a\n[image, image/png]')
  assert.equal(contentText(undefined), '')
})

test('an error is shown with the place it is about', () => {
  const errors = [{ message: 'too short', path: ['city'] }, { message: 'gone' }]
  assert.deepEqual(errorLines({ errors }), ['too short (city)', 'gone'])
})

test('an answer that came too late cannot be given again', () => {
  assert.equal(isSettled({ errors: [{ code: 'conflict' }] }), true)
  assert.equal(isSettled({ errors: [{ code: 'invalid-payload' }] }), false)
  assert.equal(isSettled({ errors: [] }), false)
})
