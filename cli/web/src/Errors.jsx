/** What went wrong with the last run, and what can be done about it. */
export function Errors({ error, batch, waiting, onRetry, onRetryAnswers, onStop }) {
  // While a question is open the failure belongs to the answers, which say more.
  const lines = batch.map((item) => item.message)
  const single = waiting && lines.length > 0 ? undefined : error
  if (!single && lines.length === 0) return null
  const retryAnswers = waiting && batch.some((item) => item.retryable)
  return (
    <div className="error" role="alert" data-testid="error">
      <strong>{waiting ? 'The answer was not taken' : 'Something went wrong'}</strong>
      {[...new Set(lines)].map((line) => (
        <p key={line}>{line}</p>
      ))}
      {single && !lines.includes(single.message) && <p>{single.message}</p>}
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
