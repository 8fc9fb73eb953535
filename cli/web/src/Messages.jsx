import { memo, useEffect, useMemo, useRef } from 'react'
import { callView, pretty, resultsById } from './lib/tools.js'

const STATES = {
  streaming: 'preparing',
  running: 'running',
  waiting: 'waiting for you',
  approval: 'needs approval',
  complete: 'done',
  error: 'failed',
  denied: 'denied',
}

function ToolCall({ part, result, waiting }) {
  const view = callView(part, result, waiting)
  const args = pretty(part.arguments)
  return (
    <details
      className={`tool ${view.state}`}
      open
      data-testid="tool-call"
      data-tool={part.name}
      data-state={view.state}
    >
      <summary>
        <code>{part.name}</code> <span className="state">{STATES[view.state]}</span>
      </summary>
      {args !== '' && args !== '{}' && (
        <>
          <span className="caption">Arguments</span>
          <pre tabIndex={0} data-testid="tool-arguments">
            {args}
          </pre>
        </>
      )}
      {view.text !== undefined && (
        <>
          <span className="caption">{view.state === 'error' ? 'Error' : 'Result'}</span>
          <pre tabIndex={0} data-testid="tool-result">
            {view.text}
          </pre>
        </>
      )}
    </details>
  )
}

function Reasoning({ text, live }) {
  return (
    <details className="reasoning" data-testid="reasoning" open={live}>
      <summary>{live ? 'Thinking…' : 'Reasoning'}</summary>
      <p className="text">{text}</p>
    </details>
  )
}

function Part({ part, live, results, held }) {
  switch (part.type) {
    case 'text':
      return part.content === '' ? null : <p className="text">{part.content}</p>
    case 'thinking':
      return <Reasoning text={part.content} live={live} />
    case 'tool-call':
      return <ToolCall part={part} result={results.get(part.id)} waiting={held.has(part.id)} />
    case 'tool-result':
      return null
    case 'structured-output':
      return <pre tabIndex={0}>{pretty(part.data ?? part.raw)}</pre>
    default:
      return <p className="muted">[{part.type}]</p>
  }
}

/** Whether a message looks the same, so that a delta redraws only its own. */
function sameMessage(a, b) {
  if (a.message !== b.message || a.live !== b.live || a.held !== b.held) return false
  return a.message.parts.every(
    (part) => part.type !== 'tool-call' || a.results.get(part.id) === b.results.get(part.id),
  )
}

const Message = memo(function Message({ message, live, results, held }) {
  const user = message.role === 'user'
  if (!user && message.parts.length === 0) return null
  const last = message.parts.length - 1
  return (
    <article
      className={`message ${user ? 'user' : 'assistant'}`}
      data-testid={user ? 'message-user' : 'message-assistant'}
      aria-label={user ? 'You' : 'Assistant'}
    >
      {message.parts.map((part, i) => (
        <Part
          // Parts only grow at the end, and a call keeps its place.
          key={part.type === 'tool-call' ? part.id : i}
          part={part}
          live={live && i === last}
          results={results}
          held={held}
        />
      ))}
    </article>
  )
}, sameMessage)

function Empty({ examples, onExample }) {
  return (
    <div className="empty" data-testid="empty">
      <h2>Ask something</h2>
      <p className="muted">The model may use the tools of the connected servers.</p>
      <ul className="examples">
        {examples.map((example) => (
          <li key={example}>
            <button type="button" data-testid="example" onClick={() => onExample(example)}>
              {example}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Keeps the end in sight, unless the reader has scrolled away from it. */
function useFollow(dependency) {
  const following = useRef(true)
  useEffect(() => {
    const onScroll = () => {
      const page = document.documentElement
      following.current = page.scrollHeight - page.scrollTop - page.clientHeight < 120
    }
    addEventListener('scroll', onScroll, { passive: true })
    return () => removeEventListener('scroll', onScroll)
  }, [])
  useEffect(() => {
    if (following.current) scrollTo(0, document.documentElement.scrollHeight)
  }, [dependency])
}

/** The conversation so far. */
export function Messages({ messages, busy, held, examples, onExample }) {
  const results = useMemo(() => resultsById(messages), [messages])
  useFollow(messages)
  const shown = messages.filter((message) => message.role !== 'system')
  const last = shown.at(-1)
  return (
    <div className="messages" role="log" aria-live="polite" aria-busy={busy} aria-label="Conversation">
      {shown.length === 0 && !busy && <Empty examples={examples} onExample={onExample} />}
      {shown.map((message) => (
        <Message
          key={message.id}
          message={message}
          live={busy && message === last}
          results={results}
          held={held}
        />
      ))}
      {busy && (last === undefined || last.role === 'user' || last.parts.length === 0) && (
        <p className="thinking muted" aria-hidden="true">
          <span />
          <span />
          <span />
        </p>
      )}
    </div>
  )
}
