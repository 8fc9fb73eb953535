import { useEffect, useId, useRef, useState } from 'react'
import { sample } from '../lib/api.js'
import { contentText } from '../lib/interrupts.js'
import { Frame, Labelled } from './Frame.jsx'

function Prompt({ request }) {
  const messages = Array.isArray(request.messages) ? request.messages : []
  return (
    <div className="prompt" data-testid="sampling-prompt">
      {typeof request.systemPrompt === 'string' && request.systemPrompt !== '' && (
        <div>
          <span className="caption">System prompt</span>
          <p className="text">{request.systemPrompt}</p>
        </div>
      )}
      {messages.map((message, i) => (
        <div key={i}>
          <span className="caption">{message?.role === 'assistant' ? 'Assistant' : 'User'}</span>
          <p className="text">{contentText(message?.content)}</p>
        </div>
      ))}
    </div>
  )
}

/** A server's request for a model's words: written by hand, or by the model. */
export function SamplingCard({ item, view, draft, onStop }) {
  const id = useId()
  const [answer, setAnswer] = useState(() => draft.read() ?? '')
  const [error, setError] = useState(undefined)
  const [asking, setAsking] = useState(false)
  const call = useRef(undefined)
  const answered = item.status === 'staged'
  useEffect(() => () => call.current?.abort(), [])

  const change = (text) => {
    setAnswer(text)
    draft.write(text)
    setError(undefined)
  }
  const submit = () => {
    if (answer.trim() === '') setError('Write an answer, or let the model write one.')
    else item.resolveInterrupt(answer)
  }
  const ask = async () => {
    const controller = new AbortController()
    call.current = controller
    setAsking(true)
    setError(undefined)
    try {
      const text = await sample(view.request, controller.signal)
      if (!controller.signal.aborted) change(text)
    } catch (fault) {
      if (!controller.signal.aborted) setError(`The model did not answer: ${fault.message}`)
    } finally {
      if (!controller.signal.aborted) setAsking(false)
    }
  }

  return (
    <Frame
      item={item}
      onStop={onStop}
      kind="sampling"
      title={view.toolName ? `${view.toolName} asks for a model's answer` : "The server asks for a model's answer"}
      onSubmit={submit}
      actions={
        <>
          <button type="submit" className="primary" data-testid="interrupt-send" disabled={asking}>
            Send
          </button>
          <button type="button" data-testid="sampling-model" disabled={asking} onClick={ask}>
            {asking ? 'The model is writing…' : 'Let the model answer'}
          </button>
          <button type="button" data-testid="interrupt-cancel" onClick={() => item.cancel()}>
            Cancel
          </button>
        </>
      }
    >
      <Prompt request={view.request} />
      <Labelled id={id} label="Answer" error={error}>
        <textarea
          id={id}
          data-testid="sampling-answer"
          data-first
          rows={4}
          value={answer}
          disabled={answered}
          readOnly={asking}
          aria-busy={asking}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          onChange={(event) => change(event.target.value)}
        />
      </Labelled>
    </Frame>
  )
}
