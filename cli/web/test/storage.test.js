import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openThread, readRecord, recordKey, startThread, threadStore, writeRecord } from '../src/lib/storage.js'

class Storage {
  items = new Map()
  get length() {
    return this.items.size
  }
  key(i) {
    return [...this.items.keys()][i] ?? null
  }
  getItem(key) {
    return this.items.get(key) ?? null
  }
  setItem(key, value) {
    this.items.set(key, value)
  }
  removeItem(key) {
    this.items.delete(key)
  }
}

const user = (id, content = 'hi') => ({ id, role: 'user', parts: [{ type: 'text', content }] })
const open = { id: 'a', role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 't', arguments: '{}', state: 'input-complete' }] }

/** A store whose timers fire when the test says so. */
function manual(options) {
  const due = []
  const store = threadStore({ defer: (run) => due.push(run), ...options })
  return { store, tick: () => due.splice(0).forEach((run) => run()) }
}

test('a thread id lasts, and a new thread forgets the old record', () => {
  const storage = new Storage()
  const id = openThread(storage)
  assert.match(id, /^thread-[0-9a-f]{24}$/)
  assert.equal(openThread(storage), id)
  storage.setItem(recordKey(id), '{}')
  storage.setItem('other', 'kept')
  const next = startThread(storage)
  assert.notEqual(next, id)
  assert.equal(storage.getItem(recordKey(id)), null)
  assert.equal(storage.getItem('other'), 'kept')
})

test('without storage there still is a thread', () => {
  assert.match(openThread(undefined), /^thread-/)
})

test('what is written comes back with its dates', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage })
  const createdAt = new Date('2030-01-01T00:00:00Z')
  store.setItem('t', { messages: [{ ...user('1'), createdAt }] })
  assert.equal(storage.getItem(recordKey('t')), null)
  tick()
  assert.deepEqual(store.getItem('t'), { messages: [{ ...user('1'), createdAt }] })
  assert.equal(store.restored(), undefined)
})

test('only the newest state is written', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage })
  store.setItem('t', { messages: [user('1')] })
  store.setItem('t', { messages: [user('1'), user('2')] })
  tick()
  assert.equal(store.getItem('t').messages.length, 2)
})

test('removing wins over a write that waits', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage })
  store.setItem('t', { messages: [user('1')] })
  store.removeItem('t')
  tick()
  assert.equal(storage.length, 0)
})

test('a closed store writes nothing', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage })
  store.setItem('t', { messages: [user('1')] })
  store.close()
  store.setItem('t', { messages: [user('1')] })
  tick()
  store.flush()
  assert.equal(storage.length, 0)
})

test('a leaving page writes once and then no more, unless it stays', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage })
  store.setItem('t', { messages: [user('1')], resume: { resumeState: { runId: 'r', threadId: 't' } } })
  store.leave()
  store.setItem('t', { messages: [user('1')] })
  store.flush()
  assert.match(storage.getItem(recordKey('t')), /resume/)
  tick()
  store.setItem('t', { messages: [user('1')] })
  tick()
  assert.doesNotMatch(storage.getItem(recordKey('t')), /resume/)
})

test('a record beyond the limit loses whole turns from the front', () => {
  const messages = [user('1', 'x'.repeat(500)), open, user('2'), user('3')]
  const { text, dropped } = writeRecord({ messages }, 300)
  assert.equal(dropped, 2)
  assert.deepEqual(JSON.parse(text).messages.map((m) => m.id), ['2', '3'])
})

test('trimming, a turn that is too large, and refused writes are told', () => {
  const storage = new Storage()
  const { store, tick } = manual({ storage, limit: 300 })
  const told = []
  store.subscribe(() => told.push(store.problem()))
  const write = (messages) => {
    store.setItem('t', { messages })
    tick()
  }
  write([user('1', 'x'.repeat(400)), user('2')])
  write([user('1', 'x'.repeat(400))])
  assert.equal(storage.getItem(recordKey('t')), null)
  write([user('1')])
  storage.setItem = () => {
    throw new Error('quota')
  }
  write([user('1')])
  write([user('1')])
  assert.deepEqual(told, ['trimmed', 'too-large', undefined, 'not-stored'])
})

test('without storage that is told as well', () => {
  const { store, tick } = manual({ storage: undefined })
  store.setItem('t', { messages: [user('1')] })
  tick()
  assert.equal(store.problem(), 'not-stored')
})

test('what is not a record is told and not used', () => {
  for (const text of ['{', 'null', '{}', '{"messages":[{"id":1}]}', '{"messages":[{"id":"1","role":"user"}]}']) {
    assert.equal(readRecord(text), undefined, text)
    const storage = new Storage()
    storage.setItem(recordKey('t'), text)
    const { store } = manual({ storage })
    assert.equal(store.getItem('t'), null)
    assert.equal(store.restored(), 'unreadable')
  }
})

test('open questions come back with their calls untouched', () => {
  const record = { messages: [user('1'), open], resume: { resumeState: { runId: 'r', threadId: 't' }, pendingInterrupts: [{ id: 'x' }] } }
  assert.deepEqual(readRecord(JSON.stringify(record)), { state: record, cutOff: false })
})

test('a run that was cut off leaves no pointer and no open call', () => {
  const record = { messages: [user('1'), open], resume: { resumeState: { runId: 'r', threadId: 't' } } }
  const { state, cutOff } = readRecord(JSON.stringify(record))
  assert.equal(cutOff, true)
  assert.equal(state.resume, undefined)
  assert.equal(state.messages[1].parts.at(-1).type, 'tool-result')
})
