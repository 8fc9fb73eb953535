import { useId, useState } from 'react'
import { parseJson } from '../lib/form.js'
import { pretty } from '../lib/tools.js'
import { Frame, Labelled } from './Frame.jsx'

function readArguments(typed) {
  const read = parseJson(typed)
  if ('error' in read) return read
  const { value } = read
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { error: 'Arguments are a JSON object, like {"id": 3}.' }
  }
  return { value }
}

/** A tool call that runs only when it is approved, with its arguments to see. */
export function ApprovalCard({ item, view, draft, onStop }) {
  const id = useId()
  const original = pretty(view.input ?? {})
  const [typed, setTyped] = useState(() => draft.read())
  const [error, setError] = useState(undefined)
  const editing = typed !== undefined
  const answered = item.status === 'staged'

  const change = (text) => {
    setTyped(text)
    draft.write(text)
    setError(undefined)
  }
  const approve = () => {
    if (!editing || typed === original) return view.resolve(true)
    const read = readArguments(typed)
    if ('error' in read) return setError(read.error)
    view.resolve(true, read.value)
  }

  return (
    <Frame
      item={item}
      onStop={onStop}
      kind="approval"
      title={`Run ${view.toolName}?`}
      actions={
        <>
          <button type="button" className="primary" data-testid="interrupt-approve" onClick={approve}>
            Approve
          </button>
          <button type="button" data-testid="interrupt-deny" onClick={() => view.resolve(false)}>
            Deny
          </button>
          <button
            type="button"
            className="quiet"
            data-testid="approval-edit"
            aria-expanded={editing}
            onClick={() => (editing ? change(undefined) : change(original))}
          >
            {editing ? 'Undo the edit' : 'Edit the arguments'}
          </button>
        </>
      }
    >
      {editing ? (
        <Labelled id={id} label="Arguments (JSON)" error={error}>
          <textarea
            id={id}
            className="code"
            data-testid="approval-arguments"
            rows={Math.min(12, typed.split('\n').length + 1)}
            spellCheck={false}
            value={typed}
            disabled={answered}
            aria-invalid={error ? true : undefined}
            aria-describedby={error ? `${id}-error` : undefined}
            onChange={(event) => change(event.target.value)}
          />
        </Labelled>
      ) : (
        <>
          <span className="caption">Arguments</span>
          <pre tabIndex={0} data-testid="approval-arguments">
            {original}
          </pre>
        </>
      )}
    </Frame>
  )
}
