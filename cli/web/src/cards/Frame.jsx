import { useId } from 'react'
import { errorLines, isSettled } from '../lib/interrupts.js'

/**
 * What all cards share: heading, the errors of the item, and the form around
 * the controls. An answered card shows that it is, and how to answer anew.
 */
export function Frame({ item, kind, title, children, actions, onSubmit, onStop }) {
  const heading = useId()
  const errors = errorLines(item)
  const answered = item.status === 'staged'
  return (
    <form
      className={`card ${kind}`}
      tabIndex={-1}
      noValidate
      role="group"
      aria-labelledby={heading}
      data-testid="interrupt"
      data-kind={kind}
      data-id={item.id}
      data-status={item.status}
      data-open={item.canResolve && !answered}
      onSubmit={(event) => {
        event.preventDefault()
        if (!answered) onSubmit?.(event.currentTarget)
      }}
    >
      <h3 id={heading}>{title}</h3>
      {item.message && item.message !== title && <p className="muted">{item.message}</p>}
      {children}
      {errors.length > 0 && (
        <div role="alert" className="bad-text" data-testid="interrupt-error">
          {errors.map((line) => (
            <p key={line}>{line}</p>
          ))}
          {item.canResolve && (
            <p>{isSettled(item) ? 'This question can no longer be answered.' : 'You can answer again.'}</p>
          )}
        </div>
      )}
      {answered ? (
        <div className="actions">
          <span className="answered" data-testid="interrupt-answered">
            ✓ Answered
          </span>
          <button type="button" onClick={() => item.clearResolution()}>
            Change the answer
          </button>
        </div>
      ) : (
        <div className="actions">
          {actions}
          {item.status === 'error' && onStop && (
            <button type="button" className="quiet" data-testid="interrupt-stop" onClick={onStop}>
              Stop waiting
            </button>
          )}
        </div>
      )}
    </form>
  )
}

/** The label, help and error of one control, tied to it for screen readers. */
export function Labelled({ id, label, required, description, error, children }) {
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && (
          <span className="required" title="required">
            {' '}
            *
          </span>
        )}
      </label>
      {description && (
        <p id={`${id}-help`} className="muted">
          {description}
        </p>
      )}
      {children}
      {error && (
        <p id={`${id}-error`} className="bad-text" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

/** The `aria-*` attributes that tie a control to its help and error. */
export function described(id, { description, error, required }) {
  const by = [description && `${id}-help`, error && `${id}-error`].filter(Boolean).join(' ')
  return {
    'aria-describedby': by || undefined,
    'aria-invalid': error ? true : undefined,
    'aria-required': required || undefined,
  }
}
