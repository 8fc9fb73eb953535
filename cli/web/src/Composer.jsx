import { useEffect, useState } from 'react'

/** The box to write in, its buttons, and the line that says how things stand. */
export function Composer({ ref, status, busy, waiting, onSend, onStop }) {
  const [text, setText] = useState('')
  const blocked = busy || waiting

  useEffect(() => {
    ref.current?.focus()
  }, [ref])

  const submit = () => {
    if (blocked || text.trim() === '') return
    onSend(text)
    setText('')
  }
  const onKeyDown = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }

  return (
    <footer>
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <label htmlFor="composer" className="hidden">
          Message
        </label>
        <textarea
          id="composer"
          data-testid="composer"
          ref={ref}
          rows={2}
          value={text}
          placeholder={waiting ? 'Answer the question above to go on' : 'Write a message'}
          aria-describedby="status"
          disabled={waiting}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" className="primary" data-testid="stop" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button
            type="submit"
            className="primary"
            data-testid="send"
            disabled={blocked || text.trim() === ''}
          >
            Send
          </button>
        )}
      </form>
      <p className="line">
        <span id="status" role="status" data-testid="status" data-status={status.key}>
          {status.text}
        </span>
        <span className="keys" aria-hidden="true">
          Enter sends · Shift+Enter new line · Esc stops
        </span>
      </p>
    </footer>
  )
}
