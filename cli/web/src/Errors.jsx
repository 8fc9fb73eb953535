/** What went wrong with the last run, and what can be done about it. */
export function Errors({ error, batch, interrupts, onRetry, onRetryAnswers, onStop }) {
  const waiting = interrupts.length > 0
  // A refused answer is told on its card; here it would only be said again.
  const told = interrupts.some((item) => item.errors.length > 0)
  const lines = new Set(
    batch.filter((item) => !(told && item.code === 'item-validation-failed')).map((item) => item.message),
  )
  if (error && !told) lines.add(error.message)
  if (lines.size === 0) return null
  const retryAnswers = waiting && batch.some((item) => item.retryable)
  return (
    <div className="failure" role="alert" data-testid="error">
      <strong>{waiting ? 'The answer was not taken' : 'Something went wrong'}</strong>
      {[...lines].map((line) => (
        <p key={line}>{line}</p>
      ))}
      <div className="actions">
        {retryAnswers && (
          <button type="button" onClick={onRetryAnswers}>
            Send the answer again
          </button>
        )}
        {waiting ? (
          <button type="button" onClick={onStop}>
            Stop waiting
          </button>
        ) : (
          <button type="button" data-testid="retry" onClick={() => onRetry().catch(() => {})}>
            Try again
          </button>
        )}
      </div>
    </div>
  )
}
