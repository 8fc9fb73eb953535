// The comparison code itself: it must let through what may differ, and nothing else.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { Children, pidOf, within } from './children.mjs'
import { diff, normalEvents, normalState } from './normal.mjs'
import { parseEvents } from './wire.mjs'

const known = new Set(['run-1', 'c1'])
const start = (messageId, extra = {}) => ({ type: 'TEXT_MESSAGE_START', timestamp: 1, messageId, ...extra })

test('host-made ids are numbered by first appearance', () => {
  const a = normalEvents([start('m-a'), start('m-b'), start('m-a')], known)
  const b = normalEvents([start('x'), start('y'), start('x')], known)
  const c = normalEvents([start('x'), start('y'), start('y')], known)
  assert.deepEqual(diff(a, b), [])
  assert.equal(diff(a, c).length, 1)
})

test('known and derived ids must be equal', () => {
  const event = (id) => [{ type: 'X', timestamp: 1, id }]
  assert.equal(diff(normalEvents(event('c1'), known), normalEvents(event('c2'), known)).length, 1)
  assert.equal(diff(normalEvents(event('approval_c1'), known), normalEvents(event('approval_c2'), known)).length, 1)
})

test('a missing time stamp is a difference', () => {
  assert.equal(diff(normalEvents([start('a')], known), normalEvents([{ ...start('a'), timestamp: 'x' }], known)).length, 1)
})

test('known times stay', () => {
  const event = (createdAt) => [{ type: 'X', timestamp: 1, createdAt }]
  const times = new Set(['2026-01-01T00:00:00.000Z'])
  assert.equal(normalEvents(event('2026-01-01T00:00:00.000Z'), times)[0].createdAt, '2026-01-01T00:00:00.000Z')
  assert.equal(normalEvents(event('2026-01-01T00:00:01.000Z'), times)[0].createdAt, '<time>')
})

test('the wording of a validator is free, the text around it is not', () => {
  const recorded = 'tool t: Invalid input: expected string, received number'
  assert.deepEqual(diff(recorded, 'tool t: 3 is not of type "string"'), [])
  assert.equal(diff(recorded, 'tool t: ').length, 1)
  assert.equal(diff(recorded, 'tool u: 3 is not a string').length, 1)
})

test('a missing and an extra member are differences', () => {
  assert.equal(diff({ a: 1 }, {}).length, 1)
  assert.equal(diff({}, { a: 1 }).length, 1)
  assert.equal(diff([1], [1, 2]).length, 1)
})

test('the state keeps roles, texts and part states', () => {
  const state = (id, text) => ({ messages: [{ id, role: 'user', parts: [{ type: 'text', content: text }], createdAt: 'now' }] })
  assert.deepEqual(diff(normalState(state('a', 'hi')), normalState(state('b', 'hi'))), [])
  assert.equal(diff(normalState(state('a', 'hi')), normalState(state('b', 'ho'))).length, 1)
})

test('frames are one data line each', () => {
  assert.deepEqual(parseEvents(': ping\n\ndata: {"a":1}\n\n'), [{ a: 1 }])
  assert.throws(() => parseEvents('event: x\ndata: {}\n\n'))
  assert.throws(() => parseEvents('data: {}'))
})

/** A program that ends by itself only when its input does. */
const WAITS = ['-e', 'process.stdin.resume()']

test('what a test has started is ended by its id, once', async () => {
  const children = new Children()
  const [kept, ended] = [0, 1].map(() => spawn(process.execPath, WAITS, { stdio: ['pipe', 'ignore', 'ignore'] }))
  for (const child of [kept, ended]) children.add(() => pidOf(child))
  const exit = once(ended, 'exit')
  ended.stdin.end()
  await exit
  const killed = once(kept, 'exit')
  assert.deepEqual(children.end(), [kept.pid])
  assert.deepEqual(await killed, [null, 'SIGKILL'])
  assert.deepEqual(children.end(), [])
})

test('what a test leaves behind ends with the process', () => {
  const script = `
    import { spawn } from 'node:child_process'
    import { Children, pidOf } from '${new URL('./children.mjs', import.meta.url)}'
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: ['ignore', 'inherit', 'ignore'] })
    new Children().add(() => pidOf(child))
    process.exit(0)`
  // The output ends when nobody holds it any more.
  const options = { timeout: 20_000, stdio: ['ignore', 'pipe', 'inherit'] }
  const { error, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options)
  assert.deepEqual({ error, status }, { error: undefined, status: 0 })
})

test('nothing is waited for longer than it may take', async () => {
  assert.equal(await within(1_000, 'a value', Promise.resolve(1)), 1)
  await assert.rejects(within(1, 'nothing', new Promise(() => {})), /not within 1 ms: nothing/)
})
