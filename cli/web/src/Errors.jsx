/** What went wrong with the last run, and what can be done about it. */
export function Errors({ error, batch, waiting, onRetry, onRetryAnswers, onStop }) {
  const lines = new Set(batch.map((item) => item.message))
  if (error) lines.add(error.message)
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
