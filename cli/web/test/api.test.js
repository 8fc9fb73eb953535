import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchInfo, readInfo, sample } from '../src/lib/api.js'

function answer(t, status, body) {
  const calls = []
  t.mock.method(globalThis, 'fetch', async (...args) => {
    calls.push(args)
    return new Response(body, { status })
  })
  return calls
}

test('whatever the host says about itself can be shown', () => {
  assert.deepEqual(readInfo(null), { model: undefined, examples: [], servers: [] })
  assert.deepEqual(readInfo({ model: 1, examples: ['a', 2], servers: [null, { name: 'x', connected: 'yes', tools: 'no' }] }), {
    model: undefined,
    examples: ['a'],
    servers: [{ name: 'x', url: '', tools: [], connected: false, error: undefined }],
  })
})

test('a host without information is no failure', async (t) => {
  answer(t, 404, 'nothing here')
  assert.equal(await fetchInfo(), undefined)
})

test('the model is asked with the request and answers with text', async (t) => {
  const calls = answer(t, 200, '{"text":"hi"}')
  assert.equal(await sample({ messages: [] }), 'hi')
  const [url, init] = calls[0]
  assert.deepEqual([url, init.method, JSON.parse(init.body)], ['/api/sample', 'POST', { request: { messages: [] } }])
})

test('a failed answer of the model carries the reason', async (t) => {
  answer(t, 502, '{"error":"no key"}')
  await assert.rejects(sample({}), /no key/)
})

test('a failure without a reason carries the status', async (t) => {
  answer(t, 500, '<html>')
  await assert.rejects(sample({}), /HTTP 500/)
})

test('an answer without text is a failure', async (t) => {
  answer(t, 200, '{}')
  await assert.rejects(sample({}), /no text/)
})
