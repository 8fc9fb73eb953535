// The conversation across a reload: one thread id and one record in the
// browser's storage, bounded, written at most twice a second.

import { closeOpenCalls } from './tools.js'

const THREAD = 'roscius:thread'
const RECORD = 'roscius:chat:'

/** Largest record in characters; browsers give a site about five million. */
export const RECORD_LIMIT = 2_000_000
const WRITE_EVERY_MS = 500
// How long writing rests when the page is about to go. Longer means it stayed.
const LEAVE_MS = 3_000

/** Makes an id nobody else has, also where the page is not a secure context. */
export function newThreadId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return `thread-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Browser storage, or undefined where it is switched off. */
export function browserStorage() {
  try {
    return globalThis.localStorage ?? undefined
  } catch {
    return undefined
  }
}

/** The stored thread id, or a new one that is stored when that is possible. */
export function openThread(storage) {
  try {
    const known = storage?.getItem(THREAD)
    if (known) return known
  } catch {
    return newThreadId()
  }
  return startThread(storage)
}

/** Makes a new thread the current one and forgets every other record. */
export function startThread(storage) {
  const id = newThreadId()
  try {
    if (storage) {
      const keys = Array.from({ length: storage.length }, (_, i) => storage.key(i))
      for (const key of keys) if (key?.startsWith(RECORD)) storage.removeItem(key)
      storage.setItem(THREAD, id)
    }
  } catch {
    // Without storage the thread lives as long as the page.
  }
  return id
}

/** The storage key of a thread's record, to tell changes by another tab. */
export function recordKey(threadId) {
  return RECORD + threadId
}

function isMessage(value) {
  return (
    typeof value?.id === 'string' &&
    (value.role === 'user' || value.role === 'assistant' || value.role === 'system') &&
    Array.isArray(value.parts) &&
    value.parts.every((part) => typeof part?.type === 'string')
  )
}

function reviveDates(message) {
  if (typeof message.createdAt !== 'string') return message
  const createdAt = new Date(message.createdAt)
  const { createdAt: _dropped, ...rest } = message
  return Number.isNaN(createdAt.getTime()) ? rest : { ...message, createdAt }
}

/**
 * Reads a stored record: `{state, cutOff}`, or undefined when it is not one.
 *
 * A record that points at a run without an open question was left while the
 * answer was still coming. That run ended with its connection, so the pointer
 * is dropped and calls without a result are closed.
 */
export function readRecord(stored) {
  let record
  try {
    record = JSON.parse(stored)
  } catch {
    return undefined
  }
  if (!Array.isArray(record?.messages) || !record.messages.every(isMessage)) return undefined
  const messages = record.messages.map(reviveDates)
  const pending = record.resume?.pendingInterrupts
  if (Array.isArray(pending) && pending.length > 0) {
    return { state: { messages, resume: record.resume }, cutOff: false }
  }
  const kept = closeOpenCalls(messages)
  return { state: { messages: kept }, cutOff: Boolean(record.resume) || kept !== messages }
}

/**
 * Writes a record as text within `limit` characters: `{text, dropped}`.
 * Whole turns are dropped from the front; `text` is undefined when even the
 * last turn does not fit.
 */
export function writeRecord(state, limit = RECORD_LIMIT) {
  let messages = state.messages
  let dropped = 0
  for (;;) {
    const text = JSON.stringify({ ...state, messages })
    if (text.length <= limit) return { text, dropped }
    const next = messages.findIndex((message, i) => i > 0 && message.role === 'user')
    if (next < 0) return { text: undefined, dropped: dropped + messages.length }
    dropped += next
    messages = messages.slice(next)
  }
}

/**
 * The storage side of `useChat({persistence})` for one thread.
 *
 * `restored()` says what became of the record that was there: undefined (whole
 * or none), `cut-off` or `unreadable`. `problem()` says how keeping goes:
 * undefined, `trimmed`, `too-large` or `not-stored`; `subscribe` tells when it
 * changes. Storage never breaks the chat.
 */
export function threadStore({ storage, limit = RECORD_LIMIT, defer = setTimeout }) {
  const listeners = new Set()
  let waiting
  let timer
  let closed = false
  let leaving = false
  let restored
  let problem

  const report = (kind) => {
    if (kind === problem) return
    problem = kind
    for (const listener of listeners) listener()
  }
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (!waiting || closed || leaving) return
    const { id, state } = waiting
    waiting = undefined
    if (!storage) return report('not-stored')
    try {
      const { text, dropped } = writeRecord(state, limit)
      if (text === undefined) {
        storage.removeItem(recordKey(id))
        return report('too-large')
      }
      storage.setItem(recordKey(id), text)
      report(dropped > 0 ? 'trimmed' : undefined)
    } catch {
      report('not-stored')
    }
  }

  return {
    flush,
    restored: () => restored,
    problem: () => problem,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /**
     * Writes what is waiting and then rests: the run that the going page cuts
     * off must not look as if it had ended by itself.
     */
    leave() {
      if (leaving) return
      flush()
      leaving = true
      defer(() => {
        leaving = false
        flush()
      }, LEAVE_MS)
    },
    /** Ends all writing; called when the thread is left for good. */
    close() {
      clearTimeout(timer)
      waiting = undefined
      closed = true
    },
    getItem(id) {
      try {
        const stored = storage?.getItem(recordKey(id)) ?? null
        if (stored === null) return null
        const read = readRecord(stored)
        if (!read) restored = 'unreadable'
        else if (read.cutOff) restored = 'cut-off'
        return read?.state ?? null
      } catch {
        report('not-stored')
        return null
      }
    },
    setItem(id, state) {
      if (closed) return
      waiting = { id, state }
      timer ??= defer(flush, WRITE_EVERY_MS)
    },
    removeItem(id) {
      clearTimeout(timer)
      timer = undefined
      waiting = undefined
      try {
        storage?.removeItem(recordKey(id))
      } catch {
        report('not-stored')
      }
    },
  }
}
