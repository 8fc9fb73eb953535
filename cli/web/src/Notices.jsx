import { useEffect, useState, useSyncExternalStore } from 'react'
import { recordKey } from './lib/storage.js'

const RESTORED = {
  'cut-off': 'The last answer was cut off when the page was left. Send a message to go on.',
  unreadable: 'The conversation that was kept here could not be read. This is a new start.',
}
const PROBLEM = {
  trimmed: 'This conversation is long: a reload will show only its newest part.',
  'too-large': 'This conversation is too large to keep: a reload will start empty.',
  'not-stored': 'The browser does not let this page keep the conversation: a reload will start empty.',
}
const ELSEWHERE = 'Another tab went on with this conversation. Reload to see it; what you write here may be lost.'

/** How keeping the conversation goes, when there is something to say. */
export function Notices({ threadId, store }) {
  const problem = useSyncExternalStore(store.subscribe, store.problem)
  const restored = useSyncExternalStore(store.subscribe, store.restored)
  const [elsewhere, setElsewhere] = useState(false)
  const [seen, setSeen] = useState(undefined)

  useEffect(() => {
    const onStorage = (event) => {
      if (event.key === recordKey(threadId)) setElsewhere(true)
    }
    addEventListener('storage', onStorage)
    return () => removeEventListener('storage', onStorage)
  }, [threadId])

  const lines = [RESTORED[restored], PROBLEM[problem], elsewhere ? ELSEWHERE : undefined]
  const text = lines.filter(Boolean).join(' ')
  if (text === '' || text === seen) return null
  return (
    <div className="notice" role="status" data-testid="notice">
      <p>{text}</p>
      <button type="button" aria-label="Hide this notice" onClick={() => setSeen(text)}>
        ×
      </button>
    </div>
  )
}
