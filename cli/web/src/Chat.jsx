import { fetchServerSentEvents, useChat } from '@tanstack/ai-react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Composer } from './Composer.jsx'
import { Errors } from './Errors.jsx'
import { Interrupts } from './Interrupts.jsx'
import { Messages } from './Messages.jsx'
import { Notices } from './Notices.jsx'
import { fieldOrders, heldCall } from './lib/interrupts.js'
import { closeOpenCalls, keepOrder } from './lib/tools.js'

const NONE = []
const connection = fetchServerSentEvents('/api/chat')

function statusOf({ isLoading, resuming, interrupts, error, interruptErrors }) {
  if (isLoading || resuming) return { key: 'running', text: 'Answering…' }
  if (interrupts.length > 0) {
    const answered = interrupts.filter((item) => item.status === 'staged').length
    const failed = interrupts.some((item) => item.status === 'error')
    if (failed) return { key: 'waiting', text: 'Your answer did not go through' }
    const progress = interrupts.length > 1 ? ` (${answered} of ${interrupts.length} answered)` : ''
    return { key: 'waiting', text: `Waiting for you${progress}` }
  }
  if (error || interruptErrors.length > 0) return { key: 'error', text: 'The last run failed' }
  return { key: 'ready', text: 'Ready' }
}

/** Closes calls without a result once a run has ended and nothing is asked. */
function useClosedCalls(chat, busy) {
  const ended = useRef(false)
  useEffect(() => {
    if (busy) {
      ended.current = true
      return
    }
    if (!ended.current || chat.interrupts.length > 0) return
    ended.current = false
    const closed = closeOpenCalls(chat.messages)
    if (closed !== chat.messages) chat.setMessages(closed)
  })
  return ended
}

/** Puts parts back into the order in which they came, see `keepOrder`. */
function useKeptOrder(chat, busy) {
  const seen = useRef(new Map())
  useEffect(() => {
    const next = new Map()
    let moved = false
    const messages = chat.messages.map((message) => {
      const kept = keepOrder(seen.current.get(message.id), message)
      if (kept !== message) moved = true
      next.set(message.id, kept)
      return kept
    })
    seen.current = next
    // While a run writes into the last message its parts are not ours to move.
    if (moved && !busy) chat.setMessages(messages)
  }, [chat.messages, chat.setMessages, busy])
}

/** One conversation. */
export function Chat({ threadId, store, examples }) {
  const orders = useRef(new Map())
  const [refusal, setRefusal] = useState(undefined)
  const composer = useRef(null)

  const onChunk = useCallback((chunk) => {
    for (const [id, names] of fieldOrders(chunk)) orders.current.set(id, names)
  }, [])
  const chat = useChat({ threadId, connection, persistence: store, onChunk })
  const busy = chat.isLoading || chat.resuming
  const waiting = chat.interrupts.length > 0
  useKeptOrder(chat, busy)
  const ended = useClosedCalls(chat, busy)
  const status = statusOf(chat)

  // What is not written yet must be kept before the page goes away.
  useEffect(() => {
    addEventListener('beforeunload', store.leave)
    addEventListener('pagehide', store.leave)
    document.addEventListener('visibilitychange', store.flush)
    return () => {
      removeEventListener('beforeunload', store.leave)
      removeEventListener('pagehide', store.leave)
      document.removeEventListener('visibilitychange', store.flush)
    }
  }, [store])

  const stop = useCallback(() => {
    ended.current = true
    chat.stop()
  }, [chat.stop, ended])

  useEffect(() => {
    if (!busy) return
    const onKey = (event) => {
      if (event.key === 'Escape' && !event.defaultPrevented) stop()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [busy, stop])

  const send = (text) => {
    setRefusal(undefined)
    chat.sendMessage(text).catch((error) => setRefusal(error))
  }

  const held = useMemo(
    () => new Set(chat.interrupts.map(heldCall).filter((id) => id !== undefined)),
    [chat.interrupts],
  )

  return (
    <>
      <main>
        <Notices threadId={threadId} store={store} />
        <Messages messages={chat.messages} busy={busy} held={held} examples={examples} onExample={send} />
        <Interrupts
          interrupts={busy ? NONE : chat.interrupts}
          orders={orders.current}
          onStop={stop}
          onGone={() => composer.current?.focus()}
        />
        {!busy && (
          <Errors
            error={refusal ?? chat.error}
            batch={chat.interruptErrors}
            interrupts={chat.interrupts}
            onRetry={chat.reload}
            onRetryAnswers={chat.retryInterrupts}
            onStop={stop}
          />
        )}
      </main>
      <Composer
        ref={composer}
        status={status}
        busy={busy}
        waiting={waiting}
        onSend={send}
        onStop={stop}
      />
    </>
  )
}
