import { useId, useState } from 'react'
import { parseJson } from '../lib/form.js'
import { pretty } from '../lib/tools.js'
import { Frame, Labelled } from './Frame.jsx'

/** A question of a kind that this page has no form for: answered with JSON. */
export function GenericCard({ item, view, draft, onStop }) {
  const id = useId()
  const [typed, setTyped] = useState(() => draft.read() ?? '')
  const [error, setError] = useState(undefined)

  const change = (text) => {
    setTyped(text)
    draft.write(text)
    setError(undefined)
  }
  const submit = () => {
    if (typed.trim() === '') return setError('Write an answer as JSON.')
    const read = parseJson(typed)
    if ('error' in read) setError(read.error)
    else item.resolveInterrupt(read.value)
  }

  return (
    <Frame
      item={item}
      onStop={onStop}
      kind="generic"
      title={item.message ?? item.reason}
      onSubmit={submit}
      actions={
        <>
          <button type="submit" className="primary" data-testid="interrupt-send">
            Send
          </button>
          <button type="button" data-testid="interrupt-cancel" onClick={() => item.cancel()}>
            Cancel
          </button>
        </>
      }
    >
      {item.message && <p className="muted">Reason: {item.reason}</p>}
      {view.payload !== undefined && (
        <>
          <span className="caption">Details</span>
          <pre tabIndex={0}>{pretty(view.payload)}</pre>
        </>
      )}
      {item.responseSchema && (
        <details>
          <summary>What the answer must look like</summary>
          <pre tabIndex={0}>{pretty(item.responseSchema)}</pre>
        </details>
      )}
      <Labelled id={id} label="Answer (JSON)" error={error}>
        <textarea
          id={id}
          className="code"
          data-testid="generic-answer"
          data-first
          rows={3}
          spellCheck={false}
          value={typed}
          disabled={item.status === 'staged'}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          onChange={(event) => change(event.target.value)}
        />
      </Labelled>
    </Frame>
  )
}
