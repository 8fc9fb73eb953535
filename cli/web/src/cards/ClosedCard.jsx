import { pretty } from '../lib/tools.js'
import { Frame } from './Frame.jsx'

/** A pause that cannot be answered from this page. */
export function ClosedCard({ item, view, onStop }) {
  return (
    <Frame
      item={item}
      kind="generic"
      title={item.message ?? item.reason}
      actions={
        <button type="button" data-testid="interrupt-stop" onClick={onStop}>
          Stop waiting
        </button>
      }
    >
      <p>
        {item.kind === 'unbound'
          ? 'The run is paused by something else than this page, so it cannot be answered here.'
          : 'This question does not belong to the run as this page knows it, so it cannot be answered here.'}
      </p>
      {view.payload !== undefined && <pre tabIndex={0}>{pretty(view.payload)}</pre>}
    </Frame>
  )
}
